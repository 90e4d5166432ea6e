"""Which lines are events of ours, and why another is not: a DataFrame of lines in, accepted and refused rows out."""

from collections.abc import Iterable, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType

from bridge.analytics.intake.columns import END_US, ENDS, LongLine
from bridge.analytics.spark.column_types import conform, log_schema
from bridge.analytics.tables.definitions import BATCH, DATE, DAY_US, EVENTS, REJECTED
from bridge.telemetry.schema.fields import KINDS, LINE_BYTES_MAX, SCHEMA_VERSION, STAMP_FIELDS

LINE, SOURCE = "value", "source"
"""The two columns that a reader gets: the text, and what it came from."""
TRUNCATED, FOREIGN, NEWER = "truncated", "foreign", "newer-schema"
REASON, DETAIL = "_reason", "_detail"
"""Why a row is set aside: columns of ours beside all fields of the log, of which one is called `reason`."""
_SAID, _IS_CORRUPT = "said", "is_corrupt"
_BEGIN, _END = '{"schema_version":', "}"
"""How every line begins and ends that a bridge wrote whole."""
Fault = tuple[Column, str, Column]
"""A condition on a row, the reason for which it is set aside, and the words that tell it."""
GROUP_KINDS = sorted(kind.name for kind in KINDS.values() if "group_id" in kind.field_names)


def judged(lines: DataFrame, batch: int) -> DataFrame:
    """What the lines say as the table `events` has it, with no `date` where it is no event.

    Fields that we don't know are passed over, fields that are missing are null: that is how files of other schema
    versions stay readable. A line that is no event in JSON has null everywhere; blank lines are nothing. As a document
    of its own a line takes Spark a quarter less than by `from_json`, which reads it through a stream.
    """
    rows = lines.sparkSession.read.schema(log_schema()).json(lines.select(_listed()))
    day = f.when(~reduce(Column.__or__, [condition for condition, _, _ in _faults()]), utc_day(f.col("wall_us")))
    return conform(EVENTS, rows.withColumns({DATE: day, BATCH: f.lit(batch)}))


def unlike(lines: DataFrame) -> DataFrame:
    """Lines that do not look like those of a bridge, by their ends alone; blank ones are nothing."""
    line = f.col(LINE)
    return _written(lines).where(~(line.startswith(_BEGIN) & line.endswith(_END)))


def parsed(lines: DataFrame) -> DataFrame:
    """The lines with every column of the log, `date`, `REASON` and `DETAIL`, the latter two null for events."""
    said = _written(lines).withColumn(_SAID, f.from_json(_listed(), ArrayType(log_schema())))
    # Spark would parse the line anew for every condition on it; what is inlined is parsed once.
    rows = said.select(LINE, SOURCE, f.col(_SAID).isNull().alias(_IS_CORRUPT), f.inline_outer(_SAID))
    day = f.when(_has_day(), utc_day(f.col("wall_us")))
    return rows.withColumns({DATE: day, REASON: _reason(), DETAIL: _detail()}).drop(_IS_CORRUPT)


def accepted(rows: DataFrame, batch: int) -> DataFrame:
    """The events among parsed rows, as the table `events` has them."""
    return conform(EVENTS, rows.where(f.col(REASON).isNull()).withColumn(BATCH, f.lit(batch)))


def refused(rows: DataFrame, batch: int) -> DataFrame:
    """The other rows, as the table `rejected` has them: the digest of the line, never its text."""
    return rows.where(f.col(REASON).isNotNull()).transform(as_rejected, batch)


def as_rejected(rows: DataFrame, batch: int) -> DataFrame:
    """Rows with a line, a source, a reason and a detail, as the table `rejected` has them.

    What has no day of its own is of the day on which it is set aside: no upkeep puts the files of no day together, and
    they are never old, so that who may write a line to the topic made them more with every batch.
    """
    measured = {
        DATE: f.coalesce(DATE, f.current_date()) if DATE in rows.columns else f.current_date(),
        "reason": f.col(REASON),
        "detail": f.col(DETAIL),
        "length_bytes": f.octet_length(f.col(LINE)),
        "digest": f.sha2(f.col(LINE), 256),
        "count": f.lit(1),
        BATCH: f.lit(batch),
    }
    return conform(REJECTED, rows.withColumns(measured))


def refused_long(spark: SparkSession, lines: Iterable[LongLine], batch: int) -> DataFrame:
    """Lines that nobody may hold, as the table `rejected` has them."""
    told = [(FOREIGN, _long(), one.source, one.length_bytes, one.digest, 1, batch) for one in lines]
    names = "reason string, detail string, source string, length_bytes long, digest string, count long"
    rows = spark.createDataFrame(told, f"{names}, {BATCH} long")
    return conform(REJECTED, rows.withColumn(DATE, f.current_date()))


def utc_day(wall_us: Column) -> Column:
    """The UTC day of microseconds since 1970."""
    return f.date_from_unix_date(f.floor(wall_us / f.lit(DAY_US)).cast("int"))


def _has_day() -> Column:
    """A day of more digits than the log of a table can read ended the whole batch, at each new start: neither an event
    nor what is set aside may be of one.
    """
    return f.col("wall_us").between(0, END_US)


def _is_far() -> Column:
    """Whether a number of the event is beyond its ends: asked of the least and the greatest of all columns that have
    the same, for Spark would plan with a question about each of them in every place where this one stands.
    """
    alike: dict[tuple[int, int], list[str]] = {}
    for name, ends in ENDS.items():
        alike.setdefault(ends, []).append(name)
    return reduce(Column.__or__, (_lies_beyond(names, *ends) for ends, names in alike.items()))


def _lies_beyond(names: Sequence[str], least: int, most: int) -> Column:
    """Whether one of these columns is; who has none of them is not."""
    lowest, highest = (f.col(names[0]),) * 2 if len(names) == 1 else (f.least(*names), f.greatest(*names))
    return f.coalesce((lowest < least) | (highest > most), f.lit(False))


def _written(lines: DataFrame) -> DataFrame:
    return lines.where(f.trim(LINE) != "")


def _listed() -> Column:
    """The line as all there is in a list: so whatever follows an event on its line makes it corrupt, too, as does its
    length.
    """
    return f.when(_is_long(), "[").otherwise(f.concat(f.lit("["), f.col(LINE), f.lit("]")))


def _is_long() -> Column:
    return f.octet_length(f.col(LINE)) > LINE_BYTES_MAX


def _long() -> str:
    return f"a line longer than {LINE_BYTES_MAX} bytes"


def _reason() -> Column:
    reasons = [f.when(condition, reason) for condition, reason, _ in (*_corruptions(), *_faults())]
    return f.coalesce(*reasons)


def _detail() -> Column:
    details = [f.when(condition, detail) for condition, _, detail in (*_corruptions(), *_faults())]
    return f.coalesce(*details)


def _corruptions() -> tuple[Fault, ...]:
    """Why a line that has the faults of an empty event has them."""
    is_corrupt = f.col(_IS_CORRUPT)
    return (
        (is_corrupt & _is_long(), FOREIGN, f.lit(_long())),
        (is_corrupt & _is_cut(), TRUNCATED, f.lit("the line ends in the middle of an event")),
        (is_corrupt, FOREIGN, f.lit("not an event: no JSON object, or a field of another type")),
    )


def _faults() -> tuple[Fault, ...]:
    """What may be wrong with an event; the first that holds is told."""
    version, kind = f.col("schema_version"), f.col("kind")
    newer = f.concat(
        f.lit("written under schema version "),
        version.cast("string"),
        f.lit(f", known up to {SCHEMA_VERSION}: read it with a newer epochbridge"),
    )
    is_nameless = version.isNull() | f.col("event_id").isNull()
    is_strange = kind.isNull() | ~kind.isin(list(KINDS))
    return (
        (is_nameless, FOREIGN, f.lit("JSON without schema_version or event_id")),
        (version > SCHEMA_VERSION, NEWER, newer),
        (is_strange, FOREIGN, f.lit("no kind of event that is known")),
        (_lacks_stamp(), FOREIGN, f.lit("a stamp, or the group of an event about a group, is missing")),
        (~_has_day(), FOREIGN, f.lit("a wall clock from before 1970 or after 9999")),
        (_is_far(), FOREIGN, f.lit("a number beyond all that a bridge counts or measures")),
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
