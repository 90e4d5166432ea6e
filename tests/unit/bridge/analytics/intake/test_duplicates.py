"""Finding numbers that came twice, without sorting."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bridge.analytics.intake.duplicates import (
    RECENT,
    counted_words,
    doubtful_words,
    numbered_copies,
    recent_words,
    seen_in,
    split_doubtful,
    with_word,
)
from bridge.analytics.intake.numbers import Seen
from bridge.analytics.intake.reading import DETAIL, REASON

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


def _seen(spark: SparkSession, numbered: list[tuple[str, int]]) -> dict[str, Seen]:
    words = recent_words(counted_words(spark.createDataFrame(numbered, NUMBERED)))
    return seen_in(map(tuple, words.collect()), {"b": Seen(2)})


def test_numbers_of_a_run_are_remembered_one_by_one(spark: SparkSession) -> None:
    """Also the last of a word, and over words that are not there."""
    numbered = [("a", 1), ("a", 63), ("a", 300), ("b", 2), ("b", 3)]
    assert _seen(spark, numbered) == {"a": Seen(1, 1 << 61 | 1 << 298), "b": Seen(3)}


def test_of_what_is_long_ago_everything_counts_as_come(spark: SparkSession) -> None:
    """A stream that is started anew does not hold all numbers of a long run."""
    last = 5 * RECENT
    assert _seen(spark, [("a", 7), ("a", last - RECENT), ("a", last - RECENT + 2), ("a", last)]) == {
        "a": Seen(last - RECENT, 1 << 1 | 1 << (RECENT - 1))
    }


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
    assert [(row["number"], row["source"], row[REASON]) for row in copies.collect()] == [
        (1, "file1", None),
        (1, "file2", "duplicate"),
        (2, "file1", "duplicate"),
    ]
    assert copies.where(f.col(DETAIL).isNotNull()).count() == 2
