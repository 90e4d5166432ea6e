"""One line per group and day."""

from pyspark.sql import DataFrame, SparkSession

from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables.daily import daily
from bridge.analytics.tables.definitions import DAILY, EVENTS, FLAPS, REBALANCES, STALLS, TABLES
from tests.support.spark import python_nodes

DAY = "date '2025-11-21'"


def tables(spark: SparkSession) -> dict[str, DataFrame]:
    """Two days of g, of which the second has nothing but a member that came."""
    made = {name: conform(table, spark.range(0).toDF("nothing")) for name, table in TABLES.items()}
    day = "date '2025-11-21' as date"
    cut = "if(id < 2, 'superseded', if(id < 5, 'open', 'interrupted'))"
    outcome = f"if(id < 9, {cut}, 'completed') outcome"
    counts = ("2L moved", "1L forced_minimum", "3L told", "1L disturbed")
    each = ("'g' group_id", "id * 10 duration_us", outcome, *counts, day)
    made[REBALANCES.name] = conform(REBALANCES, spark.range(0, 101).selectExpr(*each))
    made[STALLS.name] = conform(STALLS, spark.range(1, 4).selectExpr("'g' group_id", "id stall_us", day))
    made[FLAPS.name] = conform(FLAPS, spark.range(2).selectExpr("'g' group_id", day))
    came = "'g' group_id", "'member-joined' kind", "date '2025-11-22' as date"
    made[EVENTS.name] = conform(EVENTS, spark.range(1).selectExpr(*came))
    return made


def test_day_counts_and_measures(spark: SparkSession) -> None:
    """Exact quantiles; what did not happen is 0, what can't be measured is null."""
    first, second = daily(tables(spark)).sort("date").collect()
    assert {name: first[name] for name in DAILY.column_names if name != "date"} == {
        "group_id": "g",
        "rebalances": 101,
        "superseded": 2,
        "interrupted": 7,
        "moved": 202,
        "forced_minimum": 101,
        "told": 303,
        "disturbed": 101,
        "stalls": 3,
        "stall_total_us": 6,
        "rebalance_p50_us": 500,
        "rebalance_p95_us": 950,
        "rebalance_p99_us": 990,
        "rebalance_max_us": 1000,
        "stall_p50_us": 2,
        "stall_p95_us": 2,
        "stall_p99_us": 2,
        "stall_max_us": 3,
        "flaps": 2,
        "storms": 0,
        "joined": 0,
    }
    assert (second["joined"], second["rebalances"], second["stall_p50_us"]) == (1, 0, None)


def test_sum_that_no_column_holds_is_the_most_that_one_does(spark: SparkSession) -> None:
    """Thousands of partitions that stood still since 1970, by the clock of a bridge, ended every run and stream."""
    made = tables(spark)
    far = conform(STALLS, spark.range(50).selectExpr("'g' group_id", "250000000000000000L stall_us", f"{DAY} as date"))
    first, _ = daily({**made, STALLS.name: far}).sort("date").collect()
    assert (first["stalls"], first["stall_total_us"], first["stall_p50_us"]) == (50, 2**63 - 1, 250_000 * 10**12)


def test_daily_calls_no_python(spark: SparkSession) -> None:
    """Native expressions only."""
    assert python_nodes(daily(tables(spark))) == []
