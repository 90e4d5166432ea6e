"""The table `stalls`: how long each partition stood still between two owners, and the exploded rows others share.

It must not know rebalances, only who had a partition when.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from bridge.analytics.positions import SEQ, elapsed_us, fast_key, moment
from bridge.analytics.reading import utc_day
from bridge.analytics.spark_types import conform
from bridge.analytics.tables import STALLS
from bridge.telemetry.schema.facts import PartitionsAssigned, PartitionsFetched, PartitionsReleased, PartitionsTold

TOLD, RELEASED = PartitionsTold.kind, PartitionsReleased.kind
PARTITION = ("key", "group_id", "partition")
ASSIGNED, FETCHED = PartitionsAssigned.kind, PartitionsFetched.kind


def partition_rows(events: DataFrame, *kinds: str) -> DataFrame:
    """Events of these kinds, a row per partition they name."""
    rows = events.where(f.col("kind").isin(*kinds))
    slim = ("group_id", "rebalance_id", "road", "member_id", "instance_id", "protocol", "kind")
    each = rows.select(*slim, moment().alias("at"), SEQ, f.explode("partitions").alias("partition"))
    return each.withColumn("key", fast_key("group_id", "partition"))


def stalls(events: DataFrame) -> DataFrame:
    """A row per fetch that ends a stall: from the first event that took the partition since the fetch before.

    Everything runs over one order of the rows of each partition, so Spark moves and sorts them once.
    """
    order = Window.partitionBy(*PARTITION).orderBy(SEQ)
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    rows = partition_rows(events, TOLD, RELEASED, ASSIGNED, FETCHED)
    gave = f.col("kind").isin(TOLD, RELEASED)
    last_kind = f.last(f.when(f.col("kind") != ASSIGNED, f.col("kind")), ignorenulls=True).over(before)
    is_start = gave & f.coalesce(last_kind == FETCHED, f.lit(True))
    holder = f.struct("member_id", "protocol", "rebalance_id", "kind", "at")
    marked = rows.withColumn("start_here", f.when(is_start, holder))
    followed = marked.withColumns(
        {
            "start": f.last("start_here", ignorenulls=True).over(before),
            "released": _latest(RELEASED, "at").over(before),
            "assigned": _latest(ASSIGNED, "at").over(before),
            "fetched_before": f.max(f.when(f.col("kind") == FETCHED, f.col(SEQ))).over(before),
        }
    )
    start_seq = f.col(f"start.at.{SEQ}")
    ended = followed.where((f.col("kind") == FETCHED) & (start_seq > f.coalesce("fetched_before", f.lit(-1))))
    return conform(STALLS, ended.withColumns(_columns()))


def _latest(kind: str, name: str) -> Column:
    return f.last(f.when(f.col("kind") == kind, f.col(name)), ignorenulls=True)


def _columns() -> dict[str, Column]:
    start = f.col("start")
    return {
        "rebalance_id": start["rebalance_id"],
        "before": start["member_id"],
        "after": f.col("member_id"),
        "protocol_before": start["protocol"],
        "protocol_after": f.col("protocol"),
        "is_same_owner": start["member_id"] == f.col("member_id"),
        "told_us": f.when(start["kind"] == TOLD, start["at"]["wall_us"]),
        "released_us": _since(f.col("released"), start["at"]),
        "assigned_us": _since(f.col("assigned"), start["at"]),
        "fetched_us": f.col("at.wall_us"),
        "stall_us": elapsed_us(start["at"], f.col("at")),
        "fetched_event": f.col("at.event_id"),
        "date": utc_day(start["at"]["wall_us"]),
    }


def _since(at: Column, start: Column) -> Column:
    return f.when(at[SEQ] >= start[SEQ], at["wall_us"])
