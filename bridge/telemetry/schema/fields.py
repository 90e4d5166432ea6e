"""What each field of the event log means, its type and since when it is there, and which kinds of facts carry it."""

import re
from dataclasses import dataclass, fields
from enum import StrEnum

from bridge.telemetry.schema.facts import FACTS, Fact


class FieldType(StrEnum):
    """The types a field may have, in JSON and in tables alike."""

    TEXT = "text"
    NUMBER = "number"
    FLAG = "flag"
    TEXTS = "texts"
    NUMBERS = "numbers"


@dataclass(frozen=True, slots=True)
class Field:
    """One column: its type, its meaning, and the schema version that brought it."""

    type: FieldType
    meaning: str
    since: int = 1


SCHEMA_VERSION = 3
"""Raised when a field is added; a field never changes its type or meaning, and never goes."""
LINE_BYTES_MAX = 16_777_216
"""Who reads a log holds no longer line than that, of which a member with 100,000 partitions takes a tenth: a damaged
file may have no newline at all.
"""
FILE_NAME = re.compile(r"events-(?P<boot>[0-9A-Za-z]+)-(?P<index>[0-9]{6,})\.jsonl")
"""How a file of the log is called."""

_TEXT, _NUMBER, _FLAG, _TEXTS, _NUMBERS = FieldType

STAMP_FIELDS = {
    "schema_version": Field(_NUMBER, "version of the schema the event was written under"),
    "event_id": Field(_TEXT, "unique name of the event: boot, a dash, and its number in that boot"),
    "kind": Field(_TEXT, "which fact it is"),
    "boot": Field(_TEXT, "one run of one bridge process"),
    "number": Field(_NUMBER, "position in the run, without gaps, from 1"),
    "wall_us": Field(_NUMBER, "wall clock, microseconds since 1970 UTC; may jump"),
    "mono_us": Field(
        _NUMBER,
        "monotonic clock of the run, microseconds, when it happened: of what is understood late, less than before it",
    ),
}

FACT_FIELDS = {
    "group_id": Field(_TEXT, "the group"),
    "road": Field(_TEXT, "who coordinates the group: pass, embedded or upstream"),
    "rebalance_id": Field(_TEXT, "the rebalance the fact belongs to, empty for none"),
    "group_epoch": Field(_NUMBER, "group epoch, or generation of a classic group; -1 where unknown"),
    "group_type": Field(_TEXT, "classic or consumer: what the group is from now on"),
    "member_id": Field(_TEXT, "the member"),
    "instance_id": Field(_TEXT, "its group.instance.id, null for a dynamic member"),
    "protocol": Field(_TEXT, "what the member's client speaks: classic or consumer"),
    "member_epoch": Field(_NUMBER, "the member's epoch, -1 where it has none"),
    "generation": Field(_NUMBER, "the generation its classic client was shown, -1 where it has none"),
    "client_id": Field(_TEXT, "client.id as its requests say"),
    "client_host": Field(_TEXT, "address its requests come from"),
    "library": Field(_TEXT, "client software name as ApiVersions told, empty where it did not"),
    "library_version": Field(_TEXT, "client software version as ApiVersions told"),
    "topics": Field(_TEXTS, "topic names: subscribed, or changed"),
    "partition_counts": Field(_NUMBERS, "partitions of each topic of `topics`, 0 for one that is gone"),
    "pattern": Field(_TEXT, "subscribed regular expression, null for none"),
    "assignors": Field(_TEXTS, "assignors the client offers, or asks for, in its order"),
    "session_timeout_ms": Field(_NUMBER, "session timeout in force"),
    "rebalance_timeout_ms": Field(_NUMBER, "rebalance timeout in force"),
    "rack_id": Field(_TEXT, "rack of the client, null for none"),
    "owned": Field(_TEXTS, "partitions the client says it owns, null if it did not say"),
    "is_return": Field(_FLAG, "it took over a static seat that somebody had"),
    "former_id": Field(_TEXT, "member id of the last holder of that seat"),
    "is_leader": Field(_FLAG, "it was the leader of its classic group"),
    "departure": Field(_TEXT, "how the member went"),
    "reason": Field(_TEXT, "what is known beyond that, in words"),
    "news": Field(_TEXT, "what an answer told: rejoin, revoke, assign or fenced"),
    "carrier": Field(_TEXT, "the api whose answer carried the news"),
    "phase": Field(_TEXT, "joining, syncing, revoking, awaiting-release, fetching or stable"),
    "waits_on": Field(_TEXTS, "member ids that hold what the member waits for"),
    "partitions": Field(_TEXTS, "partitions as topic-index"),
    "assigned_count": Field(_NUMBER, "how many partitions the member has now"),
    "idle_us": Field(
        _NUMBER,
        "how long nobody can have used them by then: since the member was heard last, or its connection was gone, "
        "or a static member left",
        since=2,
    ),
    "is_again": Field(_FLAG, "the member gave these up in the same generation before it used anything", since=3),
    "is_on_revoke": Field(_FLAG, "the commit came while the member was giving partitions up"),
    "error": Field(_TEXT, "Kafka's name of the error the answer carried, empty for none"),
    "supersedes": Field(_TEXT, "the rebalance that was cut short by this one, empty for none"),
    "outcome": Field(_TEXT, "completed, superseded, emptied or interrupted"),
    "cause": Field(_TEXT, "why the rebalance happened"),
    "caused_by": Field(_TEXTS, "member ids that caused it, none where nobody did"),
    "evidence": Field(_TEXTS, "event ids that show the cause"),
    "critical_member": Field(_TEXT, "the member that everybody waited for, empty for none"),
    "critical_phase": Field(_TEXT, "the phase in which it was waited for, null for none"),
    "waited_us": Field(_NUMBER, "how long it was waited for, microseconds"),
    "sentence": Field(_TEXT, "the cause in one sentence"),
    "assignor": Field(_TEXT, "assignor that computed the target, empty where none was needed"),
    "moved": Field(_NUMBER, "partitions that have another owner than before"),
    "forced_minimum": Field(_NUMBER, "partitions that no assignor could have left where they were"),
    "member_count": Field(_NUMBER, "members of the group"),
    "partition_count": Field(_NUMBER, "partitions of the target"),
    "conversion": Field(_TEXT, "what made the group change its type"),
    "action": Field(_TEXT, "what the operator did"),
    "members": Field(_TEXTS, "member or instance ids the operator named"),
    "broker": Field(_TEXT, "host and port of the broker that answers for the group now"),
    "bridge_version": Field(_TEXT, "version of the bridge"),
    "is_revived": Field(_FLAG, "it goes on with what a journal held"),
}


@dataclass(frozen=True, slots=True)
class EventKind:
    """A kind of event: the name it is written under, what it says, its fields in order, and its type."""

    name: str
    meaning: str
    field_names: tuple[str, ...]
    fact: type[Fact]


def kind_of(fact: type[Fact]) -> EventKind:
    """The kind of a type of fact."""
    return EventKind(fact.kind, fact.__doc__ or "", tuple(field.name for field in fields(fact)), fact)


KINDS: dict[str, EventKind] = {fact.kind: kind_of(fact) for fact in FACTS}
"""Every kind by its name."""

COLUMNS: dict[str, Field] = STAMP_FIELDS | FACT_FIELDS
"""Every column of the one wide table of events, in order; a column that a kind lacks is null there."""
