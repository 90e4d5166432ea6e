"""Lines become rows of `events` and `rejected`, once each, however often a batch is tried."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from bridge.analytics.intake.column_files import FOLDER as COLUMNS
from bridge.analytics.intake.column_files import (
    Adopted,
    Makers,
    can_take,
    is_at_hand,
    is_large,
    take_afar,
    take_columns,
)
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
from bridge.analytics.intake.numbers import Seen, grown, read_seen, written_seen
from bridge.analytics.intake.reading import (
    LINE,
    REASON,
    SOURCE,
    accepted,
    judged,
    parsed,
    refused,
    refused_long,
    unlike,
)
from bridge.analytics.spark.column_types import table_schema
from bridge.analytics.spark.writing import require_here, watched
from bridge.analytics.stretches.files import Account
from bridge.analytics.tables.definitions import EVENTS, REJECTED
from bridge.analytics.tables.store import NEXT, Staged, Store
from bridge.analytics.tables.table_log import NOTHING_YET

FOLDER, JUDGED = "lines", "judged"
AREAS = (FOLDER, JUDGED, COLUMNS)
"""What lies beside the tables while a batch is taken: lines, what Spark made of them, what Arrow made of them."""
OF_SOURCE = f"{SOURCE}="
"""So Spark names a folder for the files of a source; the names of topics need no escapes there."""


def written_down(store: Store, records: DataFrame) -> Delivery:
    """Records (`LINE`, `SOURCE`) as files beside the tables, a folder for each source; what was there before is gone.

    Spark splits lines where Python does, so a record of several lines is several lines to both. Raise AnalyticsError
    where not all of them are here then.
    """
    folder = store.path(NEXT, FOLDER)
    rows = records.select(LINE, SOURCE)
    line_bytes = f.coalesce(f.octet_length(LINE), f.lit(0)) + f.lit(len("\n"))
    seen, count = watched(rows, line_bytes) if store.has_far_disks else (rows, lambda: 0)
    seen.write.mode("overwrite").option("compression", "none").partitionBy(SOURCE).text(folder)
    lines = store.spark.read.schema(f"{LINE} string, {SOURCE} string").text(folder)
    paths = sorted(Path(folder).glob(f"{OF_SOURCE}*/part-*"))
    require_here(count(), sum(path.stat().st_size for path in paths), "bytes", folder)
    return Delivery(lines, tuple(LogFile(str(path), path.parent.name.removeprefix(OF_SOURCE)) for path in paths))


FIRST_BATCH = 0
"""Of a stream, and the only one of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What came of a batch: what was refused, and whether a number came twice; what its events tell of tables, None
    where that is not known, the files of `events` that this is of, and the others; the sources of files that were
    deleted before all of them was read.
    """

    refused: int
    is_doubtful: bool
    told: Account | None = None
    told_of: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a batch brings: files of `events`, rows for `rejected`, and what came of each run with it."""

    taken: Taken
    staged: Collection[Staged]
    refused: DataFrame | None
    seen: dict[str, Seen]


@dataclass(slots=True)
class Intake:
    """Takes batches one after another; it keeps in mind what came of each run, which the store can tell.

    What `is_anew` begins the tables anew with its first batch, and is nobody's stream.
    """

    store: Store
    seen: dict[str, Seen]
    makers: Makers = field(default_factory=Makers)
    is_anew: bool = False

    def take(self, delivery: Delivery, batch: int, *, is_asked: bool = True) -> Taken:
        """Let one batch become part of the tables, all or nothing, unless an earlier attempt at it has done so.

        The lines are read once, but for what is refused; if a number came twice, all are read again. Where nothing is
        left for Spark to judge and every number is new, Spark has nothing to do. A run, and a large batch of a stream,
        `is_asked` what its events tell of tables: a small one costs less than the answer.
        """
        if not self.is_anew and batch <= self.store.log(EVENTS).done():
            return Taken(refused=0, is_doubtful=False)
        self._clear()
        delivery = self._at_hand(delivery)
        is_told = is_asked and (self.is_anew or is_large(delivery.files))
        adopted = self._adopted(delivery, batch, is_told=is_told)
        is_told = adopted.left is None and adopted.numbers is not None
        after = grown(self.seen, adopted.numbers or ()) if is_told else None
        if after is None:
            found = self._counted(delivery, adopted, batch)
        else:
            taken = Taken(refused=len(adopted.long_lines), is_doubtful=False, told=adopted.told)
            refused = self._with_long(None, adopted, batch)
            found = _Found(taken=taken, staged=adopted.staged, refused=refused, seen=after)
        paths = self._commit(found, batch)
        self._clear()
        taken = replace(found.taken, gone=adopted.gone)
        if taken.told is None:
            return taken
        count = len(adopted.staged)
        return replace(taken, told_of=tuple(paths[:count]), untold=tuple(paths[count:]))

    def _clear(self) -> None:
        """The text of strangers is not kept; tables may be made at the same time, whose files are let be."""
        for area in AREAS:
            self.store.clear_folder(NEXT, area)

    def _commit(self, found: _Found, batch: int) -> list[str]:
        """What was set aside first: whoever dies before the events are in tries the batch again."""
        self._set_aside(found.refused, batch)
        self.seen.update(found.seen)
        if self.is_anew:
            return self.store.commit(EVENTS, found.staged, self.store.log(EVENTS).files())
        return self.store.commit(EVENTS, found.staged, done=batch, note=written_seen(self.seen))

    def _set_aside(self, refused: DataFrame | None, batch: int) -> None:
        if refused is None:
            if self.is_anew:
                self.store.replace_by(REJECTED, ())
        elif self.is_anew:
            self.store.replace(REJECTED, refused)
        else:
            self.store.put_batch(REJECTED, refused, batch)

    def _counted(self, delivery: Delivery, adopted: Adopted, batch: int) -> _Found:
        """Judge the lines that are left, and let Spark count the numbers of the batch."""
        judging = [] if adopted.left is None else self.store.stage(EVENTS, judged(adopted.left, batch), JUDGED)
        staged = [*adopted.staged, *(one for one in judging if one.day is not None)]
        refusals = self.store.count_staged([one for one in judging if one.day is None])
        numbered = self.store.read_staged(_numbered(), staged)
        counts = counted_words(numbered).localCheckpoint()
        words = doubtful_words(counts, self._known_numbers())
        is_doubtful = not words.isEmpty()
        refused: DataFrame | None
        if is_doubtful:
            staged, refused = self._again(delivery.lines, batch, words.localCheckpoint())
        else:
            told = self._refused(adopted.left, batch, refusals) if adopted.left is not None and refusals else None
            refused = self._with_long(told, adopted, batch)
        return _Found(
            taken=Taken(
                refused=refusals + len(adopted.long_lines),
                is_doubtful=is_doubtful,
                told=None if is_doubtful else adopted.told,
            ),
            staged=staged,
            refused=refused,
            seen=seen_in(map(tuple, recent_words(counts).collect()), self.seen),
        )

    def _with_long(self, refused: DataFrame | None, adopted: Adopted, batch: int) -> DataFrame | None:
        """What is refused, with the lines that were too long to be handed on."""
        if not adopted.long_lines:
            return refused
        long_lines = refused_long(self.store.spark, adopted.long_lines, batch)
        return long_lines if refused is None else refused.unionByName(long_lines)

    def close(self) -> None:
        """Let go of what is kept for further batches."""
        self.makers.close()

    def _at_hand(self, delivery: Delivery) -> Delivery:
        """Records as files, where Arrow can read those, here or on executors: quicker to write down than to be read by
        Spark.
        """
        if delivery.records is None:
            return delivery
        can_read = is_at_hand(self.store) or self.makers.can_executors(self.store, ())
        return written_down(self.store, delivery.records) if can_read else delivery

    def _adopted(self, delivery: Delivery, batch: int, *, is_told: bool) -> Adopted:
        """Take what Arrow can; all of it is left for Spark where the files are not at hand."""
        if can_take(self.store, delivery.files):
            return take_columns(self.store, delivery.files, batch, self.makers, is_told=is_told)
        if delivery.files and self.makers.can_executors(self.store, delivery.files):
            adopted = take_afar(self.store, delivery.files, batch, self.makers, is_told=is_told)
            if adopted is not None:
                return adopted
        return Adopted(left=delivery.lines, numbers=None)

    def _refused(self, lines: DataFrame, batch: int, refusals: int) -> DataFrame:
        """What is wrong with what was refused, in the sources that look like it; that failing, in all of them."""
        sources = unlike(lines).select(SOURCE).distinct()
        told = refused(parsed(lines.join(f.broadcast(sources), SOURCE, "left_semi")), batch).localCheckpoint()
        return refused(parsed(lines), batch) if told.count() < refusals else told

    def _again(self, lines: DataFrame, batch: int, words: DataFrame) -> tuple[list[Staged], DataFrame]:
        """Files of `events` without what came before, and rows for `rejected`."""
        rows = parsed(lines)
        outside, inside = split_doubtful(rows.where(f.col(REASON).isNull()), words)
        before = self._earlier(batch).join(f.broadcast(words.select("boot")), "boot", "left_semi")
        copies = numbered_copies(inside, before)
        once = accepted(outside, batch).unionByName(accepted(copies, batch))
        staged = self.store.stage(EVENTS, once, JUDGED)
        return staged, refused(rows, batch).unionByName(refused(copies, batch))

    def _earlier(self, batch: int) -> DataFrame:
        return self.store.read_batches(EVENTS, NOTHING_YET, NOTHING_YET if self.is_anew else batch - 1)

    def _known_numbers(self) -> DataFrame:
        known = [(boot, seen.highest) for boot, seen in self.seen.items()]
        return self.store.spark.createDataFrame(known, "boot string, known long")


def _numbered() -> StructType:
    """The columns by which events are told apart."""
    return StructType([one for one in table_schema(EVENTS) if one.name in {"boot", "number"}])


def intake_after(store: Store) -> Intake:
    """An intake that knows what the batches so far have brought: by what the last one has noted, else by all events."""
    log = store.log(EVENTS)
    noted, done = log.note(), log.done()
    if noted:
        return Intake(store, read_seen(noted))
    if done == NOTHING_YET:
        return Intake(store, {})
    earlier = store.read_batches(EVENTS, NOTHING_YET, done)
    return Intake(store, seen_in(map(tuple, recent_words(counted_words(earlier)).collect()), {}))
