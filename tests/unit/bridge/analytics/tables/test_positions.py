"""The order of events over restarts, the time between them, clocks that jump."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bridge.analytics.tables.positions import SORT_KEY, clock_jumps, elapsed_us, keyed, moment, positioned, runs

CLOCKS = "event_id string, boot string, number long, wall_us long, mono_us long"


def frame(spark: SparkSession, rows: list[tuple[str, int, int, int]]) -> DataFrame:
    """Events of nothing but stamps: boot, number, wall, mono."""
    return spark.createDataFrame([(f"{boot}-{n}", boot, n, wall, mono) for boot, n, wall, mono in rows], CLOCKS)


def test_runs_are_in_order_of_their_begin(spark: SparkSession) -> None:
    """Boot ids say nothing about time."""
    rows = frame(spark, [("z", 1, 100, 0), ("a", 1, 200, 0), ("a", 2, 50, 9)])
    assert {row["boot"]: row["run"] for row in runs(rows).collect()} == {"z": 1, "a": 2}


def test_events_are_ordered_by_run_and_number(spark: SparkSession) -> None:
    """Also where the wall clock went back in between."""
    rows = frame(spark, [("z", 1, 100, 0), ("z", 2, 40, 9), ("a", 1, 200, 0)])
    ordered = positioned(rows, runs(rows)).sort("seq").collect()
    assert [row["event_id"] for row in ordered] == ["z-1", "z-2", "a-1"]


def test_time_is_monotonic_in_a_run_and_wall_between_runs(spark: SparkSession) -> None:
    """A clock that jumped back makes no negative duration."""
    rows = frame(spark, [("z", 1, 100, 0), ("z", 2, 40, 9), ("a", 1, 300, 0)])
    ordered = positioned(rows, runs(rows)).withColumn("at", moment())
    first = ordered.where("event_id = 'z-1'").select(f.col("at").alias("begin"))
    pairs = first.crossJoin(ordered).select("event_id", elapsed_us(f.col("begin"), f.col("at")).alias("us"))
    assert {row["event_id"]: row["us"] for row in pairs.collect()} == {"z-1": 0, "z-2": 9, "a-1": 200}


def test_names_have_a_key_of_their_own_each(spark: SparkSession) -> None:
    """Also where one is missing, or the same names stand the other way round; equal names have the same."""
    names = [("a", "b"), ("b", "a"), ("a", None), (None, "a"), ("a", ""), ("", "a"), ("ab", ""), (None, None)]
    rows = keyed(spark.createDataFrame([*names, *names], "group_id string, partition string"), "group_id", "partition")
    keys = {tuple(row[name] for name in ("group_id", "partition", *SORT_KEY)) for row in rows.collect()}
    assert len(keys) == len(names)
    assert all(len({key[place] for key in keys}) == len(names) for place in (2, 3))


def test_clock_that_went_back_is_noted_once(spark: SparkSession) -> None:
    """Issue: the event after the jump, not everything that follows; small corrections are none."""
    times = [
        ("b", n, n * 1000 - (3_000_000 if n > 5 else 0) - (50_000 if n > 8 else 0), n * 1000) for n in range(1, 12)
    ]
    (row,) = clock_jumps(frame(spark, times)).collect()
    assert (row["event_id"], row["reason"], row["batch"]) == ("b-6", "clock-jumped-back", -1)
    assert "3.000 s" in row["detail"]


def test_clock_that_went_back_between_two_chunks_is_noted(spark: SparkSession) -> None:
    """The chunk before is looked at too."""
    times = [("b", n, n * 1000 - (3_000_000 if n >= 4096 else 0), n * 1000) for n in range(4000, 4200)]
    assert [row["event_id"] for row in clock_jumps(frame(spark, times)).collect()] == ["b-4096"]


def test_clock_that_went_forward_is_no_fault(spark: SparkSession) -> None:
    """A jump ahead loses nothing."""
    times = [("b", n, n * 1000 + (3_000_000 if n > 5 else 0), n * 1000) for n in range(1, 12)]
    assert clock_jumps(frame(spark, times)).collect() == []
