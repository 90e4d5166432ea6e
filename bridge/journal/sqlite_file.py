"""One SQLite file with numbered blocks of entries: opened by one process, checked, appended to, shortened."""

import errno
import os
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from struct import Struct, error
from zlib import crc32

from bridge.journal import acknowledged, sqlite_schema
from bridge.journal.acknowledged import (
    PRIVATE,
    Acknowledged,
    AcknowledgedFile,
    Counts,
    Loss,
    Reading,
    Unreadable,
    find_loss,
    may_be_lost,
    refuse_loss,
    refuse_missing_number,
    refuse_other_journal,
    refuse_unreadable_number,
)
from bridge.journal.refusals import JournalDamaged, JournalForeign, JournalInUse, JournalRefused
from bridge.journal.sqlite_schema import Origin
from bridge.journal.wal_tail import WalScan, scan_log, settled
from bridge.ports import JournalFull, JournalUnavailable

_LENGTH = Struct(">I")
_PLACE = Struct(">Q")


class BrokenBlock(Exception):
    """Bytes that are no block."""


def pack(entries: Collection[bytes]) -> bytes:
    """Entries one after the other, each behind its length."""
    return b"".join(part for entry in entries for part in (_LENGTH.pack(len(entry)), entry))


def unpack(block: bytes) -> Iterator[bytes]:
    """The entries of a block; raises BrokenBlock where lengths don't fit."""
    at = 0
    while at < len(block):
        try:
            (length,) = _LENGTH.unpack_from(block, at)
        except error as problem:
            raise BrokenBlock(f"a length is cut off at byte {at} of {len(block)}") from problem
        at += _LENGTH.size + length
        if at > len(block):
            raise BrokenBlock(f"an entry of {length} bytes ends {at - len(block)} bytes behind its block")
        yield block[at - length : at]


def checksum(place: int, block: bytes) -> int:
    """CRC-32 of the block's number and its bytes, so that a block in the wrong place is noticed too."""
    return crc32(block, crc32(_PLACE.pack(place)))


PAGE_BYTES = 4096
SYNC_MODES = {"full": "FULL", "normal": "NORMAL"}
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises: its words about a spoiled table quote bytes that may be no text."""
CHECKPOINT_BYTES = 4_194_304
"""How much is appended between two checkpoints of the write-ahead log, after each of which all is on the disk."""
_NEXT_BLOCK = "SELECT number, entries, checksum FROM block WHERE number >= ? ORDER BY number LIMIT 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """Where it is, whether an append waits for the disk (`full`) or not (`normal`), how large it may get."""

    path: Path
    sync: str = "full"
    bytes_max: int = 1_073_741_824


@dataclass(frozen=True, slots=True)
class Opened:
    """What was found when a journal was opened, for whoever tells the operator.

    `cut_frames`: pages of an append that nobody had been told of. `lost`: what `journal.sync: normal` let go with the
    machine. `is_upgraded`: it comes from a release that kept no number beside it. `behind`: how many blocks the number
    beside it lacked.
    """

    cut_frames: int = 0
    lost: Loss | None = None
    is_upgraded: bool = False
    behind: int = 0


class JournalFile:
    """An open journal; every method may raise JournalUnavailable, JournalFull where there is no room."""

    def __init__(
        self, connection: sqlite3.Connection, beside: AcknowledgedFile, counts: Counts, opened: Opened
    ) -> None:
        self.opened = opened
        self._connection = connection
        self._beside = beside
        self._counts = counts
        self._unsettled_bytes = 0

    @property
    def last(self) -> int:
        """The number of the newest block, 0 for none yet."""
        return self._counts.last

    def append(self, entries: Collection[bytes], groups: Collection[str] = ()) -> int:
        """Write one block, durable when this returns, which concerns these groups; gives its size in bytes."""
        block, before = pack(entries), self._counts
        number = before.last + 1
        with self._transaction():
            self._insert(number, block)
        self._counts = Counts(number, before.written + len(entries), before.held + len(entries))
        with _unavailable_beside():
            self._beside.note(self._counts, groups)
        self._settle_sometimes(len(block))
        return len(block)

    def replay(self, upto: int | None = None) -> Iterator[bytes]:
        """Every entry of every block up to this number in the order written; raises JournalDamaged where one is not
        whole.
        """
        yield from read_blocks(self._connection, self.last if upto is None else upto)

    def replace(self, upto: int, entries: Collection[bytes]) -> int:
        """Put one block in the place of all up to this number; gives its size in bytes."""
        block, before = pack(entries), self._counts
        replaced = sum(1 for _ in self.replay(upto))
        with self._transaction():
            self._connection.execute("DELETE FROM block WHERE number <= ?", (upto,))
            self._insert(upto, block)
            self._connection.execute("UPDATE head SET first = ?", (upto,))
            self._connection.execute("UPDATE origin SET dropped = dropped + ?", (replaced - len(entries),))
        self._counts = Counts(before.last, before.written, before.held - replaced + len(entries))
        with _unavailable_beside():
            self._beside.note(self._counts, ())
        self._settle_sometimes(len(block))
        return len(block)

    def close(self) -> None:
        """Let go of the file; the write-ahead log goes into it."""
        self._beside.close()
        self._connection.close()

    def _insert(self, number: int, block: bytes) -> None:
        self._connection.execute("INSERT INTO block VALUES (?, ?, ?)", (number, block, checksum(number, block)))

    def _settle_sometimes(self, size: int) -> None:
        """SQLite would do it by itself as often; but then nobody would know up to where power may fail."""
        self._unsettled_bytes += size + PAGE_BYTES
        if self._unsettled_bytes < CHECKPOINT_BYTES:
            return
        self._unsettled_bytes = 0
        try:
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error as problem:
            raise _unavailable(problem) from problem
        with _unavailable_beside():
            self._beside.settle(self._counts)

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


def read_blocks(connection: sqlite3.Connection, last: int, begin: int = 0) -> Iterator[bytes]:
    """Every entry of the blocks from `begin` up to `last`; raises JournalDamaged."""
    try:
        first, _ = sqlite_schema.read_ends(connection)
        for number in range(max(first, begin), last + 1):
            # One query a block: a replay that is given up leaves no cursor open.
            found = connection.execute(_NEXT_BLOCK, (number,)).fetchall()
            if not found or not _is_whole(number, *found[0]):
                raise JournalDamaged(f"block {number} of {last} is not whole")
            try:
                yield from unpack(found[0][1])
            except BrokenBlock as problem:
                raise JournalDamaged(f"block {number} of {last}: {problem}") from problem
    except SQLITE_ERRORS as problem:
        raise JournalDamaged(f"SQLite can't read it ({problem})") from problem


def _is_whole(expected: int, number: object, block: object, check: object) -> bool:
    return number == expected and isinstance(block, bytes) and check == checksum(expected, block)


def open_file(settings: FileSettings) -> JournalFile:
    """Open the journal, or begin one; raises JournalRefused, with the reason and the next step.

    A last append that was cut off while it was written had not been acknowledged: it is dropped, see `Opened`.
    """
    path = settings.path
    reading = _read_number(path)
    wal = path.with_name(path.name + "-wal")
    try:
        refuse_strangers(path)
        _make_private(path)
        log = wal.read_bytes() if wal.exists() else b""
        # By its whole path: SQLite takes `:memory:` for no file, and all that was kept was gone with the process.
        connection = sqlite3.connect(path.absolute(), timeout=0, isolation_level=None, check_same_thread=False)
    except OSError as problem:
        raise _not_opened(path, problem) from problem
    except sqlite3.Error as problem:
        raise _refusal(path, problem) from problem
    try:
        return _prepare(connection, settings, scan_log(log), reading)
    except BaseException as problem:
        connection.close()
        if log and not wal.exists():
            # SQLite ends a log when it closes, and drops what it could not read: whoever looks for the damage needs it.
            wal.write_bytes(log)
            wal.chmod(PRIVATE)
        if isinstance(problem, SQLITE_ERRORS):
            raise _refusal(path, problem) from problem
        if isinstance(problem, OSError):
            raise _not_opened(path, problem) from problem
        raise


def refuse_strangers(path: Path) -> None:
    """Raises JournalForeign for another program's file, and changes nothing of it: by a mistyped path everybody
    but this user lost it.

    A file with a number beside it is a journal, whatever became of it.
    """
    if acknowledged.path_beside(path).exists() or not path.is_file() or not path.stat().st_size:
        return
    # Without locks, and without files beside: SQLite has a database of others in its own mode by looking at it.
    place = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    log = path.with_name(path.name + "-wal")
    try:
        with closing(sqlite3.connect(place, timeout=0, uri=True)) as looked_at:
            version = sqlite_schema.schema_version(looked_at, path)
        if version == 0 and log.exists():
            # A journal that was only just made is in the log alone, and SQLite takes its locks to look there.
            with closing(sqlite3.connect(":memory:")) as looked_at:
                looked_at.deserialize(settled(path.read_bytes(), log.read_bytes()))
                sqlite_schema.schema_version(looked_at, path)
    except (JournalDamaged, OSError):
        # Of a journal that lost its number, or that can't be read: whoever opens it says what is wrong.
        return
    except SQLITE_ERRORS as problem:
        if _code(problem) == sqlite3.SQLITE_NOTADB:
            raise JournalForeign(
                f"{path} is no SQLite file, and no number of a journal is beside it, so it is another program's and "
                "was left as it is; name a file of its own in journal.path"
            ) from problem


def _read_number(path: Path) -> Reading | Unreadable | None:
    """What the file beside the journal says; raises JournalIncomplete where a journal should be and is not."""
    try:
        reading = acknowledged.read(acknowledged.path_beside(path))
    except Unreadable as problem:
        return problem
    except OSError as problem:
        raise _not_opened(path, problem) from problem
    # SQLite removes the write-ahead log of an empty database: it is looked at first, and nothing of it is lost.
    is_empty = not path.exists() or path.stat().st_size == 0
    loss = find_loss(reading, Counts()) if reading is not None and is_empty else None
    if loss is not None:
        raise refuse_loss(path, loss)
    return reading


def _make_private(path: Path) -> None:
    """Nobody else has to read what members are called, whatever the umask: SQLite gives its log the same rights."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    try:
        if not S_ISREG(os.fstat(handle).st_mode):
            # Of /dev/null nobody but root could write any more, on the whole machine.
            raise OSError(errno.EINVAL, "it is no file but a pipe, a socket or a device")
        os.fchmod(handle, PRIVATE)
    finally:
        os.close(handle)


def _prepare(
    connection: sqlite3.Connection, settings: FileSettings, scan: WalScan, reading: Reading | Unreadable | None
) -> JournalFile:
    execute = connection.execute
    execute(f"PRAGMA page_size = {PAGE_BYTES}")
    execute("PRAGMA locking_mode = EXCLUSIVE")
    execute("PRAGMA journal_mode = WAL")
    execute(f"PRAGMA synchronous = {SYNC_MODES[settings.sync]}")
    execute(f"PRAGMA max_page_count = {max(settings.bytes_max // PAGE_BYTES, 8)}")
    execute("PRAGMA wal_autocheckpoint = 0")
    path, beside = settings.path, acknowledged.path_beside(settings.path)
    execute("BEGIN IMMEDIATE")
    version = sqlite_schema.schema_version(connection, path)
    execute("COMMIT")
    (_, kept, _) = execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if version < sqlite_schema.SCHEMA_VERSION:
        if reading is None:
            _check_old_log(scan, kept)
        _begin(connection, path, version, reading)
        reading = acknowledged.read(beside)
    (verdict,) = execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise JournalDamaged(f"SQLite finds: {verdict}")
    counts = _count(connection, reading)
    lost = _compare(connection, path, counts, reading)
    number = AcknowledgedFile(beside, waits=settings.sync == "full")
    behind = counts.last - number.now.last
    number.settle(counts)
    cut_frames = scan.lost_frames(kept) + (1 if scan.odd_bytes else 0)
    opened = Opened(cut_frames=cut_frames, lost=lost, is_upgraded=version == 1, behind=max(behind, 0))
    return JournalFile(connection, number, counts, opened)


def _check_old_log(scan: WalScan, kept: int) -> None:
    """Before there was a number beside the journal only the log itself could tell whether it was damaged."""
    lost = scan.lost_commits(kept)
    if scan.has_broken_header or lost > 1:
        raise JournalDamaged(f"its write-ahead log is not whole ({lost} appends behind frame {kept} are lost)")


def _begin(connection: sqlite3.Connection, path: Path, version: int, reading: Reading | Unreadable | None) -> None:
    """Make a journal, or what a journal of the release before lacks.

    The number is written first: a journal without one has lost it, and begins never.
    """
    if isinstance(reading, Unreadable):
        raise refuse_unreadable_number(path, reading)
    counts = Counts() if version == 0 else _count(connection, None)
    loss = None if reading is None else find_loss(reading, counts)
    if loss is not None:
        raise refuse_loss(path, loss)
    if version == 0 and reading is not None:
        identity = reading.acknowledged.identity
    else:
        identity = sqlite_schema.fresh_identity(connection)
        numbers = Acknowledged(
            identity=identity, last=counts.last, written=counts.written, held=counts.held, durable=counts.last
        )
        acknowledged.begin(acknowledged.path_beside(path), numbers)
    connection.execute("BEGIN IMMEDIATE")
    (sqlite_schema.create if version == 0 else sqlite_schema.upgrade)(connection, Origin(identity, 0))
    connection.execute("COMMIT")


def _count(connection: sqlite3.Connection, reading: Reading | Unreadable | None) -> Counts:
    """What the journal has; of what is known to be acknowledged nothing is counted again."""
    first, last = sqlite_schema.read_ends(connection)
    if isinstance(reading, Reading) and first <= reading.acknowledged.last <= last:
        known = reading.acknowledged
        new = sum(1 for _ in read_blocks(connection, last, begin=known.last + 1))
        return Counts(last, known.written + new, known.held + new)
    held = sum(1 for _ in read_blocks(connection, last))
    dropped = sqlite_schema.read_origin(connection).dropped if reading is not None else 0
    return Counts(last, dropped + held, held)


def _compare(
    connection: sqlite3.Connection, path: Path, counts: Counts, reading: Reading | Unreadable | None
) -> Loss | None:
    """Whether everything is there that was acknowledged; gives what may lawfully be lost, raises JournalIncomplete."""
    if isinstance(reading, Unreadable):
        raise refuse_unreadable_number(path, reading)
    origin = sqlite_schema.read_origin(connection)
    if reading is None:
        raise refuse_missing_number(path, acknowledged.path_beside(path), counts.held)
    if origin.identity != reading.acknowledged.identity:
        raise refuse_other_journal(path, acknowledged.path_beside(path))
    loss = find_loss(reading, counts)
    if loss is not None and not may_be_lost(reading.acknowledged, counts):
        raise refuse_loss(path, loss)
    return loss


@contextmanager
def _unavailable_beside() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        # Without the path, which stands in the words of the whole: clients are told of this, and whoever asks /readyz.
        why = problem.strerror or type(problem).__name__
        raise JournalUnavailable(
            f"EB-JOURNAL-011: the number beside the journal can't be written ({why}); check its disk"
        ) from problem


def _not_opened(path: Path, problem: Exception) -> JournalRefused:
    return JournalRefused(f"{path} can't be opened: {problem}; check journal.path, its folder and who may write there")


def _refusal(path: Path, problem: Exception) -> JournalRefused:
    code = _code(problem)
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return JournalInUse(
            f"{path} is open in another process; two bridges can't share a journal: "
            "stop the other one, or name another file in journal.path"
        )
    if code == sqlite3.SQLITE_NOTADB:
        return JournalDamaged(f"{path} is no SQLite file")
    if code in _OF_THE_WORLD:
        return _not_opened(path, problem)
    return JournalDamaged(f"SQLite says {problem}")


def _code(problem: Exception) -> int:
    code: object = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return (code if isinstance(code, int) else sqlite3.SQLITE_ERROR) & 0xFF


_OF_THE_WORLD = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}
"""What may be wrong with disks and rights; anything else that SQLite says is about what is in the file."""


def _unavailable(problem: sqlite3.Error) -> JournalUnavailable:
    if _code(problem) == sqlite3.SQLITE_FULL:
        return JournalFull(f"EB-JOURNAL-010: no room left ({problem}); free disk space or raise journal.bytes.max")
    return JournalUnavailable(f"EB-JOURNAL-011: the journal can't be written ({problem}); check its disk")
