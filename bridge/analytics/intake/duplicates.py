"""Which events came more than once, found without sorting them: 64 numbers of a run share one word of bits.

The same rows give the same choice, whatever their order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from bridge.analytics.intake.numbers import Numbers, Seen
from bridge.analytics.intake.reading import DETAIL, LINE, REASON, SOURCE

DUPLICATE = "duplicate"
WORD, WORD_BITS = "word", 64
RECENT = 2**18
"""So far back a run's numbers are told one by one after a restart; partitions of a topic may be that far apart."""
_PLACE = "place"
_IS_OLD = "is_old"


def with_word(rows: DataFrame) -> DataFrame:
    """Rows with the word their number falls into."""
    return rows.withColumn(WORD, f.floor(f.col("number") / f.lit(WORD_BITS)))


def counted_words(events: DataFrame) -> DataFrame:
    """Per word (`boot`, `word`) its `bits`, how many numbers it has (`n`), and the `lowest` and `highest` of them."""
    bit = f.expr(f"shiftleft(1L, cast(pmod(number, {WORD_BITS}) as int))")
    return (
        with_word(events.select("boot", "number"))
        .groupBy("boot", WORD)
        .agg(
            f.bit_or(bit).alias("bits"),
            f.count("*").alias("n"),
            f.min("number").alias("lowest"),
            f.max("number").alias("highest"),
        )
    )


def doubtful_words(counts: DataFrame, known: DataFrame) -> DataFrame:
    """The words (`boot`, `word`) in which a number came twice, or that reach back to what earlier batches brought.

    `known` has `boot` and the `known` highest number of it. A run numbers its events without gaps, so in a log without
    duplicates no word is doubtful.
    """
    told = counts.join(f.broadcast(known), "boot", "left")
    is_twice = f.col("n") != f.bit_count("bits")
    is_late = f.col("lowest") <= f.coalesce("known", f.lit(-1))
    return told.where(is_twice | is_late).select("boot", WORD)


def recent_words(counts: DataFrame) -> DataFrame:
    """The words (`boot`, `word`, `bits`) that hold one of the last `RECENT` numbers of a run, and the `last` of it."""
    last = counts.groupBy("boot").agg(f.max("highest").alias("last"))
    is_recent = (f.col(WORD) + 1) * WORD_BITS > f.col("last") - RECENT
    return counts.join(f.broadcast(last), "boot").where(is_recent).select("boot", WORD, "bits", "last")


def seen_in(words: Iterable[tuple[str, int, int, int]], before: Mapping[str, Seen]) -> dict[str, Seen]:
    """What came of each run by its recent words; of what is older than those, everything counts as come."""
    after: dict[str, Seen] = {}
    for boot, rows in groupby(sorted(words), itemgetter(0)):
        parts = list(rows)
        first, last = parts[0][1], parts[0][3]
        bits = b"".join(_words_between(parts))
        numbers = Numbers(first * WORD_BITS, int.from_bytes(bits, "little"))
        after[boot] = before.get(boot, Seen()).including(numbers, last - RECENT)
    return after


def _words_between(parts: Sequence[tuple[str, int, int, int]]) -> Iterator[bytes]:
    """The bits of words in order, 0 for those that are not there."""
    known = {word: bits for _, word, bits, _ in parts}
    words = range(min(known), max(known) + 1)
    return (known.get(word, 0).to_bytes(WORD_BITS // 8, "little", signed=True) for word in words)


def split_doubtful(rows: DataFrame, words: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Parsed rows outside and inside the doubtful words."""
    marked = with_word(rows).join(f.broadcast(words.withColumn("is_doubtful", f.lit(True))), ["boot", WORD], "left")
    inside = f.coalesce("is_doubtful", f.lit(False))
    return marked.where(~inside), marked.where(inside)


def numbered_copies(doubtful: DataFrame, old: DataFrame) -> DataFrame:
    """Doubtful rows with a reason against all copies but the first, and against those in `old` (`boot`, `number`).

    Copies are alike, so which one counts as the first must only be the same every time: the smallest source.
    """
    known = old.select("boot", "number").distinct().withColumn(_IS_OLD, f.lit(True))
    order = Window.partitionBy("boot", "number").orderBy(SOURCE, LINE)
    placed = doubtful.join(known, ["boot", "number"], "left").withColumn(_PLACE, f.row_number().over(order))
    return placed.withColumns({REASON: f.when(_is_surplus(), DUPLICATE), DETAIL: f.when(_is_surplus(), _words())})


def _is_surplus() -> Column:
    return (f.col(_PLACE) > 1) | f.coalesce(_IS_OLD, f.lit(False))


def _words() -> Column:
    return f.concat(f.lit("event "), f.col("event_id"), f.lit(" came before"))
