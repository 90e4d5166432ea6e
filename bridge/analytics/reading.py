"""Which lines are events of ours, and why another one is not: one DataFrame of lines in, accepted and refused rows out.

It must not know where the lines come from, nor which events belong together.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from bridge.analytics.spark_types import conform, log_schema
from bridge.analytics.tables import BATCH, DATE, EVENTS, REJECTED
from bridge.telemetry.schema.columns import KINDS
from bridge.telemetry.schema.fields import SCHEMA_VERSION, STAMP_FIELDS

LINE, SOURCE = "value", "source"
"""The two columns that a reader gets: the text, and what it came from."""
TRUNCATED, FOREIGN, NEWER = "truncated", "foreign", "newer-schema"
REASON, DETAIL = "reason", "detail"
RECORD, IS_EVENT = "record", "is_event"
_EVENT, _CORRUPT = "event", "_corrupt_record"
DAY_US = 86_400_000_000
GROUP_KINDS = sorted(kind.name for kind in KINDS.values() if "group_id" in kind.field_names)


def opened(lines: DataFrame) -> DataFrame:
    """The lines with what each one says, as the struct `record`; blank lines are nothing.

    In: `value` and `source`. Fields that we don't know are passed over, fields that are missing are null: that is how
    files of other schema versions stay readable.
    """
    schema = StructType([StructField(_EVENT, log_schema()), StructField(_CORRUPT, StringType())])
    # Where a schema has a place for what is corrupt, Spark looks every field up by its name again, for every line: the
    # event is wrapped, so that there are two fields and not sixty.
    wrapped = f.concat(f.lit(f'{{"{_EVENT}":'), f.col(LINE), f.lit("}"))
    return lines.where(f.trim(LINE) != "").select(LINE, SOURCE, f.from_json(wrapped, schema).alias(RECORD))


def judged(lines: DataFrame) -> DataFrame:
    """The lines as `opened`, but for their text, with `is_event`: whether there is no reason against a line."""
    faults = [condition for condition, _, _ in _faults(f"{RECORD}.{_EVENT}.", f"{RECORD}.{_CORRUPT}")]
    # The first fault is a kind of the second, told apart only for the reason.
    return opened(lines).select(SOURCE, RECORD, (~reduce(Column.__or__, faults[1:])).alias(IS_EVENT))


def events_among(rows: DataFrame, batch: int) -> DataFrame:
    """The events among judged rows, as the table `events` has them."""
    flat = rows.where(IS_EVENT).select(f"{RECORD}.{_EVENT}.*")
    return flat.withColumns({DATE: utc_day(f.col("wall_us")), BATCH: f.lit(batch)}).transform(_as_events)


def parsed(lines: DataFrame) -> DataFrame:
    """The lines with every column of the log, `date`, `reason` and `detail`, the latter two null for events."""
    # As a column Spark would parse the line anew for every condition on it; what is inlined is parsed once.
    once = opened(lines).select(LINE, SOURCE, f.inline(f.array(RECORD)))
    flat = once.select(LINE, SOURCE, f"{_EVENT}.*", _CORRUPT)
    return flat.withColumns({DATE: utc_day(f.col("wall_us")), REASON: _reason(), DETAIL: _detail()}).drop(_CORRUPT)


def accepted(rows: DataFrame, batch: int) -> DataFrame:
    """The events among parsed rows, as the table `events` has them."""
    return rows.where(f.col(REASON).isNull()).withColumn(BATCH, f.lit(batch)).transform(_as_events)


def refused(rows: DataFrame, batch: int) -> DataFrame:
    """The other rows, as the table `rejected` has them: the digest of the line, never its text."""
    return rows.where(f.col(REASON).isNotNull()).transform(as_rejected, batch)


def as_rejected(rows: DataFrame, batch: int) -> DataFrame:
    """Rows with a line, a source, a reason and a detail, as the table `rejected` has them."""
    measured = {
        "length_bytes": f.octet_length(f.col(LINE)),
        "digest": f.sha2(f.col(LINE), 256),
        "count": f.lit(1),
        BATCH: f.lit(batch),
    }
    return conform(REJECTED, rows.withColumns(measured))


def utc_day(wall_us: Column) -> Column:
    """The UTC day of microseconds since 1970."""
    return f.date_from_unix_date(f.floor(wall_us / f.lit(DAY_US)).cast("int"))


def _as_events(rows: DataFrame) -> DataFrame:
    return conform(EVENTS, rows)


def _reason() -> Column:
    reasons = [f.when(condition, reason) for condition, reason, _ in _faults("", _CORRUPT)]
    return f.coalesce(*reasons)


def _detail() -> Column:
    details = [f.when(condition, detail) for condition, _, detail in _faults("", _CORRUPT)]
    return f.coalesce(*details)


def _faults(prefix: str, corrupt: str) -> list[tuple[Column, str, Column]]:
    """What may be wrong with a line: condition, reason and detail; the first that holds is told.

    The columns of the event have the prefix, `corrupt` is not null if the line is no event in JSON.
    """
    version, kind = f.col(f"{prefix}schema_version"), f.col(f"{prefix}kind")
    is_corrupt = f.col(corrupt).isNotNull()
    newer = f.concat(
        f.lit("written under schema version "),
        version.cast("string"),
        f.lit(f", known up to {SCHEMA_VERSION}: read it with a newer epochbridge"),
    )
    foreign = (
        (is_corrupt, "not an event: no JSON object, or a field of another type"),
        (version.isNull() | f.col(f"{prefix}event_id").isNull(), "JSON without schema_version or event_id"),
    )
    strange = (
        (kind.isNull() | ~kind.isin(list(KINDS)), "no kind of event that is known"),
        (_lacks_stamp(prefix), "a stamp, or the group of an event about a group, is missing"),
    )
    return [
        (is_corrupt & _is_cut(), TRUNCATED, f.lit("the line ends in the middle of an event")),
        *((condition, FOREIGN, f.lit(detail)) for condition, detail in foreign),
        (version > SCHEMA_VERSION, NEWER, newer),
        *((condition, FOREIGN, f.lit(detail)) for condition, detail in strange),
    ]


def _is_cut() -> Column:
    """An event is one JSON object on one line: what begins like one and does not end like one was cut off."""
    line = f.trim(f.col(LINE))
    return line.startswith("{") & ~line.endswith("}")


def _lacks_stamp(prefix: str) -> Column:
    lacks = f.col(f"{prefix}kind").isin(GROUP_KINDS) & f.col(f"{prefix}group_id").isNull()
    for name in STAMP_FIELDS:
        lacks |= f.col(f"{prefix}{name}").isNull()
    return lacks
