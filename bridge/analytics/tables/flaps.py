"""The table `flaps`: partitions that left an owner and came back to it soon."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from bridge.analytics.intake.reading import utc_day
from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables.definitions import FLAP_US, FLAPS
from bridge.analytics.tables.positions import MOMENT, SEQ, SORT_KEY, elapsed_us, keyed, moment
from bridge.analytics.tables.stalls import ASSIGNED, PARTITION


def flaps(events: DataFrame) -> DataFrame:
    """A row per return to the owner before the last, `FLAP_US` after it lost the partition at the latest.

    A static member is known by its instance id, so that its restart is no flap.
    """
    order = Window.partitionBy(*SORT_KEY).orderBy(SEQ)
    left = {f"left_{name}": f.lag(name).over(order) for name in MOMENT}
    recent = _changes(events).withColumns({"earlier": f.lag("owner", 2).over(order), **left})
    since = f.struct(*(f.col(f"left_{name}").alias(name) for name in MOMENT))
    returns = recent.where(f.col("earlier") == f.col("owner")).withColumn("away_us", elapsed_us(since, moment()))
    columns = {
        "via": f.col("before"),
        "left_us": f.col("left_wall_us"),
        "back_us": f.col("wall_us"),
        "back_event": f.col("event_id"),
        "date": utc_day(f.col("wall_us")),
    }
    return conform(FLAPS, returns.where(f.col("away_us") <= FLAP_US).withColumns(columns))


def last_owners(events: DataFrame) -> DataFrame:
    """When each partition came to its owner and to the one before: they alone tell what comes of later events."""
    order = Window.partitionBy(*SORT_KEY).orderBy(SEQ)
    last = _changes(events).withColumn("after", f.lead(SEQ, 2).over(order)).where(f.col("after").isNull())
    given = (f.lit(ASSIGNED).alias("kind"), f.col("owner").alias("member_id"), f.array("partition").alias("partitions"))
    return last.select("group_id", "rebalance_id", "event_id", *MOMENT, *given)


def _changes(events: DataFrame) -> DataFrame:
    """A row per partition and new owner, with the one before."""
    order = Window.partitionBy(*SORT_KEY).orderBy(SEQ)
    is_same = f.coalesce(f.col("before") == f.col("owner"), f.lit(False))
    return _given(events).withColumn("before", f.lag("owner").over(order)).where(~is_same)


def _given(events: DataFrame) -> DataFrame:
    """A row per partition that a member was given: it is moved and sorted, so nothing stands in it twice."""
    owner = f.coalesce("instance_id", "member_id").alias("owner")
    each = f.explode("partitions").alias("partition")
    slim = ("group_id", "rebalance_id", "event_id", *MOMENT)
    rows = events.where(f.col("kind") == ASSIGNED).select(*slim, owner, each)
    return keyed(rows, *PARTITION)
