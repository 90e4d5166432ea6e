"""The journal in one SQLite file, written in a worker thread so that nobody waits for the disk who need not; of a
damaged one it goes on with what is whole, and keeps the file beside the new one as it was found.
"""

import logging
import shutil
import sqlite3
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import trio

from bridge.journal import acknowledged, sqlite_schema
from bridge.journal.acknowledged import PRIVATE, Unreadable
from bridge.journal.refusals import JournalDamaged
from bridge.journal.sqlite_file import SQLITE_ERRORS, FileSettings, JournalFile, Opened, open_file, read_blocks
from bridge.ports import Condense, TellsGroups


def recover_file(settings: FileSettings) -> Path | None:
    """Go on with the blocks before the first damaged one; gives where the damaged file is kept, None if all is whole.

    What came behind is lost: its members join anew, and no offset is, since the broker keeps those.
    """
    try:
        with closing(open_file(settings)) as whole:
            for _ in whole.replay():
                pass
    except JournalDamaged:
        return _set_aside(settings)
    return None


def _set_aside(settings: FileSettings) -> Path:
    path = settings.path
    beside = acknowledged.path_beside(path)
    damaged = next(
        name for number in range(1, 1_000_000) if not (name := path.with_name(f"{path.name}.damaged-{number}")).exists()
    )
    kept = _salvage(path, path.with_name(f"{path.name}.reading"))
    try:
        reading = acknowledged.read(beside)
    except Unreadable:
        reading = None
    for suffix in ("-wal", acknowledged.SUFFIX, ""):
        source = path.with_name(path.name + suffix)
        if source.exists():
            source.chmod(PRIVATE)
            source.rename(damaged.with_name(damaged.name + suffix))
    damaged.touch(PRIVATE)
    with closing(open_file(settings)) as renewed:
        renewed.append(kept, () if reading is None else tuple(reading.groups))
    return damaged


def _salvage(path: Path, copy: Path) -> list[bytes]:
    """What is whole of a damaged journal, read from a copy: SQLite changes what it reads."""
    kept: list[bytes] = []
    try:
        for is_mended in (False, True):
            for suffix in ("", "-wal"):
                source = path.with_name(path.name + suffix)
                if source.exists():
                    shutil.copy(source, copy.with_name(copy.name + suffix))
            if not kept and copy.exists():
                _read_copy(copy, kept, is_mended=is_mended)
    finally:
        for suffix in ("-wal", "-shm", ""):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    return kept


def _read_copy(copy: Path, kept: list[bytes], *, is_mended: bool) -> None:
    with suppress(JournalDamaged, *SQLITE_ERRORS):
        if is_mended:
            with closing(sqlite3.connect(copy, isolation_level=None)) as old:
                sqlite_schema.mend(old)
        with closing(sqlite3.connect(copy, isolation_level=None)) as old:
            kept.extend(read_blocks(old, sqlite_schema.read_ends(old)[1]))


OVERGROWN_BYTES = 16_777_216
"""Below this size compaction does not pay."""
GROWTH_FACTOR = 4
THREADS = 2
"""One that writes or reads, and one that condenses meanwhile. They are the journal's own: whatever takes all that
everybody shares, as looking up the names of brokers did where a resolver hangs, groups go on writing.
"""

LOG = logging.getLogger("epochbridge.journal")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Write:
    """An append that begins when it is awaited, and is durable when that returns."""

    journal: "SqliteJournal"
    entries: Collection[bytes]

    def __await__(self) -> Generator[object, object, None]:
        """Write in a thread, which is not left behind on cancellation."""
        return self.journal.write(self.entries).__await__()


class SqliteJournal:
    """See `ports.Journal`; one append at a time, in the order they are awaited."""

    def __init__(self, file: JournalFile, overgrown_bytes: int = OVERGROWN_BYTES) -> None:
        self._file = file
        self._one_at_a_time = trio.Lock()
        self._bytes = 0
        self._condensed_bytes = 0
        self._overgrown_bytes = overgrown_bytes
        self._threads = trio.CapacityLimiter(THREADS)

    def append(self, entries: Collection[bytes]) -> Write:
        """One block, all or none."""
        return Write(self, entries)

    async def write(self, entries: Collection[bytes]) -> None:
        """Write one block and wait for the disk."""
        async with self._one_at_a_time:
            self._bytes += await self._beside(partial(self._append, entries))

    def _append(self, entries: Collection[bytes]) -> int:
        return self._file.append(entries, entries.groups if isinstance(entries, TellsGroups) else ())

    def replay(self) -> Iterator[bytes]:
        """Every entry; raises JournalDamaged where one is not whole."""
        size = 0
        for entry in self._file.replay():
            size += len(entry)
            yield entry
        self._bytes = size

    def is_overgrown(self) -> bool:
        """Whether it is several times what the last compaction left."""
        return self._bytes > max(self._overgrown_bytes, GROWTH_FACTOR * self._condensed_bytes)

    async def compact(self, condense: Condense) -> None:
        """Read under the lock, condense without it, write under it: appends wait for the disk only."""
        async with self._one_at_a_time:
            upto = self._file.last
            entries = await self._beside(lambda: tuple(self._file.replay(upto)))
        before = sum(map(len, entries))
        condensed = await self._beside(lambda: tuple(condense(entries)))
        async with self._one_at_a_time:
            self._condensed_bytes = await self._beside(partial(self._file.replace, upto, condensed))
            self._bytes += self._condensed_bytes - before
        LOG.info("journal condensed from %d entries to %d", len(entries), len(condensed))

    async def _beside(self, work: Callable[[], ResultT]) -> ResultT:
        return await trio.to_thread.run_sync(work, limiter=self._threads)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def open_journal(settings: FileSettings, *, recovers: bool = False) -> SqliteJournal:
    """Open the journal, or begin one; raises `refusals.JournalRefused`.

    With `recovers` a damaged one is set aside, and what was whole of it goes on.
    """
    damaged = recover_file(settings) if recovers else None
    if damaged is not None:
        LOG.error("EB-JOURNAL-005: the journal was damaged and is kept as %s; members it lost join anew", damaged)
    file = open_file(settings)
    _tell(settings, file.opened)
    return SqliteJournal(file)


def _tell(settings: FileSettings, opened: Opened) -> None:
    """What the operator should know of a journal that can be used."""
    if opened.is_upgraded:
        LOG.info(
            "the journal %s is of a release that kept no number beside it: what it lost before today can't be known",
            settings.path,
        )
    if opened.lost is not None:
        LOG.error(
            "EB-JOURNAL-008: of the journal %s %s; the machine went down, and journal.sync is normal: members of these "
            "groups join anew",
            settings.path,
            opened.lost,
        )
    elif opened.cut_frames:
        LOG.warning(
            "EB-JOURNAL-006: the last append was cut off (%d pages dropped); nobody had been told of it",
            opened.cut_frames,
        )
    if opened.behind > 1:
        LOG.warning(
            "EB-JOURNAL-009: the number beside the journal %s lacked its last %d blocks: it was exchanged for an older "
            "copy, or lost its end with the machine; nothing is missing",
            settings.path,
            opened.behind,
        )
