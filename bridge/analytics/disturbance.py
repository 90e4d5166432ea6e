"""Whom a rebalance disturbed: members that gave partitions up and had the same ones before and after.

It must not know how long anything took.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from bridge.telemetry.schema.facts import MemberLeft, MemberTold, PartitionsAssigned, PartitionsReleased
from bridge.telemetry.schema.terms import News

NEWS = (News.REJOIN.value, News.REVOKE.value)
CHAIN = "chain_id"
_MEMBER = ("group_id", CHAIN, "member_id")


def chained(rebalances: DataFrame) -> DataFrame:
    """Rebalances (`group_id`, `rebalance_id`, `supersedes`, `seq`) with the first of those each one supersedes.

    A rebalance that is cut short changes nothing for a member until the one that cut it short is over, so both are
    judged as one.
    """
    order = Window.partitionBy("group_id").orderBy("seq")
    is_first = ~f.coalesce(f.col("supersedes") == f.lag("rebalance_id").over(order), f.lit(False))
    first = f.last(f.when(is_first, f.col("rebalance_id")), ignorenulls=True).over(order)
    return rebalances.withColumn(CHAIN, first)


def disturbances(events: DataFrame, chains: DataFrame) -> DataFrame:
    """Per rebalance: how many members were `told`, how many `disturbed`, told or not, and `disturbed_members`.

    `chains` has `group_id`, `rebalance_id`, `chain_id`. What a member lost in a chain are the partitions it released,
    what it gained those assigned: the same of both leaves it with what it had. One that went is not disturbed, nor is
    one that only had to join again: a cooperative member keeps on working meanwhile.
    """
    kinds = (MemberTold.kind, PartitionsReleased.kind, PartitionsAssigned.kind, MemberLeft.kind)
    rows = events.where(f.col("kind").isin(*kinds) & (f.col("rebalance_id") != ""))
    slim = rows.select("group_id", "rebalance_id", "member_id", "kind", "news", "partitions")
    # Few rebalances are cut short: only theirs have to be looked up, so that the rows need not be moved for it.
    cut = f.broadcast(chains.where(f.col(CHAIN) != f.col("rebalance_id")))
    own = slim.join(cut, ["group_id", "rebalance_id"], "left").withColumn(CHAIN, f.coalesce(CHAIN, "rebalance_id"))
    of_member = own.groupBy(*_MEMBER)
    judged = of_member.agg(
        f.collect_set(f.when(_is_told(), f.col("rebalance_id"))).alias("told_in"),
        f.collect_set(f.when(_is_told() | _is(PartitionsReleased.kind), f.col("rebalance_id"))).alias("touched_in"),
        _listed(PartitionsReleased.kind).alias("lost"),
        _listed(PartitionsAssigned.kind).alias("gained"),
        f.max(_is(MemberLeft.kind)).alias("is_gone"),
    )
    is_same = ~f.col("is_gone") & (f.size("lost") > 0) & (f.col("lost") == f.col("gained"))
    touched = judged.where(f.size("touched_in") > 0).withColumn("is_disturbed", is_same)
    return (
        touched.select(
            "group_id", "member_id", "is_disturbed", "told_in", f.explode("touched_in").alias("rebalance_id")
        )
        .groupBy("group_id", "rebalance_id")
        .agg(
            f.count_if(f.array_contains("told_in", f.col("rebalance_id"))).alias("told"),
            f.count_if("is_disturbed").alias("disturbed"),
            f.array_sort(f.collect_list(f.when(f.col("is_disturbed"), f.col("member_id")))).alias("disturbed_members"),
        )
    )


def _is(kind: str) -> Column:
    return f.col("kind") == kind


def _is_told() -> Column:
    return _is(MemberTold.kind) & f.col("news").isin(*NEWS)


def _listed(kind: str) -> Column:
    return f.array_sort(f.flatten(f.collect_list(f.when(_is(kind), f.col("partitions")))))
