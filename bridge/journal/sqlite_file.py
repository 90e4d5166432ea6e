"""One SQLite file with numbered blocks of entries: opened by one process, checked, appended to, shortened.

It must not know what entries mean, nor tasks and threads.
"""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bridge.journal.packing import BrokenBlock, checksum, pack, unpack
from bridge.journal.refusals import JournalDamaged, JournalForeign, JournalInUse, JournalRefused
from bridge.journal.wal_tail import WalScan, scan_wal
from bridge.ports import JournalFull, JournalUnavailable

APPLICATION_ID = 0x45424A4E
"""Marks the file as a journal of the bridge (`EBJN`)."""
SCHEMA_VERSION = 1
NUMBER_MAX = 2**63 - 1
PAGE_BYTES = 4096
SYNC_MODES = {"full": "FULL", "normal": "NORMAL"}
RECOVER_HINT = "start once with `epochbridge serve --recover` to go on with what is whole (the damaged file is kept)"
_NEXT_BLOCK = "SELECT number, entries, checksum FROM block WHERE number >= ? ORDER BY number LIMIT 1"
_SCHEMA = (
    "CREATE TABLE block (number INTEGER PRIMARY KEY, entries BLOB NOT NULL, checksum INTEGER NOT NULL) STRICT",
    "CREATE TABLE head (only INTEGER PRIMARY KEY CHECK (only = 0), first INTEGER NOT NULL) STRICT",
    "INSERT INTO head VALUES (0, 1)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """Where it is, whether an append waits for the disk (`full`) or not (`normal`), how large it may get."""

    path: Path
    sync: str = "full"
    bytes_max: int = 1_073_741_824


class JournalFile:
    """An open journal; every method may raise JournalUnavailable, JournalFull where there is no room."""

    def __init__(self, connection: sqlite3.Connection, cut_frames: int, last: int) -> None:
        self.cut_frames = cut_frames
        self._connection = connection
        self._last = last

    @property
    def last(self) -> int:
        """The number of the newest block, 0 for none yet."""
        return self._last

    def append(self, entries: Collection[bytes]) -> int:
        """Write one block, durable when this returns; gives its size in bytes."""
        block, number = pack(entries), self._last + 1
        with self._transaction():
            self._insert(number, block)
        self._last = number
        return len(block)

    def replay(self, upto: int | None = None) -> Iterator[bytes]:
        """Every entry of every block up to this number in the order written; raises JournalDamaged where one is not
        whole.
        """
        last = self._last if upto is None else upto
        try:
            yield from self._read(last)
        except sqlite3.DatabaseError as problem:
            raise JournalDamaged(_damage(f"SQLite can't read it ({problem})")) from problem

    def replace(self, upto: int, entries: Collection[bytes]) -> int:
        """Put one block in the place of all up to this number; gives its size in bytes."""
        block = pack(entries)
        with self._transaction():
            self._connection.execute("DELETE FROM block WHERE number <= ?", (upto,))
            self._insert(upto, block)
            self._connection.execute("UPDATE head SET first = ?", (upto,))
        return len(block)

    def close(self) -> None:
        """Let go of the file; the write-ahead log goes into it."""
        self._connection.close()

    def _insert(self, number: int, block: bytes) -> None:
        self._connection.execute("INSERT INTO block VALUES (?, ?, ?)", (number, block, checksum(number, block)))

    def _read(self, last: int) -> Iterator[bytes]:
        (expected,) = self._connection.execute("SELECT first FROM head").fetchone()
        while expected <= last:
            # One query a block: a replay that is given up leaves no cursor open.
            found = self._connection.execute(_NEXT_BLOCK, (expected,)).fetchall()
            if not found or found[0][0] != expected or checksum(expected, found[0][1]) != found[0][2]:
                raise JournalDamaged(_damage(f"block {expected} of {last} is not whole"))
            try:
                yield from unpack(found[0][1])
            except BrokenBlock as problem:
                raise JournalDamaged(_damage(f"block {expected} of {last}: {problem}")) from problem
            expected += 1

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except sqlite3.Error as problem:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise _unavailable(problem) from problem


def open_file(settings: FileSettings) -> JournalFile:
    """Open the journal, or begin one; raises JournalRefused, with the reason and the next step.

    A last append that was cut off while it was written had not been acknowledged: it is dropped, see `cut_frames`.
    """
    path = settings.path
    scan = scan_wal(path.with_name(path.name + "-wal"))
    try:
        connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as problem:
        raise _refusal(path, problem) from problem
    try:
        return _prepare(connection, settings, scan)
    except sqlite3.Error as problem:
        connection.close()
        raise _refusal(path, problem) from problem
    except BaseException:
        connection.close()
        raise


def _prepare(connection: sqlite3.Connection, settings: FileSettings, scan: WalScan) -> JournalFile:
    execute = connection.execute
    execute(f"PRAGMA page_size = {PAGE_BYTES}")
    execute("PRAGMA locking_mode = EXCLUSIVE")
    execute("PRAGMA journal_mode = WAL")
    execute(f"PRAGMA synchronous = {SYNC_MODES[settings.sync]}")
    execute(f"PRAGMA max_page_count = {max(settings.bytes_max // PAGE_BYTES, 8)}")
    execute("BEGIN IMMEDIATE")
    _check_schema(connection, settings.path)
    execute("COMMIT")
    cut_frames = _check_log(connection, scan)
    (verdict,) = execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise JournalDamaged(_damage(f"SQLite finds: {verdict}"))
    (first, last) = execute("SELECT first, (SELECT max(number) FROM block) FROM head").fetchone()
    return JournalFile(connection, cut_frames, first - 1 if last is None else last)


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if (application_id, version, tables) == (0, 0, 0):
        for statement in _SCHEMA:
            connection.execute(statement)
    elif application_id != APPLICATION_ID:
        raise JournalForeign(f"{path} is another program's database; name a file of its own in journal.path")
    elif version != SCHEMA_VERSION:
        raise JournalForeign(
            f"{path} has schema {version}, this release reads {SCHEMA_VERSION}; start the newer release again"
        )


def _check_log(connection: sqlite3.Connection, scan: WalScan) -> int:
    """How many frames were cut off; more than the last append means that the log itself was damaged."""
    _, kept, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    lost = scan.lost_commits(kept)
    if scan.has_broken_header or lost > 1:
        raise JournalDamaged(_damage(f"its write-ahead log is not whole ({lost} appends behind frame {kept} are lost)"))
    return scan.lost_frames(kept) + (1 if scan.odd_bytes else 0)


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
    kept: list[bytes] = []
    path = settings.path
    damaged = next(
        name for number in range(1, 1_000_000) if not (name := path.with_name(f"{path.name}.damaged-{number}")).exists()
    )
    for suffix in ("-wal", ""):
        source = path.with_name(path.name + suffix)
        if source.exists():
            source.rename(damaged.with_name(damaged.name + suffix))
    with suppress(JournalDamaged, sqlite3.Error), closing(sqlite3.connect(damaged, isolation_level=None)) as old:
        kept.extend(JournalFile(old, 0, NUMBER_MAX).replay())
    with closing(open_file(settings)) as renewed:
        renewed.append(kept)
    return damaged


def _damage(found: str) -> str:
    return f"the journal is damaged: {found}; a disk or a copy went wrong. Restore it from a copy, or {RECOVER_HINT}"


def _refusal(path: Path, problem: sqlite3.Error) -> JournalRefused:
    code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return JournalInUse(
            f"{path} is open in another process; two bridges can't share a journal: "
            "stop the other one, or name another file in journal.path"
        )
    if code == sqlite3.SQLITE_NOTADB:
        return JournalDamaged(_damage(f"{path} is no SQLite file"))
    if code == sqlite3.SQLITE_CORRUPT:
        return JournalDamaged(_damage(f"SQLite says {problem}"))
    return JournalRefused(f"{path} can't be opened: {problem}; check journal.path, its folder and who may write there")


def _unavailable(problem: sqlite3.Error) -> JournalUnavailable:
    if getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF == sqlite3.SQLITE_FULL:
        return JournalFull(f"EB-JOURNAL-010: no room left ({problem}); free disk space or raise journal.bytes.max")
    return JournalUnavailable(f"EB-JOURNAL-011: the journal can't be written ({problem}); check its disk")
