"""Lines become rows of `events` and `rejected`, once each, however often a batch is tried.

It must not know where lines come from, nor what is made of the events.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as f

from bridge.analytics.duplicates import counted_words, doubtful_words, highest_numbers, numbered_copies, split_doubtful
from bridge.analytics.reading import IS_EVENT, REASON, SOURCE, accepted, events_among, judged, parsed, refused
from bridge.analytics.store import Store
from bridge.analytics.tables import BATCH, EVENTS, REJECTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What came of a batch: lines read, lines refused, and whether a number came twice."""

    lines: int
    refused: int
    is_doubtful: bool


@dataclass(slots=True)
class Intake:
    """Takes batches one after another; it keeps the highest number of each run in mind, which the store can tell."""

    store: Store
    highest: dict[str, int]

    def take(self, lines: DataFrame, batch: int) -> Taken:
        """Write one batch, in place of what an earlier attempt at it left.

        The lines are read once. What is refused is read again, from the sources that have some of it; all lines are, if
        a number came twice.
        """
        for table in (EVENTS, REJECTED):
            self.store.clear_batch(table, batch)
        seen = Observation()
        self.store.append(EVENTS, judged(lines).observe(seen, *_told()).transform(events_among, batch))
        refusals = int(seen.get["refused"])
        counts = counted_words(self.store.read(EVENTS).where(f.col(BATCH) == batch)).localCheckpoint()
        words = doubtful_words(counts, self._known_numbers())
        is_doubtful = not words.isEmpty()
        if is_doubtful:
            self._write_again(lines, batch, words.localCheckpoint())
        elif refusals:
            suspects = lines.where(f.col(SOURCE).between(seen.get["least"], seen.get["most"]))
            self.store.append(REJECTED, refused(parsed(suspects), batch))
        self._remember(counts)
        return Taken(lines=int(seen.get["lines"]), refused=refusals, is_doubtful=is_doubtful)

    def _write_again(self, lines: DataFrame, batch: int, words: DataFrame) -> None:
        rows = parsed(lines)
        outside, inside = split_doubtful(rows.where(f.col(REASON).isNull()), words)
        earlier = self.store.read(EVENTS).where(f.col(BATCH) < batch)
        before = earlier.join(f.broadcast(words.select("boot")), "boot", "left_semi")
        copies = numbered_copies(inside, before)
        self.store.clear_batch(EVENTS, batch)
        self.store.append(EVENTS, accepted(outside, batch).unionByName(accepted(copies, batch)))
        self.store.append(REJECTED, refused(rows, batch).unionByName(refused(copies, batch)))

    def _known_numbers(self) -> DataFrame:
        return self.store.spark.createDataFrame(list(self.highest.items()), "boot string, known long")

    def _remember(self, counts: DataFrame) -> None:
        for boot, highest in highest_numbers(counts).collect():
            self.highest[boot] = max(highest, self.highest.get(boot, -1))


def intake_after(store: Store, batch: int) -> Intake:
    """An intake that knows what the batches before this one brought."""
    earlier = store.read(EVENTS).where(f.col(BATCH) < batch)
    return Intake(store, dict(map(tuple, highest_numbers(counted_words(earlier)).collect())))


def _told() -> list[Column]:
    """Of judged rows: how many there are, how many of them are refused, and between which sources those lie."""
    is_refused = ~f.col(IS_EVENT)
    strange = f.when(is_refused, f.col(SOURCE))
    return [
        f.count("*").alias("lines"),
        f.count_if(is_refused).alias("refused"),
        f.min(strange).alias("least"),
        f.max(strange).alias("most"),
    ]
