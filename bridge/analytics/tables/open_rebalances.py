"""What `rebalances` needs of all earlier events to be made of later ones: those of rebalances that may yet change."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from bridge.analytics.tables import disturbance
from bridge.analytics.tables.definitions import CARRIED_FOR, CHAIN_HEAD, REBALANCES
from bridge.analytics.tables.disturbance import CHAIN
from bridge.analytics.tables.positions import SEQ, SORT_KEY
from bridge.analytics.tables.rebalances import BESIDE, IS_BESIDE, KEY, KINDS, LAST_SEQ, OPEN, kept_begun
from bridge.analytics.tables.stalls import partition_rows
from bridge.telemetry.schema.facts import PartitionsAssigned, RebalanceBegan
from bridge.telemetry.schema.terms import Road

NAMING = (*KINDS, *disturbance.KINDS)
"""Facts that change the row of the rebalance they name."""
RECENT = 3
"""Rebalances that were spoken of last: what comes of a member after the end belongs to the last one."""
_MARK, _CLOSED, _IS_HEAD = "mark", "closed", "is_head"


def may_change(events: DataFrame, begun: DataFrame | None = None) -> DataFrame:
    """Events of the rebalances that may yet change, and of each partition who had it last, in `carried_for` for what.

    Open ones may, the last ones, and all of a chain that one of these is in (`disturbance.CHAIN_MAX` at most); and what
    is named and has no facts of its own yet. `begun` is what those say (`kept_begun`), if somebody knows already.
    """
    marks = f.broadcast(_marks(kept_begun(events) if begun is None else begun))
    named = events.where(_names_one()).join(marks, [*KEY], "left").withColumn(_MARK, _mark())
    of_use = (f.col(_MARK) == REBALANCES.name) | ((f.col(_MARK) == BESIDE) & f.col("kind").isin(*KINDS))
    carried = named.where(of_use).withColumns({CARRIED_FOR: f.col(_MARK), CHAIN_HEAD: f.col(_IS_HEAD)}).drop(_IS_HEAD)
    return carried.unionByName(_owners(events, marks), allowMissingColumns=True)


def strays(fresh: DataFrame, carried: DataFrame) -> DataFrame:
    """The groups (`group_id`) in which new events speak of an earlier rebalance that is not carried any more."""
    began = f.max(f.col("kind") == RebalanceBegan.kind).alias("is_new")
    named = fresh.where(_names_one()).groupBy(*KEY).agg(began).where(~f.col("is_new"))
    known = carried.where(f.col(CARRIED_FOR) == REBALANCES.name).select(*KEY).distinct()
    return named.join(f.broadcast(known), [*KEY], "left_anti").select("group_id").distinct()


def _names_one() -> Column:
    return f.col("kind").isin(*NAMING) & (f.col("rebalance_id") != "") & f.col("group_id").isNotNull()


def _mark() -> Column:
    return f.coalesce(_MARK, f.lit(REBALANCES.name))


def _marks(begun: DataFrame) -> DataFrame:
    """Each rebalance that has facts of its own, and what it is carried for."""
    order, last = Window.partitionBy("group_id").orderBy(SEQ), Window.partitionBy("group_id").orderBy(f.desc(LAST_SEQ))
    is_last = f.lead(SEQ).over(order).isNull() | (f.row_number().over(last) <= RECENT)
    is_own = ((f.col("outcome") == OPEN) | is_last) & ~f.col(IS_BESIDE)
    judged = begun.select(*KEY, SEQ, LAST_SEQ, "outcome", CHAIN, IS_BESIDE).withColumn("is_own", is_own)
    whole = judged.withColumn("is_own", f.max("is_own").over(Window.partitionBy("group_id", CHAIN)))
    is_beside = f.lag("is_own", 1, False).over(order) | f.lead("is_own", 1, False).over(order)
    mark = f.when(f.col("is_own"), REBALANCES.name).when(is_beside, BESIDE).otherwise(_CLOSED)
    return whole.select(*KEY, mark.alias(_MARK), (f.col(CHAIN) == f.col("rebalance_id")).alias(_IS_HEAD))


def _owners(events: DataFrame, marks: DataFrame) -> DataFrame:
    """On road `pass`, who was given each partition last, and before each time that is carried; of no rebalance."""
    given = partition_rows(events.where(f.col("road") == Road.PASSING.value), PartitionsAssigned.kind)
    is_carried = (f.col("rebalance_id") != "") & (_mark() == REBALANCES.name)
    marked = given.join(marks, [*KEY], "left").withColumn("is_carried", f.coalesce(is_carried, f.lit(False)))
    after = f.lead("is_carried", 1, True).over(Window.partitionBy(*SORT_KEY).orderBy(SEQ))
    rows = marked.withColumn("is_wanted", after & ~f.col("is_carried")).where("is_wanted")
    return rows.select(
        f.lit(REBALANCES.name).alias(CARRIED_FOR),
        "kind",
        "group_id",
        f.lit("").alias("rebalance_id"),
        *("road", "member_id", "instance_id", "event_id", "at.wall_us", "at.mono_us", SEQ),
        f.array("partition").alias("partitions"),
    )
