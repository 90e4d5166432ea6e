"""Finding numbers that came twice, without sorting."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bridge.analytics.duplicates import (
    counted_words,
    doubtful_words,
    highest_numbers,
    numbered_copies,
    split_doubtful,
    with_word,
)

NUMBERED = "boot string, number long"
KNOWN = "boot string, known long"


def test_log_without_duplicates_has_no_doubtful_word(spark: SparkSession) -> None:
    """Each number of a run once, over many words, with the number 64 and its kin."""
    events = spark.range(1, 300).selectExpr("'b' boot", "id number")
    assert doubtful_words(counted_words(events), spark.createDataFrame([], KNOWN)).collect() == []


def test_word_with_a_number_twice_is_doubtful(spark: SparkSession) -> None:
    """The same number in two runs is no duplicate."""
    events = spark.createDataFrame([("a", 64), ("a", 64), ("a", 65), ("b", 64), ("b", 5)], NUMBERED)
    assert doubtful_words(counted_words(events), spark.createDataFrame([], KNOWN)).collect() == [("a", 1)]


def test_word_that_reaches_back_is_doubtful(spark: SparkSession) -> None:
    """What earlier batches brought ends at 70: 71 is new, 70 may be a copy, or late."""
    events = spark.createDataFrame([("a", 70), ("b", 71)], NUMBERED)
    known = spark.createDataFrame([("a", 70), ("b", 70)], KNOWN)
    assert doubtful_words(counted_words(events), known).collect() == [("a", 1)]


def test_highest_number_is_per_run(spark: SparkSession) -> None:
    """Of each boot."""
    rows = highest_numbers(counted_words(spark.createDataFrame([("a", 3), ("a", 99), ("b", 1)], NUMBERED))).collect()
    assert {row["boot"]: row["highest"] for row in rows} == {"a": 99, "b": 1}


def test_rows_are_split_by_their_words(spark: SparkSession) -> None:
    """Every row is in one of the two halves."""
    rows = spark.createDataFrame([("a", 1), ("a", 64), ("b", 64)], NUMBERED)
    outside, inside = split_doubtful(rows, spark.createDataFrame([("a", 1)], "boot string, word long"))
    assert [frame.select("boot", "number").sort("boot", "number").collect() for frame in (outside, inside)] == [
        [("a", 1), ("b", 64)],
        [("a", 64)],
    ]


def test_first_copy_counts_and_old_ones_do_not(spark: SparkSession) -> None:
    """One copy of each number stays, none of those that an earlier batch brought."""
    rows = spark.createDataFrame(
        [("a", 1, "a-1", "x", "file2"), ("a", 1, "a-1", "x", "file1"), ("a", 2, "a-2", "y", "file1")],
        f"{NUMBERED}, event_id string, value string, source string",
    )
    old = spark.createDataFrame([("a", 2)], NUMBERED)
    copies = numbered_copies(with_word(rows), old).sort("number", "source")
    assert [(row["number"], row["source"], row["reason"]) for row in copies.collect()] == [
        (1, "file1", None),
        (1, "file2", "duplicate"),
        (2, "file1", "duplicate"),
    ]
    assert copies.where(f.col("detail").isNotNull()).count() == 2
