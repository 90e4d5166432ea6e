"""The table `daily`: one line per group and day."""

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables.definitions import DAILY, DATE, EVENTS, FLAPS, REBALANCES, STALLS, STORMS, ColumnType
from bridge.analytics.tables.rebalances import OPEN
from bridge.analytics.tables.store import GREATEST
from bridge.telemetry.schema.facts import MemberJoined
from bridge.telemetry.schema.terms import Outcome

KEY = ("group_id", DATE)
JOINED = "joined"
SHARES: Mapping[str, float] = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_MEASURED = {column.name for column in DAILY.columns if column.name.endswith("_us") and "_total_" not in column.name}


def joined(events: DataFrame) -> DataFrame:
    """How many members joined each group on each day."""
    return _of(events.where(f.col("kind") == MemberJoined.kind), [f.count("*").alias(JOINED)])


def daily(tables: Mapping[str, DataFrame], joined_before: DataFrame | None = None) -> DataFrame:
    """Counts are 0 where nothing happened, quantiles null.

    Where only some events are at hand, `joined_before` are the rows of before with what the others came to.
    """
    came = joined(tables[EVENTS.name])
    if joined_before is not None:
        both = came.unionByName(joined_before.select(*KEY, JOINED).where(f.col(JOINED) > 0))
        # Two pieces of a few rows each: Spark would move them, and then all that they are put beside.
        came = _of(both.coalesce(1), [f.sum(JOINED).alias(JOINED)])
    parts = [
        _of(tables[REBALANCES.name], _rebalances()),
        _of(tables[STALLS.name], _stalls()),
        _of(tables[FLAPS.name], [f.count("*").alias("flaps")]),
        _of(tables[STORMS.name], [f.count("*").alias("storms")]),
        came,
    ]
    whole = reduce(lambda left, right: left.join(right, [*KEY], "full"), parts)
    counts = [c.name for c in DAILY.columns if c.type is ColumnType.NUMBER and c.name not in _MEASURED]
    return conform(DAILY, whole.fillna(0, counts))


def _of(rows: DataFrame, measures: list[Column]) -> DataFrame:
    return rows.groupBy(*KEY).agg(*measures)


def _rebalances() -> list[Column]:
    cut = f.col("outcome").isin(Outcome.INTERRUPTED.value, OPEN)
    return [
        f.count("*").alias("rebalances"),
        f.count_if(f.col("outcome") == Outcome.SUPERSEDED.value).alias("superseded"),
        f.count_if(cut).alias("interrupted"),
        *(_total(name).alias(name) for name in ("moved", "forced_minimum", "told", "disturbed")),
        *_quantiles("duration_us", "rebalance"),
    ]


def _stalls() -> list[Column]:
    return [f.count("*").alias("stalls"), _total("stall_us").alias("stall_total_us"), *_quantiles("stall_us", "stall")]


def _total(name: str) -> Column:
    """A sum, or the most that can be told: between two runs the wall clock counts, and one that stood at 1970 made the
    sum over thousands of partitions the end of every run.
    """
    return f.coalesce(f.try_sum(name), f.when(f.count(name) > 0, f.lit(GREATEST)))


def _quantiles(column: str, name: str) -> list[Column]:
    """Exact ones: an approximation would depend on how the rows are spread. In one list, so that Spark counts once."""
    several = f.percentile(column, f.array(*(f.lit(share) for share in SHARES.values())))
    shares = [several[place].alias(f"{name}_{label}_us") for place, label in enumerate(SHARES)]
    return [*shares, f.max(column).alias(f"{name}_max_us")]
