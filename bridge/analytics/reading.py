"""Which lines are events of ours, and why another one is not: one DataFrame of lines in, accepted and refused rows out.

It must not know where the lines come from, nor which events belong together.
"""

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
_CORRUPT = "_corrupt_record"
DAY_US = 86_400_000_000
GROUP_KINDS = sorted(kind.name for kind in KINDS.values() if "group_id" in kind.field_names)


def parsed(lines: DataFrame) -> DataFrame:
    """The lines with their event and the reason against each, null for none; blank lines are nothing.

    In: `value` and `source`. Out: those, every column of the log, `date`, `reason` and `detail`. Fields that we don't
    know are passed over, fields that are missing are null: that is how files of other schema versions stay readable.
    """
    schema = StructType([*log_schema().fields, StructField(_CORRUPT, StringType())])
    # As a column Spark would parse the line anew for every condition on it; what is inlined is parsed once.
    flat = lines.where(f.trim(LINE) != "").select(LINE, SOURCE, f.inline(f.array(f.from_json(LINE, schema))))
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
    version = f.col("schema_version")
    return (
        f.when(f.col(_CORRUPT).isNotNull() & _is_cut(), TRUNCATED)
        .when(f.col(_CORRUPT).isNotNull() | version.isNull() | f.col("event_id").isNull(), FOREIGN)
        .when(version > SCHEMA_VERSION, NEWER)
        .when(f.col("kind").isNull() | ~f.col("kind").isin(list(KINDS)), FOREIGN)
        .when(_lacks_stamp(), FOREIGN)
    )


def _detail() -> Column:
    version = f.col("schema_version")
    return (
        f.when(f.col(_CORRUPT).isNotNull() & _is_cut(), "the line ends in the middle of an event")
        .when(f.col(_CORRUPT).isNotNull(), "not an event: no JSON object, or a field of another type")
        .when(version.isNull() | f.col("event_id").isNull(), "JSON without schema_version or event_id")
        .when(
            version > SCHEMA_VERSION,
            f.concat(
                f.lit("written under schema version "),
                version.cast("string"),
                f.lit(f", known up to {SCHEMA_VERSION}: read it with a newer epochbridge"),
            ),
        )
        .when(f.col("kind").isNull() | ~f.col("kind").isin(list(KINDS)), "no kind of event that is known")
        .when(_lacks_stamp(), "a stamp, or the group of an event about a group, is missing")
    )


def _is_cut() -> Column:
    """An event is one JSON object on one line: what begins like one and does not end like one was cut off."""
    line = f.trim(f.col(LINE))
    return line.startswith("{") & ~line.endswith("}")


def _lacks_stamp() -> Column:
    lacks = f.col("kind").isin(GROUP_KINDS) & f.col("group_id").isNull()
    for name in STAMP_FIELDS:
        lacks |= f.col(name).isNull()
    return lacks
