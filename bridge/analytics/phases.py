"""The table `phases`: every begin of a phase with its end.

It must not know why a phase took long.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from bridge.analytics.positions import SEQ, elapsed_us, fast_key, moment
from bridge.analytics.reading import utc_day
from bridge.analytics.spark_types import conform
from bridge.analytics.tables import PHASES
from bridge.telemetry.schema.facts import PhaseBegan, PhaseEnded

EPISODE = ("group_id", "member_id", "rebalance_id", "phase")
"""Begin and end carry these; a phase of one member under one rebalance may come more than once, one after another."""


def phases(events: DataFrame) -> DataFrame:
    """Pair each begin with the event after it in its episode: if that is no end, the log does not show one."""
    order = Window.partitionBy("key", *EPISODE).orderBy(SEQ)
    rows = events.where(f.col("kind").isin(PhaseBegan.kind, PhaseEnded.kind))
    slim = rows.select(
        *EPISODE,
        "instance_id",
        "protocol",
        "road",
        "member_epoch",
        "kind",
        "waits_on",
        "boot",
        "event_id",
        moment().alias("at"),
        SEQ,
        fast_key(*EPISODE).alias("key"),
    )
    after = f.lead(f.struct("kind", "waits_on", "event_id", "at")).over(order)
    begins = slim.withColumn("after", after).where(f.col("kind") == PhaseBegan.kind)
    return conform(PHASES, begins.withColumns(_spell()))


def _spell() -> dict[str, Column]:
    begin = f.col("at")
    is_closed = f.coalesce(f.col("after.kind") == PhaseEnded.kind, f.lit(False))
    end = f.when(is_closed, f.col("after.at"))
    waited_last = f.when(is_closed & (f.size("after.waits_on") > 0), f.col("after.waits_on"))
    return {
        "began_us": begin["wall_us"],
        "ended_us": end["wall_us"],
        "duration_us": elapsed_us(begin, end),
        "is_closed": is_closed,
        "waits_on": f.coalesce(waited_last, f.col("waits_on")),
        "began_event": f.col("event_id"),
        "ended_event": f.when(is_closed, f.col("after.event_id")),
        "date": utc_day(begin["wall_us"]),
    }
