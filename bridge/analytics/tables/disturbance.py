"""Whom a rebalance disturbed: members that gave partitions up and had the same ones before and after."""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from bridge.analytics.spark.rows import kept_rows
from bridge.analytics.stretches.shares import BALANCE, HALF_BITS, NEWS
from bridge.analytics.tables.definitions import CHAIN_HEAD
from bridge.telemetry.schema.facts import MemberLeft, MemberTold, PartitionsAssigned, PartitionsReleased

CHAIN = "chain_id"
CHAIN_MAX = 64
"""So many rebalances are judged as one. A group that never comes to rest would else be carried with all that it had."""
KINDS = (MemberTold.kind, PartitionsReleased.kind, PartitionsAssigned.kind, MemberLeft.kind)
"""Facts of members by which a rebalance is judged."""
_KEY = ("group_id", "rebalance_id")
_MEMBER = (*_KEY, "member_id")
"""Of each member in a rebalance `BALANCE` is added up.

Numbers, so that Spark adds them up where they are read; lists of names it would have to move. All are 0 when both are
the same partitions, the same number of times each. Should they differ in one partition, only one value of its 64 bits
of hash makes the sums agree: of a billion members judged, one is taken for disturbed with a chance of 6e-11 at most.
"""


def chained(rebalances: DataFrame) -> DataFrame:
    """Rebalances (`group_id`, `rebalance_id`, `supersedes`, `seq`) with the first of those each one supersedes.

    A rebalance that is cut short changes nothing for a member until the one that cut it short is over, so both are
    judged as one; behind `CHAIN_MAX` of them another chain begins. One that is known to begin a chain (`CHAIN_HEAD`,
    if there is such a column) does so whatever is before it: of that only some may be there.
    """
    order, known = Window.partitionBy("group_id").orderBy("seq"), CHAIN_HEAD in rebalances.columns
    follows = f.coalesce(f.col("supersedes") == f.lag("rebalance_id").over(order), f.lit(False))
    is_head = f.coalesce(CHAIN_HEAD, f.lit(False)) if known else f.lit(False)
    placed = rebalances.withColumns({"_place": f.row_number().over(order), "_is_first": ~follows | is_head})
    first_place = f.last(f.when(f.col("_is_first"), f.col("_place")), ignorenulls=True).over(order)
    begins = (f.col("_place") - f.col("_first")) % CHAIN_MAX == 0
    first = f.last(f.when(begins, f.col("rebalance_id")), ignorenulls=True).over(order)
    return placed.withColumn("_first", first_place).withColumn(CHAIN, first).drop("_place", "_is_first", "_first")


def disturbances(marks: DataFrame, chains: DataFrame) -> DataFrame:
    """Per rebalance: how many members were `told`, how many `disturbed`, told or not, and `disturbed_members`.

    `marks` are the `marked` events, or sums of them; `chains` has `group_id`, `rebalance_id`, `chain_id`. What a member
    lost in a chain are the partitions it released, what it gained those assigned: the same of both leaves it with what
    it had. One that went is not disturbed, nor is one that only had to join again: a cooperative member keeps working
    meanwhile.
    """
    return (
        _judged(marks, chains.where(f.col(CHAIN) != f.col("rebalance_id")))
        .where("is_touched")
        .groupBy(*_KEY)
        .agg(
            f.count_if("is_told").alias("told"),
            f.count_if("is_disturbed").alias("disturbed"),
            f.array_sort(f.collect_list(f.when(f.col("is_disturbed"), f.col("member_id")))).alias("disturbed_members"),
        )
    )


def marked(events: DataFrame) -> DataFrame:
    """What each event says of whom a rebalance told, took something from, gave something to, or saw go."""
    rows = events.where(f.col("kind").isin(*KINDS) & (f.col("rebalance_id") != "") & f.col("group_id").isNotNull())
    is_told = f.coalesce(_is(MemberTold.kind) & f.col("news").isin(*NEWS), f.lit(False))
    sign = f.when(_is(PartitionsReleased.kind), 1).when(_is(PartitionsAssigned.kind), -1).otherwise(0).cast("long")
    count, low, high = _amounts()
    # Unused, and in its generation: it has had them all along, and has given up that much less.
    is_again = _is(PartitionsAssigned.kind) & f.coalesce("is_again", f.lit(False))
    return rows.select(
        *_MEMBER,
        is_told.alias("is_told"),
        (is_told | _is(PartitionsReleased.kind)).alias("is_touched"),
        _is(MemberLeft.kind).alias("is_gone"),
        f.when(_is(PartitionsReleased.kind), count).when(is_again, -count).otherwise(0).alias("lost"),
        *((sign * amount).alias(name) for name, amount in zip(BALANCE, (count, low, high), strict=True)),
    )


def _judged(marks: DataFrame, followers: DataFrame) -> DataFrame:
    """Each member in a rebalance, and whether that disturbed it; `followers` have another rebalance at the head of
    their chain.

    A chain is judged as one, so its rows have to come to one place. Few rebalances are cut short, and in most logs
    none is: Spark would add up all marks twice, and find then that it needs half of that.
    """
    if followers.isEmpty():
        return _judged_alone(marks)
    links = f.broadcast(kept_rows(_links(followers)))
    linked = _judged_as_one(_of_members(marks.join(links, [*_KEY]), CHAIN))
    return _judged_alone(marks.join(links, [*_KEY], "left_anti")).unionByName(linked)


def _of_members(marks: DataFrame, *more: str) -> DataFrame:
    """A row per rebalance and member that was told, gave up, was given something in it, or went: what came of it."""
    flags = [f.max(name).alias(name) for name in ("is_told", "is_touched")]
    return marks.groupBy(*_MEMBER, *more).agg(*flags, *_together())


def _links(followers: DataFrame) -> DataFrame:
    """The rebalances of chains of several, the first of each included."""
    both = f.explode(f.array(CHAIN, "rebalance_id")).alias("rebalance_id")
    return followers.select("group_id", both, CHAIN).distinct()


def _judged_alone(marks: DataFrame) -> DataFrame:
    return _of_members(marks).select(*_KEY, "member_id", "is_told", "is_touched", _is_disturbed())


def _judged_as_one(members: DataFrame) -> DataFrame:
    """Members, judged by what came of all rebalances of a chain."""
    parts = f.collect_list(f.struct("rebalance_id", "is_told", "is_touched")).alias("parts")
    whole = members.groupBy("group_id", CHAIN, "member_id").agg(parts, *_together())
    return whole.select("group_id", "member_id", _is_disturbed(), f.inline("parts"))


def _together() -> list[Column]:
    return [f.max("is_gone").alias("is_gone"), *(f.sum(name).alias(name) for name in ("lost", *BALANCE))]


def _is_disturbed() -> Column:
    is_same = reduce(Column.__and__, [f.col(name) == 0 for name in BALANCE])
    return (~f.col("is_gone") & (f.col("lost") > 0) & is_same).alias("is_disturbed")


def _amounts() -> tuple[Column, Column, Column]:
    """How many partitions an event names, and the sums of the halves of their hashes: no sum of halves overflows."""
    nothing = f.lit(0).cast("long")

    def low(total: Column, partition: Column) -> Column:
        return total + f.xxhash64(partition).bitwiseAND(f.lit((1 << HALF_BITS) - 1))

    def high(total: Column, partition: Column) -> Column:
        return total + f.shiftright(f.xxhash64(partition), HALF_BITS)

    amounts = (f.size("partitions"), f.aggregate("partitions", nothing, low), f.aggregate("partitions", nothing, high))
    count, low_sum, high_sum = (f.coalesce(amount, nothing) for amount in amounts)
    return count, low_sum, high_sum


def _is(kind: str) -> Column:
    return f.col("kind") == kind
