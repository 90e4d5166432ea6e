"""The tables that are made of an event log: their columns, types and meanings, as data.

Names that the event log has keep its type and its meaning.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from bridge.telemetry.schema.fields import COLUMNS, FieldType


class ColumnType(StrEnum):
    """The types of the event log, and the date that partitions the files."""

    TEXT = "text"
    NUMBER = "number"
    FLAG = "flag"
    TEXTS = "texts"
    NUMBERS = "numbers"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its name, its type, what it says."""

    name: str
    type: ColumnType
    meaning: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its name, what a row is, what makes a row unique, and the columns in order, the partition last."""

    name: str
    meaning: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names in order."""
        return tuple(column.name for column in self.columns)


TYPE_OF_FIELD: Mapping[FieldType, ColumnType] = {field_type: ColumnType(field_type) for field_type in FieldType}
DAY_US = 86_400_000_000
_OFTEN_NEW = ("_us", "_event", "event_id", "number")
DATE = "date"
BATCH = "batch"
EPISODE = ("group_id", "member_id", "rebalance_id", "phase")
"""Begin and end of a phase carry these; one of a member under one rebalance may come more than once, one after another.
"""
FLAP_US = 600_000_000
"""Who comes back after more than ten minutes is no flap."""
PARTITION = Column(DATE, ColumnType.DATE, "UTC day in which it began, by the wall clock; the files lie by it")


def is_often_new(name: str) -> bool:
    """Whether values of a column hardly come twice, by its name: a dictionary of them costs time and saves nothing."""
    return name.endswith(_OFTEN_NEW)


def logged(*names: str) -> tuple[Column, ...]:
    """Columns that the event log has, under its types and meanings."""
    return tuple(Column(name, TYPE_OF_FIELD[COLUMNS[name].type], COLUMNS[name].meaning) for name in names)


def number(name: str, meaning: str) -> Column:
    """A column of whole numbers; the unit ends the name."""
    return Column(name, ColumnType.NUMBER, meaning)


def text(name: str, meaning: str) -> Column:
    """A column of text."""
    return Column(name, ColumnType.TEXT, meaning)


def flag(name: str, meaning: str) -> Column:
    """A column of truth values."""
    return Column(name, ColumnType.FLAG, meaning)


def spell(names: str = "") -> tuple[Column, ...]:
    """Begin, end and length of something that lasts."""
    return (
        number("began_us", f"wall clock when it began{names}, microseconds since 1970 UTC"),
        number("ended_us", "wall clock when it ended, null if the log does not show that"),
        number("duration_us", "how long it lasted, by the monotonic clock within one run; null while it is open"),
    )


EVENTS = Table(
    "events",
    "one row per recorded fact; columns that a kind lacks are null",
    ("event_id",),
    (
        *logged(*COLUMNS),
        Column(DATE, ColumnType.DATE, "UTC day of `wall_us`; the files lie by it"),
        number(BATCH, "micro-batch of the stream that brought it, 0 from a run over files"),
    ),
)

PHASES = Table(
    "phases",
    "one row per phase that a member went through in a rebalance",
    ("began_event",),
    (
        *logged("group_id", "rebalance_id", "member_id", "instance_id", "protocol", "road", "member_epoch", "phase"),
        *spell(),
        flag("is_closed", "the log shows its end; if not, the log stops, or the bridge did"),
        *logged("waits_on", "boot"),
        text("began_event", "event id of its begin"),
        text("ended_event", "event id of its end, null for none"),
        PARTITION,
    ),
)

REBALANCES = Table(
    "rebalances",
    "one row per rebalance of a group",
    ("group_id", "rebalance_id"),
    (
        *logged("group_id", "rebalance_id", "road", "group_epoch", "supersedes"),
        text("chain_id", "the first of the rebalances that superseded one another up to this one"),
        *spell(),
        *logged("outcome", "cause", "caused_by", "evidence", "critical_member", "critical_phase", "waited_us"),
        *logged("sentence", "assignor", "moved", "forced_minimum", "member_count", "partition_count"),
        number("told", "members that an answer told to rejoin or to revoke"),
        number(
            "disturbed",
            "members that gave something up, told or not, and had the same before and after; where one rebalance cuts "
            "another one short, up to 64 in a row are judged as one",
        ),
        Column("disturbed_members", ColumnType.TEXTS, "their member ids, sorted"),
        PARTITION,
    ),
)

STALLS = Table(
    "stalls",
    "one row per partition that changed hands, or was taken from its owner and given back",
    ("group_id", "partition", "fetched_event"),
    (
        *logged("group_id"),
        text("rebalance_id", "the rebalance that gave it to `after`; where the log names none, in which it was taken"),
        *logged("road"),
        text("partition", "the partition as topic-index"),
        text("before", "member that gave it up"),
        text("after", "member that fetched from it next"),
        text("protocol_before", "what the client of `before` speaks"),
        text("protocol_after", "what the client of `after` speaks"),
        flag("is_same_owner", "it went back to the member that had given it up: a stall for nothing"),
        number("told_us", "wall clock when its owner was told to give it up, null if nobody told it"),
        number("released_us", "wall clock when it was free, null if the log does not show that"),
        number("assigned_us", "wall clock when `after` was given it, null if the log does not show that"),
        number("fetched_us", "wall clock when `after` first fetched from it"),
        number("stall_us", "from told, or from released if nobody told, or from when its owner was gone, to fetched"),
        text("fetched_event", "event id of that fetch"),
        PARTITION,
    ),
)

MEMBERS = Table(
    "members",
    "one row per span of time in which a member kept library, version, protocol and road",
    ("group_id", "member_id", "began_event"),
    (
        *logged("group_id", "member_id", "instance_id", "client_id", "client_host", "library", "library_version"),
        *logged("protocol", "road"),
        *spell(),
        *logged("departure"),
        text("began_event", "event id that shows it first"),
        PARTITION,
    ),
)

FLAPS = Table(
    "flaps",
    "one row per partition that went away from an owner and came back to it within the window",
    ("group_id", "partition", "back_event"),
    (
        *logged("group_id", "rebalance_id"),
        text("partition", "the partition as topic-index"),
        text("owner", "who had it and has it again: instance id of a static member, member id otherwise"),
        text("via", "who had it in between"),
        number("left_us", "wall clock when `via` was given it"),
        number("back_us", "wall clock when `owner` was given it again"),
        number("away_us", "time between the two"),
        text("back_event", "event id of its return"),
        PARTITION,
    ),
)

STORMS = Table(
    "storms",
    "one row per unbroken time in which a group began too many rebalances per 10 minutes",
    ("group_id", "began_us"),
    (
        *logged("group_id"),
        *spell(" (the first rebalance that counts)"),
        number("rebalances", "rebalances that began in it"),
        number("peak", "the most rebalances in any 10 minutes of it"),
        text("chief_cause", "the most frequent cause in it, null if none is known"),
        PARTITION,
    ),
)

_QUANTILES = tuple(
    number(f"{what}_{name}_us", f"{words} of {of}")
    for what, of in (("rebalance", "the durations of rebalances"), ("stall", "`stall_us`"))
    for name, words in (("p50", "median"), ("p95", "95th percentile"), ("p99", "99th percentile"), ("max", "maximum"))
)

DAILY = Table(
    "daily",
    "one row per group and UTC day",
    ("group_id", "date"),
    (
        *logged("group_id"),
        number("rebalances", "rebalances that began"),
        number("superseded", "of these, cut short by another"),
        number("interrupted", "of these, cut short by a restart of the bridge, or open at the end of the log"),
        number("moved", "partitions moved"),
        number("forced_minimum", "partitions that had to move"),
        number("told", "times a member was told to rejoin or to revoke"),
        number("disturbed", "times a member gave something up without need"),
        number("stalls", "partitions that stood still"),
        number("stall_total_us", "sum of `stall_us`"),
        *_QUANTILES,
        number("flaps", "partitions that went away and came back"),
        number("storms", "storms that began"),
        number("joined", "members that came"),
        PARTITION,
    ),
)

REJECTED = Table(
    "rejected",
    "one row per piece of input that was set aside, with the reason; the text of strangers is not kept",
    ("source", "digest", "reason"),
    (
        text("reason", "truncated, foreign, newer-schema, duplicate or clock-jumped-back"),
        text("detail", "what was seen, in words"),
        text("source", "file, or topic and partition, that it came from"),
        number("length_bytes", "length of the line"),
        text("digest", "SHA-256 of the line, for looking it up in the source"),
        *logged("event_id", "boot", "number", "wall_us"),
        number("count", "how many times: 1, or the surplus copies of a duplicate"),
        Column(
            DATE,
            ColumnType.DATE,
            "UTC day of `wall_us`, or on which it was set aside where that is unknown; the files lie by it",
        ),
        number(BATCH, "micro-batch of the stream that brought it, 0 from a run over files"),
    ),
)

GAPS = Table(
    "gaps",
    "one row per stretch of a partition (`--on-gap note`), or of a run in a folder, that was gone before it was read",
    ("source", "from_offset", "batch"),
    (
        text("source", "topic and partition, or `boot` and the run"),
        number("from_offset", "the first offset that is missing; of a run, the first number"),
        number("to_offset", "the first one behind them, null where there is none"),
        text("detail", "what was seen, in words"),
        Column(DATE, ColumnType.DATE, "UTC day in which somebody noticed; the files lie by it"),
        number(BATCH, "micro-batch of the stream in which they are missing, 0 of a run"),
    ),
)

REPLAYS = Table(
    "replays",
    "one row per rebalance, beside what it would have been under another configuration (`analytics replay`)",
    ("group_id", "rebalance_id", "predicted_ids"),
    (
        *logged("group_id"),
        text("rebalance_id", "the rebalance, null for one that only the replay has, and for stalls outside of any"),
        Column("predicted_ids", ColumnType.TEXTS, "what it became in the replay: none, one or more rebalances"),
        text("became", "that in words"),
        *logged("cause"),
        number("began_us", "wall clock when it began, microseconds since 1970 UTC"),
        *(
            number(f"{prefix}{name}", f"{meaning}{side}")
            for prefix, side in (("", ""), ("predicted_", ", in the replay"))
            for name, meaning in (
                ("duration_us", "how long it lasted, 0 while it is open"),
                ("told", "members that an answer told to rejoin or to revoke"),
                ("disturbed", "members that gave something up, told or not, and had the same before and after"),
                ("stalls", "partitions that stood still"),
                ("stall_us", "how long, summed"),
                ("busy_us", "time of members at joining, syncing or giving up, summed"),
            )
        ),
        text("configuration", "what was replayed: protocol, assignor, settings"),
        PARTITION,
    ),
)

CARRIED_FOR, CHAIN_HEAD = "carried_for", "is_chain_head"
CARRIED = Table(
    "_carried",
    "what the tables need of all earlier events to be made of later ones; of one partition it has the event once",
    ("carried_for", "event_id", "partitions"),
    (
        text(CARRIED_FOR, "the table that needs it"),
        flag(CHAIN_HEAD, "it is of a rebalance that begins a chain, whatever is carried of those before it"),
        *logged(*COLUMNS),
        Column(DATE, ColumnType.DATE, "null: the rows of all groups lie together"),
    ),
)

DERIVED = (PHASES, REBALANCES, STALLS, MEMBERS, FLAPS, STORMS, DAILY)
"""Tables that are computed from `events` alone."""
REFRESHED = (*DERIVED, CARRIED)
"""Tables that every refresh of a stream brings from one state to the next, all or none."""
TABLES: Mapping[str, Table] = {table.name: table for table in (EVENTS, *DERIVED, REJECTED, GAPS)}
ON_DEMAND = (REPLAYS,)
"""Tables that a run does not make."""
