"""Up to where a journal's entries were acknowledged, kept beside it, and whether it has all: nothing is lost unsaid."""

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from struct import Struct
from zlib import crc32

from bridge.journal.refusals import RECOVER_HINT, JournalIncomplete

# ------------------------------------------------------------------------------------- acknowledged
# The file beside a journal that says up to where its entries were acknowledged: nothing of it is lost unsaid.
#
# What compares it with the journal is below.

SUFFIX = ".acknowledged"
SECTOR_BYTES = 4096
"""Each of the two places of the number has its own, so that a torn write spoils one of them only."""
PLACES = 2
CELL_BYTES = 128
CELLS = 128
NAME_BYTES_MAX = CELL_BYTES - 16
FILE_BYTES = PLACES * SECTOR_BYTES + CELLS * CELL_BYTES
PRIVATE = 0o600
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MAGIC = b"EBACK\x00\x00\x01"
_NUMBER = Struct(">8s16sQQQQQQ16sB")
_CHECK = Struct(">I")
_CELL = Struct(">QB")


@dataclass(frozen=True, slots=True)
class Counts:
    """Where a journal ends, how many entries were ever written to it, and how many of them it has."""

    last: int = 0
    written: int = 0
    held: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """What answers that left depend on: every block up to `last`, if the journal is the one with this `identity`.

    `durable` is up to where not even the loss of power takes anything away; `waits` tells whether that is said of every
    append (`journal.sync: full`) and `boot` which start of the machine wrote it. `written` counts all entries ever,
    `held` those that the journal has. Groups last named at `forgotten` or before may have no cell any more.
    """

    identity: bytes
    sequence: int = 0
    last: int = 0
    written: int = 0
    held: int = 0
    durable: int = 0
    forgotten: int = 0
    boot: bytes = bytes(16)
    waits: bool = True

    def pack(self) -> bytes:
        """The bytes of one place, with their checksum."""
        numbers = (self.sequence, self.last, self.written, self.held, self.durable, self.forgotten)
        body = _NUMBER.pack(_MAGIC, self.identity, *numbers, self.boot, self.waits)
        return body + _CHECK.pack(crc32(body))


def _unpack(data: bytes) -> Acknowledged | None:
    body, check = data[: _NUMBER.size], data[_NUMBER.size : _NUMBER.size + _CHECK.size]
    if len(check) < _CHECK.size or _CHECK.unpack(check)[0] != crc32(body):
        return None
    magic, identity, sequence, last, written, held, durable, forgotten, boot, waits = _NUMBER.unpack(body)
    if magic != _MAGIC:
        return None
    return Acknowledged(
        identity=identity,
        sequence=sequence,
        last=last,
        written=written,
        held=held,
        durable=durable,
        forgotten=forgotten,
        boot=boot,
        waits=bool(waits),
    )


@dataclass(frozen=True, slots=True)
class Reading:
    """What such a file says: the number, and groups by the last block that concerned them, as far as cells tell."""

    acknowledged: Acknowledged
    groups: Mapping[str, int]

    def groups_behind(self, last: int) -> list[str]:
        """The groups that blocks behind this one concern, in alphabetical order."""
        return sorted(name for name, number in self.groups.items() if number > last)


class Unreadable(Exception):
    """Neither place of the number is whole."""


def path_beside(journal: Path) -> Path:
    """Where the file of this journal is."""
    return journal.with_name(journal.name + SUFFIX)


def read(path: Path) -> Reading | None:
    """What the file says, None where there is none; raises Unreadable."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    places = (_unpack(data[number * SECTOR_BYTES :][:SECTOR_BYTES]) for number in range(PLACES))
    whole = [place for place in places if place is not None]
    if not whole:
        raise Unreadable(f"{path} can't be read ({len(data)} bytes)")
    return Reading(max(whole, key=lambda place: place.sequence), {name: last for _, name, last in _cells(data)})


def _cells(data: bytes) -> Iterator[tuple[int, str, int]]:
    """The cells that are whole, by their index."""
    for index in range(CELLS):
        cell = data[PLACES * SECTOR_BYTES + index * CELL_BYTES :][:CELL_BYTES]
        body, check = cell[: -_CHECK.size], cell[-_CHECK.size :]
        if len(cell) == CELL_BYTES and _CHECK.unpack(check)[0] == crc32(body):
            last, size = _CELL.unpack_from(body)
            if size:
                yield index, body[_CELL.size : _CELL.size + size].decode(errors="replace"), last


def _shown(name: str) -> str:
    """As much of a name as a cell takes."""
    text = name.encode(errors="replace")
    if len(text) <= NAME_BYTES_MAX:
        return text.decode()
    return text[: NAME_BYTES_MAX - 3].decode(errors="ignore") + "..."


def _cell(name: str, last: int) -> bytes:
    text = name.encode()
    body = (_CELL.pack(last, len(text)) + text).ljust(CELL_BYTES - _CHECK.size, b"\0")
    return body + _CHECK.pack(crc32(body))


def begin(path: Path, acknowledged: Acknowledged) -> None:
    """Make the file with this number, or put it in the place of another one, all or nothing, and on the disk for good.

    What was known of groups is forgotten with the other file.
    """
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
    try:
        os.fchmod(handle, PRIVATE)
        os.write(handle, acknowledged.pack().ljust(FILE_BYTES, b"\0"))
        os.fsync(handle)
    finally:
        os.close(handle)
    fresh.rename(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def boot_id() -> bytes:
    """Which start of the machine this is; zeros where that can't be known."""
    try:
        return bytes.fromhex(BOOT_ID.read_text().strip().replace("-", ""))[:16].ljust(16, b"\0")
    except (OSError, ValueError):
        return bytes(16)


class AcknowledgedFile:
    """The file of an open journal; every method but `close` may raise OSError, and then may be tried again."""

    def __init__(self, path: Path, *, waits: bool) -> None:
        reading = read(path)
        assert reading is not None, "begun before"
        self._now = replace(reading.acknowledged, waits=waits, boot=boot_id())
        self._waits = waits
        data = path.read_bytes()
        self._cells = {name: (index, last) for index, name, last in _cells(data)}
        taken = {index for index, _ in self._cells.values()}
        self._free = [index for index in reversed(range(CELLS)) if index not in taken]
        self._handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        os.fchmod(self._handle, PRIVATE)

    @property
    def now(self) -> Acknowledged:
        """What it says."""
        return self._now

    def note(self, counts: Counts, groups: Collection[str]) -> None:
        """The journal ends here now, with a block that concerns these groups: they may be told of it."""
        for name in groups:
            self._note_group(_shown(name), counts.last)
        durable = counts.last if self._waits else self._now.durable
        self._write(counts, durable)

    def settle(self, counts: Counts) -> None:
        """All that the journal holds is on the disk for good."""
        self._write(counts, counts.last)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._handle)

    def _note_group(self, name: str, last: int) -> None:
        known = self._cells.get(name)
        if known is not None:
            index = known[0]
        elif self._free:
            index = self._free.pop()
        else:
            oldest = min(self._cells, key=lambda other: self._cells[other][1])
            index, number = self._cells.pop(oldest)
            self._now = replace(self._now, forgotten=max(self._now.forgotten, number))
        self._cells[name] = (index, last)
        os.pwrite(self._handle, _cell(name, last), PLACES * SECTOR_BYTES + index * CELL_BYTES)

    def _write(self, counts: Counts, durable: int) -> None:
        sequence = self._now.sequence + 1
        following = replace(
            self._now,
            sequence=sequence,
            last=counts.last,
            written=counts.written,
            held=counts.held,
            durable=durable,
        )
        os.pwrite(self._handle, following.pack(), sequence % PLACES * SECTOR_BYTES)
        if self._waits:
            os.fdatasync(self._handle)
        self._now = following


# ------------------------------------------------------------------------------------- completeness
# Whether a journal has everything that was ever acknowledged, and what is missing otherwise, in words.

NAMED_MAX = 10
"""So many groups are named; of the others the number is said."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What is not there any more although answers that depend on it had left."""

    entries: int
    groups: tuple[str, ...]
    has_more_groups: bool

    def __str__(self) -> str:
        named = ", ".join(map(repr, self.groups[:NAMED_MAX]))
        more = len(self.groups) - NAMED_MAX
        others = f" and {more} others" if more > 0 else " and others" if self.has_more_groups and named else ""
        whose = f"of groups {named}{others}" if named else "of groups that can't be named"
        return f"{self.entries} entries that had been acknowledged are missing, {whose}"


def find_loss(reading: Reading, found: Counts) -> Loss | None:
    """What the journal lacks of what was acknowledged; entries that nobody had been told of don't count."""
    acknowledged = reading.acknowledged
    if found.last >= acknowledged.last:
        return None
    is_empty = found.last == 0
    entries = acknowledged.held if is_empty else max(acknowledged.written - found.written, 1)
    groups = tuple(reading.groups_behind(found.last))
    return Loss(entries, groups, has_more_groups=acknowledged.forgotten > found.last)


def may_be_lost(acknowledged: Acknowledged, found: Counts) -> bool:
    """Whether this is what `journal.sync: normal` allows: the machine went down and took the tail with it."""
    boot = boot_id()
    is_other_start = boot != acknowledged.boot or not any(boot)
    return not acknowledged.waits and is_other_start and found.last >= acknowledged.durable


def refuse_loss(path: Path, loss: Loss) -> JournalIncomplete:
    """The words for entries that are gone."""
    return JournalIncomplete(
        f"of the journal {path} {loss}; its database or write-ahead log was emptied, cut, or exchanged for an older "
        f"copy. Restore the files from a copy, or {RECOVER_HINT}: members of these groups join anew"
    )


def refuse_missing_number(path: Path, beside: Path, held: int) -> JournalIncomplete:
    """The words for a journal whose file of the acknowledged number is gone."""
    return JournalIncomplete(
        f"the journal {path} has {held} entries, but {beside.name} beside it is missing, so nobody can say whether "
        f"they are all that was acknowledged. Restore that file with the journal, or {RECOVER_HINT}"
    )


def refuse_unreadable_number(path: Path, problem: Exception) -> JournalIncomplete:
    """The words for a damaged file of the acknowledged number."""
    return JournalIncomplete(
        f"{problem}, so nobody can say whether the journal {path} has all that was acknowledged. "
        f"Restore that file with the journal, or {RECOVER_HINT}"
    )


def refuse_other_journal(path: Path, beside: Path) -> JournalIncomplete:
    """The words for two files that don't belong together."""
    return JournalIncomplete(
        f"{beside} belongs to another journal than {path}: one of the two was exchanged. "
        f"Restore both from the same copy, or {RECOVER_HINT}"
    )
