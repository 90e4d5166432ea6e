"""The order of events across runs of the bridge, the time between two of them, and clocks that jumped back.

Within a run an event's number is the order, and its monotonic clock the time.
"""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from bridge.analytics.intake.columns import NUMBER_BITS
from bridge.analytics.intake.reading import utc_day
from bridge.analytics.spark.column_types import conform
from bridge.analytics.spark.rows import local_rows
from bridge.analytics.stretches.spans import CHUNK
from bridge.analytics.tables.definitions import BATCH, DATE, REJECTED

SEQ, RUN = "seq", "run"
SORT_KEY = ("key", "counter_key")
MOMENT = ("wall_us", "mono_us", SEQ)
"""What is needed of an event to tell the time to another one; `seq` tells the run. Sorted rows carry many of them."""
RUN_BITS = NUMBER_BITS
"""The place of a run stands above those of an event's number."""
CLOCK = "clock-jumped-back"
JUMP_MIN_US = 100_000
"""Clocks are slewed by less than that between two events; a step back by more is a jump."""
DERIVED_BATCH = -1
"""The batch of rows in `rejected` that are found in the events themselves, and anew with every derivation."""
_LAG = "lag_us"
_NOTHING = "\0"


def runs(events: DataFrame) -> DataFrame:
    """Each `boot` with its place (`run`) in the order in which the runs began, by the wall clock."""
    began = events.groupBy("boot").agg(f.min_by("wall_us", "number").alias("began_us"))
    return began.select("boot", f.row_number().over(Window.orderBy("began_us", "boot")).cast("long").alias(RUN))


def run_places(spark: SparkSession, order: Sequence[str]) -> DataFrame:
    """Each `boot` with its place (`run`), where the order of all is known."""
    places = [*zip(order, range(1, len(order) + 1), strict=True)]
    return local_rows(spark, {"boot": pa.string(), RUN: pa.int64()}, places)


def positioned(events: DataFrame, order: DataFrame) -> DataFrame:
    """Events with `run` and with `seq`, by which all events of a log are in order."""
    seq = f.shiftleft(f.col(RUN), RUN_BITS).bitwiseOR(f.col("number"))
    return events.join(f.broadcast(order), "boot").withColumn(SEQ, seq)


def keyed(rows: DataFrame, *names: str) -> DataFrame:
    """Rows with two numbers (`SORT_KEY`) that stand for these columns, by which rows are moved, sorted and told apart.

    Names would be compared and copied again and again, most of all those that begin alike, as those of groups do. Each
    number is a hash of 64 bits, one of the names, one of the names in reverse: of a billion different ones two share
    both with a chance of 2e-21.
    """
    # Spark leaves nulls out of a hash: (name, null) and (null, name) would have the same one.
    told = [f.coalesce(name, f.lit(_NOTHING)) for name in names]
    return rows.withColumns(dict(zip(SORT_KEY, (f.xxhash64(*told), f.xxhash64(*reversed(told))), strict=True)))


def moment(*more: str) -> Column:
    """What is needed of an event to tell the time to another one, and further columns."""
    return f.struct(*MOMENT, *more)


def elapsed_us(begin: Column, end: Column) -> Column:
    """Microseconds between two moments: monotonic in one run, wall clock across runs; null if one is null."""
    wall = f.greatest(end["wall_us"] - begin["wall_us"], f.lit(0))
    both = begin.isNotNull() & end.isNotNull()
    is_one_run = f.shiftright(begin[SEQ], RUN_BITS) == f.shiftright(end[SEQ], RUN_BITS)
    return f.when(both, f.when(is_one_run, end["mono_us"] - begin["mono_us"]).otherwise(wall))


def clock_jumps(events: DataFrame) -> DataFrame:
    """A row of `rejected` for each event whose wall clock stands before that of the event before it.

    The event itself stays in use: durations come from the monotonic clock. Chunks of events whose clocks agree are
    passed over, so that only the neighbourhood of a jump is sorted.
    """
    clocks = events.select("event_id", "boot", "number", "wall_us", (f.col("wall_us") - f.col("mono_us")).alias(_LAG))
    spans = clocks.groupBy("boot", chunk_of_number()).agg(f.min(_LAG).alias("least"), f.max(_LAG).alias("most"))
    before = f.coalesce(f.lag("most").over(Window.partitionBy("boot").orderBy("chunk")), f.col("most"))
    falls = spans.withColumn("before", before).where(f.greatest("most", "before") - f.col("least") >= JUMP_MIN_US)
    near = falls.select("boot", f.explode(f.array(f.col("chunk") - 1, f.col("chunk"))).alias("chunk")).distinct()
    suspects = in_chunks(clocks, near)
    step = f.col(_LAG) - f.lag(_LAG).over(Window.partitionBy("boot").orderBy("number"))
    jumped = suspects.withColumn("step_us", step).where(f.col("step_us") <= -JUMP_MIN_US)
    return conform(REJECTED, jumped.withColumns(_rejection()))


def chunk_of_number() -> Column:
    """The place of an event among those of its run, as `chunk`: so many events lie in one."""
    return f.floor(f.col("number") / CHUNK).alias("chunk")


def in_chunks(events: DataFrame, chunks: DataFrame) -> DataFrame:
    """The events that lie in chunks (`boot`, `chunk`), with their `chunk`."""
    return events.select("*", chunk_of_number()).join(f.broadcast(chunks), ["boot", "chunk"], "left_semi")


def _rejection() -> dict[str, Column]:
    back = f.format_string("%.3f", -f.col("step_us") / 1e6)
    words = f.concat(f.lit("the wall clock went back by "), back, f.lit(" s; the event counts, its time is not sure"))
    return {
        "reason": f.lit(CLOCK),
        "detail": words,
        "source": f.concat(f.lit("boot "), f.col("boot")),
        "count": f.lit(1),
        BATCH: f.lit(DERIVED_BATCH),
        DATE: utc_day(f.col("wall_us")),
    }
