"""Lines become rows of `events` and `rejected`, once each, however often a batch is tried."""

from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.intake.column_files import Adopted, Makers, can_take, forget_left_over, is_at_hand, take_columns
from bridge.analytics.intake.columns import LogFile
from bridge.analytics.intake.delivery import Delivery
from bridge.analytics.intake.duplicates import (
    counted_words,
    doubtful_words,
    numbered_copies,
    recent_words,
    seen_in,
    split_doubtful,
)
from bridge.analytics.intake.numbers import Seen, grown
from bridge.analytics.intake.reading import LINE, REASON, SOURCE, accepted, judged, parsed, refused, unlike
from bridge.analytics.tables.definitions import BATCH, EVENTS, REJECTED
from bridge.analytics.tables.store import NEXT, Store

FOLDER = "lines"
OF_SOURCE = f"{SOURCE}="
"""So Spark names a folder for the files of a source; the names of topics need no escapes there."""


def written_down(store: Store, records: DataFrame) -> Delivery:
    """Records (`LINE`, `SOURCE`) as files beside the tables, a folder for each source; what was there before is gone.

    Spark splits lines where Python does, so a record of several lines is several lines to both.
    """
    folder = store.path(NEXT, FOLDER)
    records.select(LINE, SOURCE).write.mode("overwrite").option("compression", "none").partitionBy(SOURCE).text(folder)
    lines = store.spark.read.schema(f"{LINE} string, {SOURCE} string").text(folder)
    paths = sorted(Path(folder).glob(f"{OF_SOURCE}*/part-*"))
    return Delivery(lines, tuple(LogFile(str(path), path.parent.name.removeprefix(OF_SOURCE)) for path in paths))


def forget_lines(store: Store) -> None:
    """Remove the files: the text of strangers is not kept."""
    store.clear_folder(NEXT, FOLDER)


FIRST_BATCH = 0
"""Of a stream, and the only one of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What came of a batch: what was refused, and whether a number came twice."""

    refused: int
    is_doubtful: bool


@dataclass(slots=True)
class Intake:
    """Takes batches one after another; it keeps in mind what came of each run, which the store can tell."""

    store: Store
    seen: dict[str, Seen]
    makers: Makers = field(default_factory=Makers)

    def take(self, delivery: Delivery, batch: int) -> Taken:
        """Write one batch, in place of what an earlier attempt at it left.

        The lines are read once, but for what is refused; if a number came twice, all are read again. Where nothing is
        left for Spark to judge and every number is new, Spark has nothing to do.
        """
        for table in (EVENTS, REJECTED):
            self.store.clear_batch(table, batch)
        delivery = self._at_hand(delivery)
        adopted = self._adopted(delivery, batch)
        is_told = adopted.left is None and adopted.numbers is not None
        after = grown(self.seen, adopted.numbers or ()) if is_told else None
        if after is None:
            taken = self._take_counted(delivery, adopted.left, batch)
        else:
            self.seen.update(after)
            taken = Taken(refused=0, is_doubtful=False)
        forget_left_over(self.store)
        forget_lines(self.store)
        return taken

    def _take_counted(self, delivery: Delivery, lines: DataFrame | None, batch: int) -> Taken:
        """Judge the lines that are left, and let Spark count the numbers of the batch."""
        refusals = 0 if lines is None else self._judge(lines, batch)
        counts = counted_words(self.store.read(EVENTS).where(f.col(BATCH) == batch)).localCheckpoint()
        words = doubtful_words(counts, self._known_numbers())
        is_doubtful = not words.isEmpty()
        if is_doubtful:
            self._write_again(delivery.lines, batch, words.localCheckpoint())
        elif lines is not None and refusals:
            self._set_aside(lines, batch, refusals)
        self.seen.update(seen_in(map(tuple, recent_words(counts).collect()), self.seen))
        return Taken(refused=refusals, is_doubtful=is_doubtful)

    def close(self) -> None:
        """Let go of what is kept for further batches."""
        self.makers.close()

    def _at_hand(self, delivery: Delivery) -> Delivery:
        """Records as files, where Arrow can read those: quicker to write down than to be read by Spark."""
        if delivery.records is None or not is_at_hand(self.store):
            return delivery
        return written_down(self.store, delivery.records)

    def _adopted(self, delivery: Delivery, batch: int) -> Adopted:
        """Take what Arrow can; all of it is left for Spark where the files are not at hand."""
        if can_take(self.store, delivery.files):
            return take_columns(self.store, delivery.files, batch, self.makers)
        return Adopted(left=delivery.lines, numbers=None)

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
        known = [(boot, seen.highest) for boot, seen in self.seen.items()]
        return self.store.spark.createDataFrame(known, "boot string, known long")


def intake_after(store: Store, batch: int) -> Intake:
    """An intake that knows what the batches before this one brought."""
    if batch == FIRST_BATCH:
        return Intake(store, {})
    earlier = store.read(EVENTS).where(f.col(BATCH) < batch)
    return Intake(store, seen_in(map(tuple, recent_words(counted_words(earlier)).collect()), {}))
