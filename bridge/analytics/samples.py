"""The waiting times that a comparison is about, chosen from the tables by a filter, in the order they came about.

It must not know how they are compared.
"""

from enum import StrEnum

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.analytics_error import AnalyticsError
from bridge.analytics.store import Store
from bridge.analytics.tables import MEMBERS, PHASES, STALLS
from bridge.telemetry.schema.terms import Phase

SAMPLE_MAX = 200_000
"""The newest so many times of each side are compared; more would not change what is certain long before."""
TIME, VALUE = "at_us", "waited_us"
_NATURE = ("client_id", "client_host", "library", "library_version")


class Measure(StrEnum):
    """What is compared: how long a member did not work in a rebalance, or how long a partition stood still."""

    MEMBER = "member-stall"
    PARTITION = "partition-stall"


def member_stalls(phases: DataFrame, members: DataFrame) -> DataFrame:
    """One row per member and rebalance: the time in all phases but `stable`, with what is known of the member."""
    key = ("group_id", "member_id")
    natures = members.groupBy(*key).agg(*(f.first(name, ignorenulls=True).alias(name) for name in _NATURE))
    waited = (
        phases.where((f.col("phase") != Phase.STABLE.value) & f.col("duration_us").isNotNull())
        .groupBy(*key, "rebalance_id", "protocol", "road")
        .agg(
            f.sum("duration_us").alias(VALUE),
            f.min("began_us").alias(TIME),
            f.first("instance_id").alias("instance_id"),
        )
    )
    return waited.join(natures, list(key), "left")


def partition_stalls(stalls: DataFrame) -> DataFrame:
    """One row per stall; `protocol` is what the client speaks that has the partition afterwards."""
    return stalls.withColumns(
        {VALUE: f.col("stall_us"), TIME: f.col("fetched_us"), "protocol": f.col("protocol_after")}
    ).where(f.col(VALUE).isNotNull())


def sample(store: Store, measure: Measure, condition: str) -> list[float]:
    """The times in seconds for which an SQL condition holds, oldest first; raise AnalyticsError if it is none."""
    rows = (
        member_stalls(store.read(PHASES), store.read(MEMBERS))
        if measure is Measure.MEMBER
        else partition_stalls(store.read(STALLS))
    )
    try:
        chosen = (
            rows.where(f.expr(condition)).select(TIME, VALUE).orderBy(f.desc(TIME), f.desc(VALUE)).limit(SAMPLE_MAX)
        )
        found = chosen.collect()
    except PySparkException as problem:
        names = ", ".join(sorted(rows.columns))
        raise AnalyticsError(
            f"EB-ANALYTICS-020: the filter {condition!r} can't be applied to {measure.value}: "
            f"{str(problem).splitlines()[0]}; it is an SQL condition over {names}, such as protocol = 'classic'"
        ) from problem
    return [row[VALUE] / 1_000_000 for row in reversed(found)]
