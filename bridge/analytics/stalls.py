"""The table `stalls`: how long each partition stood still between two owners, and the exploded rows others share.

It must not know rebalances, only who had a partition when.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from bridge.analytics.positions import MOMENT, SEQ, elapsed_us, fast_key, moment
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
    slim = ("group_id", "rebalance_id", "road", "member_id", "instance_id", "protocol", "kind", "idle_us", "event_id")
    each = rows.select(*slim, moment().alias("at"), SEQ, f.explode("partitions").alias("partition"))
    return each.withColumn("key", fast_key("group_id", "partition"))


def stalls(events: DataFrame) -> DataFrame:
    """A row per fetch that ends a stall: from the first event that took the partition since the fetch before.

    Everything runs over one order of the rows of each partition, so Spark moves and sorts them once.
    """
    order = Window.partitionBy(*PARTITION).orderBy(SEQ)
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    kind = f.col("kind")
    rows = partition_rows(events, TOLD, RELEASED, ASSIGNED, FETCHED)
    # What is sorted is kept narrow: only fetches are named in the table.
    marked = (
        rows.withColumn("fetched_event", f.when(kind == FETCHED, f.col("event_id")))
        .withColumns(
            {
                "did": f.last(f.when(kind != FETCHED, f.struct("kind", "member_id", "at")), ignorenulls=True).over(
                    before
                ),
                "used": f.last(f.when(kind != ASSIGNED, kind), ignorenulls=True).over(before),
            }
        )
        .withColumn("start_here", _start())
    )
    followed = marked.withColumns(
        {
            "start": f.last("start_here", ignorenulls=True).over(before),
            "released": _latest(RELEASED).over(before),
            "assigned": _latest(ASSIGNED).over(before),
            "fetched_before": f.max(f.when(kind == FETCHED, f.col(SEQ))).over(before),
        }
    )
    return conform(STALLS, followed.where((kind == FETCHED) & _ends()).withColumns(_columns()))


def _start() -> Column:
    """Whether a stall may begin here, and since when: who is told may fetch until it hears, who is gone has not."""
    kind, at, did = f.col("kind"), f.col("at"), f.col("did")
    is_fresh = f.coalesce(f.col("used") == FETCHED, f.lit(True))
    was_told = f.coalesce((did["kind"] == TOLD) & (did["member_id"] == f.col("member_id")), f.lit(False))

    def begins(since: Column, told_us: Column) -> Column:
        return f.struct("member_id", "protocol", "rebalance_id", since.alias("at"), told_us.alias("told_us"))

    return (
        f.when((kind == TOLD) & is_fresh, begins(at, at["wall_us"]))
        .when((kind == FETCHED) & was_told, begins(at, did["at"]["wall_us"]))
        .when((kind == RELEASED) & is_fresh & ~was_told, begins(_earlier(at), f.lit(None).cast("long")))
    )


def _earlier(at: Column) -> Column:
    """The moment from which on the one that released can't have used it; logs of schema version 1 don't tell."""
    idle_us = f.coalesce("idle_us", f.lit(0))
    since = {name: at[name] - idle_us if name in ("wall_us", "mono_us") else at[name] for name in MOMENT}
    return f.struct(*(value.alias(name) for name, value in since.items()))


def _ends() -> Column:
    """Whether a fetch ends a stall: one has begun, and the partition was given to somebody since."""
    start = f.col("start")
    is_open = start["at"][SEQ] >= f.coalesce("fetched_before", f.lit(-1))
    is_given = f.coalesce(f.col("assigned")[SEQ] > start["at"][SEQ], f.lit(False))
    return is_open & (is_given | (f.col("member_id") != start["member_id"]))


def _latest(kind: str) -> Column:
    return f.last(f.when(f.col("kind") == kind, f.col("at")), ignorenulls=True)


def _columns() -> dict[str, Column]:
    start = f.col("start")
    return {
        "rebalance_id": start["rebalance_id"],
        "before": start["member_id"],
        "after": f.col("member_id"),
        "protocol_before": start["protocol"],
        "protocol_after": f.col("protocol"),
        "is_same_owner": start["member_id"] == f.col("member_id"),
        "told_us": start["told_us"],
        "released_us": _since(f.col("released"), start["at"]),
        "assigned_us": _since(f.col("assigned"), start["at"]),
        "fetched_us": f.col("at.wall_us"),
        "stall_us": elapsed_us(start["at"], f.col("at")),
        "date": utc_day(start["at"]["wall_us"]),
    }


def _since(at: Column, start: Column) -> Column:
    return f.when(at[SEQ] >= start[SEQ], at["wall_us"])
