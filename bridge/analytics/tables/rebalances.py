"""The table `rebalances`: what each one was, what it came to, and whom it disturbed.

The cause is what the bridge itself found.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from bridge.analytics.intake.reading import utc_day
from bridge.analytics.spark.column_types import conform
from bridge.analytics.spark.rows import kept_rows
from bridge.analytics.tables.definitions import CARRIED_FOR, CHAIN_HEAD, REBALANCES
from bridge.analytics.tables.disturbance import CHAIN, chained, disturbances, marked
from bridge.analytics.tables.positions import RUN, SEQ, SORT_KEY, elapsed_us, moment
from bridge.analytics.tables.stalls import partition_rows
from bridge.telemetry.schema.facts import (
    PartitionsAssigned,
    RebalanceBegan,
    RebalanceEnded,
    RebalanceExplained,
    TargetComputed,
)
from bridge.telemetry.schema.terms import Outcome, Road

KEY = ("group_id", "rebalance_id")
KINDS = (RebalanceBegan.kind, RebalanceEnded.kind, RebalanceExplained.kind, TargetComputed.kind)
OPEN = "open"
LAST_SEQ, IS_BESIDE = "last_seq", "is_beside"
BESIDE = "beside-rebalances"
"""For what is carried of the rebalances before and behind those that may change: they say who superseded whom."""
_EXPLAINED = ("cause", "caused_by", "evidence", "critical_member", "critical_phase", "waited_us", "sentence")
_TARGET = ("assignor", "moved", "forced_minimum", "member_count", "partition_count")


def rebalances(events: DataFrame, begun: DataFrame | None = None, marks: DataFrame | None = None) -> DataFrame:
    """One row per rebalance that any of its own facts names; one whose begin is not in the log begins with them. None
    for those that are only beside others. `begun` is what those facts say (`kept_begun`), `marks` what others say of
    members (`disturbance.marked`), if somebody knows already.
    """
    known = kept_begun(events) if begun is None else begun
    disturbed = disturbances(marked(events) if marks is None else marks, known.select(*KEY, CHAIN))
    told = known.where(~f.col(IS_BESIDE)).join(disturbed, [*KEY], "left").join(seen_moves(events), [*KEY], "left")
    return conform(REBALANCES, told.transform(_counted))


def kept_begun(events: DataFrame) -> DataFrame:
    """`begun_rebalances` for several questions: to fold all facts once for each is dear."""
    kept = kept_rows(begun_rebalances(events))
    # As columns of its own, because Spark can't tell kept ones from those of the events they came from.
    return kept.toDF(*kept.columns)


def begun_rebalances(events: DataFrame) -> DataFrame:
    """What the own facts of each rebalance say, the first of its chain, and whether it is only beside others.

    `seq` is where it began, `last_seq` where the last of its own facts stands.
    """
    facts = events.where(f.col("kind").isin(*KINDS) & (f.col("rebalance_id") != ""))
    heads = [f.max(CHAIN_HEAD).alias(CHAIN_HEAD)] if CHAIN_HEAD in events.columns else []
    is_beside = f.coalesce(f.max(f.col(CARRIED_FOR) == BESIDE), f.lit(False)) if CARRIED_FOR in events.columns else None
    folded = (
        facts.withColumn("at", moment())
        .groupBy(*KEY)
        .agg(
            f.max(RUN).alias(RUN),
            f.min(SEQ).alias(SEQ),
            f.max(SEQ).alias(LAST_SEQ),
            f.max_by("road", SEQ).alias("road"),
            f.max("group_epoch").alias("group_epoch"),
            f.min_by("at", SEQ).alias("begin"),
            _last(RebalanceBegan.kind, "supersedes").alias("began"),
            _last(RebalanceEnded.kind, "at", "outcome").alias("end"),
            _last(RebalanceExplained.kind, *_EXPLAINED).alias("why"),
            _last(TargetComputed.kind, *_TARGET).alias("target"),
            *heads,
            (f.lit(False) if is_beside is None else is_beside).alias(IS_BESIDE),
        )
    )
    superseding = folded.withColumn("supersedes", f.coalesce("began.supersedes", f.lit(""))).transform(chained)
    return superseding.withColumns(_columns())


def seen_moves(events: DataFrame) -> DataFrame:
    """`seen_moved` of rebalances on road `pass`: partitions given to another owner than the last one that had them.

    No answer tells the target of a consumer group, only what each member has got of it.
    """
    given = partition_rows(events.where(f.col("road") == Road.PASSING.value), PartitionsAssigned.kind)
    # A static member that comes back has another member id.
    owned = given.withColumn("owner", f.coalesce("instance_id", "member_id"))
    last = f.lag("owner").over(Window.partitionBy(*SORT_KEY).orderBy(SEQ))
    moved = owned.withColumn("last", last).where(f.col("last") != f.col("owner"))
    return moved.groupBy(*KEY).agg(f.count("*").alias("seen_moved"))


def _last(kind: str, *names: str) -> Column:
    return f.max_by(f.struct(*names), f.when(f.col("kind") == kind, f.col(SEQ)))


def _columns() -> dict[str, Column]:
    begin, end = f.col("begin"), f.col("end")
    told = {name: f.col(f"why.{name}") for name in _EXPLAINED} | {name: f.col(f"target.{name}") for name in _TARGET}
    return told | {
        "began_us": begin["wall_us"],
        "ended_us": end["at"]["wall_us"],
        "duration_us": elapsed_us(begin, end["at"]),
        "outcome": _outcome(),
        "date": utc_day(begin["wall_us"]),
    }


def _outcome() -> Column:
    """What the log says; else what follows from a rebalance that took over, or from a later run of the bridge."""
    group = Window.partitionBy("group_id")
    is_superseded = f.lead("supersedes").over(group.orderBy(SEQ)) == f.col("rebalance_id")
    is_of_earlier_run = f.col(RUN) < f.max(RUN).over(group)
    inferred = f.when(is_superseded, Outcome.SUPERSEDED.value).when(is_of_earlier_run, Outcome.INTERRUPTED.value)
    return f.coalesce(f.col("end.outcome"), inferred, f.lit(OPEN))


def _has_natives() -> Column:
    """On road `pass` a rebalance without a target that is over is one of a consumer group."""
    return (f.col("road") == Road.PASSING.value) & (f.col("outcome") == Outcome.COMPLETED.value)


def _counted(rows: DataFrame) -> DataFrame:
    nobody = f.array().cast("array<string>")
    return rows.withColumns(
        {
            "moved": f.coalesce("moved", f.when(_has_natives(), f.coalesce("seen_moved", f.lit(0)))),
            "told": f.coalesce("told", f.lit(0)),
            "disturbed": f.coalesce("disturbed", f.lit(0)),
            "disturbed_members": f.coalesce("disturbed_members", nobody),
        }
    )
