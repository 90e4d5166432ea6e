"""Lines become rows of `events` and `rejected`, once each, however often a batch is tried.

It must not know where lines come from, nor what is made of the events.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as f

from bridge.analytics.duplicates import doubtful_words, highest_numbers, numbered_copies, split_doubtful
from bridge.analytics.reading import REASON, accepted, parsed, refused
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

        The lines are read once. Only if some are refused, or if a number came twice, they are read again.
        """
        for table in (EVENTS, REJECTED):
            self.store.clear_batch(table, batch)
        seen = Observation()
        counts = (f.count("*").alias("lines"), f.count(REASON).alias("refused"))
        self.store.append(EVENTS, parsed(lines).observe(seen, *counts).transform(accepted, batch))
        refusals = int(seen.get["refused"])
        words = doubtful_words(self._batch(batch), self._known_numbers()).localCheckpoint()
        is_doubtful = not words.isEmpty()
        if is_doubtful:
            self._write_again(lines, batch, words)
        elif refusals:
            self.store.append(REJECTED, refused(parsed(lines), batch))
        self._remember(batch)
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

    def _batch(self, batch: int) -> DataFrame:
        return self.store.read(EVENTS).where(f.col(BATCH) == batch)

    def _known_numbers(self) -> DataFrame:
        return self.store.spark.createDataFrame(list(self.highest.items()), "boot string, highest long")

    def _remember(self, batch: int) -> None:
        for boot, highest in highest_numbers(self._batch(batch)).collect():
            self.highest[boot] = max(highest, self.highest.get(boot, -1))


def intake_after(store: Store, batch: int) -> Intake:
    """An intake that knows what the batches before this one brought."""
    earlier = store.read(EVENTS).where(f.col(BATCH) < batch)
    return Intake(store, dict(map(tuple, highest_numbers(earlier).collect())))
