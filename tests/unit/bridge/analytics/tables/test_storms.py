"""Times in which a group rebalanced too often."""

from pyspark.sql import DataFrame, SparkSession

from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables.definitions import REBALANCES
from bridge.analytics.tables.storms import SPAN_US, storms
from tests.support.spark import python_nodes

MINUTE_US = 60_000_000


def rebalances(spark: SparkSession, minutes: list[int], group: str = "g") -> DataFrame:
    """Rebalances of a group at these minutes; every third because somebody left."""
    rows = [(group, f"r{n}", at * MINUTE_US, "leave" if n % 3 == 2 else "join") for n, at in enumerate(minutes)]
    return conform(
        REBALANCES, spark.createDataFrame(rows, "group_id string, rebalance_id string, began_us long, cause string")
    )


def caused(spark: SparkSession, *causes: str) -> DataFrame:
    """Rebalances of one group, a minute apart, for these reasons."""
    rows = [("g", f"r{n}", n * MINUTE_US, cause) for n, cause in enumerate(causes)]
    return conform(
        REBALANCES, spark.createDataFrame(rows, "group_id string, rebalance_id string, began_us long, cause string")
    )


def found(frame: DataFrame) -> list[tuple[object, ...]]:
    """Group, begin and end in minutes, how many, the most, the chief cause."""
    minutes = [f"{name} div {MINUTE_US}" for name in ("began_us", "ended_us")]
    rows = storms(frame, 3).sort("group_id", "began_us")
    return [tuple(row) for row in rows.selectExpr("group_id", *minutes, "rebalances", "peak", "chief_cause").collect()]


def test_rebalances_too_close_are_a_storm(spark: SparkSession) -> None:
    """At the threshold; ten minutes are counted with both ends."""
    assert SPAN_US == 10 * MINUTE_US
    assert found(rebalances(spark, [0, 30, 35, 40, 80])) == [("g", 30, 40, 3, 3, "join")]


def test_rebalances_further_apart_are_none(spark: SparkSession) -> None:
    """Three in eleven minutes."""
    assert found(rebalances(spark, [30, 35, 41])) == []


def test_storm_lasts_while_times_touch(spark: SparkSession) -> None:
    """One storm of five with four at most, then another; each group has its own."""
    frame = rebalances(spark, [0, 5, 8, 9, 15, 60, 61, 62]).union(rebalances(spark, [7, 8], "h"))
    assert found(frame) == [("g", 0, 15, 5, 4, "join"), ("g", 60, 62, 3, 3, "join")]


def test_chief_cause_is_the_one_of_most(spark: SparkSession) -> None:
    """Whichever came first, or comes first among words; of equally many the first word."""
    assert found(caused(spark, "join", "leave", "leave"))[0][-1] == "leave"
    assert found(caused(spark, "leave", "join", "leave", "join"))[0][-1] == "join"


def test_storms_call_no_python(spark: SparkSession) -> None:
    """Native expressions only."""
    assert python_nodes(storms(rebalances(spark, [1]))) == []
