"""Lines become rows of `events` and `rejected`, once each, however often a batch is tried.

It must not know where lines come from, nor what is made of the events.
"""

from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.column_files import Makers, can_take, forget_left_over, is_at_hand, take_columns
from bridge.analytics.delivery import Delivery
from bridge.analytics.duplicates import counted_words, doubtful_words, highest_numbers, numbered_copies, split_doubtful
from bridge.analytics.line_files import forget_lines, written_down
from bridge.analytics.reading import REASON, SOURCE, accepted, judged, parsed, refused, unlike
from bridge.analytics.store import Store
from bridge.analytics.tables import BATCH, EVENTS, REJECTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What came of a batch: what was refused, and whether a number came twice."""

    refused: int
    is_doubtful: bool


@dataclass(slots=True)
class Intake:
    """Takes batches one after another; it keeps the highest number of each run in mind, which the store can tell."""

    store: Store
    highest: dict[str, int]
    makers: Makers = field(default_factory=Makers)

    def take(self, delivery: Delivery, batch: int) -> Taken:
        """Write one batch, in place of what an earlier attempt at it left.

        The lines are read once, but for what is refused; if a number came twice, all are read again.
        """
        for table in (EVENTS, REJECTED):
            self.store.clear_batch(table, batch)
        delivery = self._at_hand(delivery)
        lines = self._left_over(delivery, batch)
        refusals = 0 if lines is None else self._judge(lines, batch)
        counts = counted_words(self.store.read(EVENTS).where(f.col(BATCH) == batch)).localCheckpoint()
        words = doubtful_words(counts, self._known_numbers())
        is_doubtful = not words.isEmpty()
        if is_doubtful:
            self._write_again(delivery.lines, batch, words.localCheckpoint())
        elif lines is not None and refusals:
            self._set_aside(lines, batch, refusals)
        self._remember(counts)
        forget_left_over(self.store)
        forget_lines(self.store)
        return Taken(refused=refusals, is_doubtful=is_doubtful)

    def close(self) -> None:
        """Let go of what is kept for further batches."""
        self.makers.close()

    def _at_hand(self, delivery: Delivery) -> Delivery:
        """Records as files, where Arrow can read those: quicker to write down than to be read by Spark."""
        if delivery.records is None or not is_at_hand(self.store):
            return delivery
        return written_down(self.store, delivery.records)

    def _left_over(self, delivery: Delivery, batch: int) -> DataFrame | None:
        """Take what Arrow can; what Spark has to read then, None if that is nothing."""
        if can_take(self.store, delivery.files):
            return take_columns(self.store, delivery.files, batch, self.makers)
        return delivery.lines

    def _judge(self, lines: DataFrame, batch: int) -> int:
        self.store.append(EVENTS, judged(lines, batch))
        return self.store.take_out_undated(EVENTS, batch)

    def _set_aside(self, lines: DataFrame, batch: int, refusals: int) -> None:
        """Say what is wrong with what was refused, in the sources that look like it; that failing, in all of them."""
        sources = unlike(lines).select(SOURCE).distinct()
        self.store.append(REJECTED, refused(parsed(lines.join(f.broadcast(sources), SOURCE, "left_semi")), batch))
        if self.store.read(REJECTED).where(f.col(BATCH) == batch).count() < refusals:
            self.store.clear_batch(REJECTED, batch)
            self.store.append(REJECTED, refused(parsed(lines), batch))

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
