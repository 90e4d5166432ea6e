"""The files of the event log: names, rights and order, the lines in them, and what the last run left open there; one is
written at a time, a new one begins when it is big or old, and the oldest are deleted.
"""

import logging
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from bridge.telemetry.event_log.codec import Flaw, Rejected, decode_line
from bridge.telemetry.event_log.sinks import Fate, Line, SinkUnusable
from bridge.telemetry.schema.facts import Event, RebalanceBegan, RebalanceEnded
from bridge.telemetry.schema.fields import FILE_NAME, LINE_BYTES_MAX

TOO_LONG = Rejected(Flaw.FOREIGN, f"a line longer than {LINE_BYTES_MAX} bytes")
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700


@dataclass(frozen=True, slots=True, order=True)
class LogFile:
    """One file: the run of the bridge, and its place in it."""

    boot: str
    index: int

    @property
    def name(self) -> str:
        """The file's name."""
        return f"events-{self.boot}-{self.index:06d}.jsonl"


def make_folder(folder: Path) -> None:
    """Have a folder for events; one that is made here is for this user alone, whatever the umask. Raises OSError."""
    if not folder.is_dir():
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        folder.chmod(PRIVATE_FOLDER)


def create_file(path: Path) -> int:
    """A new file to append to, as a descriptor; nobody else has to read what members are called. Raises OSError."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, PRIVATE_FILE)
    os.fchmod(file, PRIVATE_FILE)
    return file


def log_file(name: str) -> LogFile | None:
    """What a file's name says, None for a file that is none of the log's."""
    found = FILE_NAME.fullmatch(name)
    return LogFile(found["boot"], int(found["index"])) if found else None


def event_files(path: Path) -> list[Path]:
    """The files of a log in the order they were written, by run and index; `path` itself if it is a file.

    Raises OSError if there is nothing to list.
    """
    if path.is_file():
        return [path]
    found = [(log_file(entry.name), entry) for entry in path.iterdir()]
    return [entry for known, entry in sorted((known, entry) for known, entry in found if known is not None)]


def read_file(path: Path) -> Iterator[Event | Rejected]:
    """Every line of one file; a last line that lacks its newline is torn, or being written, and is skipped."""
    with path.open("rb") as file:
        for line in whole_lines(file):
            yield TOO_LONG if line is None else decode_line(line)


def whole_lines(file: BufferedReader) -> Iterator[bytes | None]:
    """Every line from where the file stands to its last newline, None for one longer than `LINE_BYTES_MAX`."""
    while line := file.readline(LINE_BYTES_MAX):
        if line.endswith(b"\n"):
            yield line
        elif len(line) == LINE_BYTES_MAX:
            _skip_line(file)
            yield None


def read_log(path: Path) -> Iterator[Event | Rejected]:
    """Every line of a log, or of one file, in order; of what its bridge has deleted meanwhile none."""
    for file in event_files(path):
        with suppress(FileNotFoundError):
            yield from read_file(file)


def _skip_line(file: BufferedReader) -> None:
    while (rest := file.readline(LINE_BYTES_MAX)) and not rest.endswith(b"\n"):
        pass


FILES_MAX = 2
"""How many files are looked at, from the last on."""
_MARK = b'"kind":"rebalance-'


def find_unfinished(folder: Path, boot: str) -> list[RebalanceBegan]:
    """The rebalances that the last run before `boot` began and did not end; raises OSError."""
    known = [(log_file(path.name), path) for path in event_files(folder)]
    former = [(file, path) for file, path in known if file is not None and file.boot != boot]
    if not former:
        return []
    last_boot = former[-1][0].boot
    found: dict[str, RebalanceBegan] = {}
    for file, path in former[-FILES_MAX:]:
        if file.boot == last_boot:
            _read(path, found)
    return list(found.values())


def _read(path: Path, found: dict[str, RebalanceBegan]) -> None:
    with path.open("rb") as lines:
        while line := lines.readline(LINE_BYTES_MAX):
            # Most lines are something else, and decoding is what takes time.
            event = decode_line(line) if _MARK in line else None
            if not isinstance(event, Event):
                continue
            if isinstance(event.fact, RebalanceBegan):
                found[event.fact.rebalance_id] = event.fact
            elif isinstance(event.fact, RebalanceEnded):
                found.pop(event.fact.rebalance_id, None)


LOG = logging.getLogger("epochbridge.telemetry")
_S = 1_000_000
FILES_LEAST = 2
"""How many full files fit into a log at least, so that it never becomes empty for the sake of its bound."""
SYNC_US = _S
"""How long events may stay where a machine that loses its power loses them; a bridge that is killed does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLimits:
    """When a file is full, and how much of a log is kept; ages count from the last write of a file."""

    file_bytes_max: int = 67_108_864
    file_age_max_s: int = 3_600
    total_bytes_max: int = 1_073_741_824
    total_age_max_s: int = 604_800


class FileSink:
    """The files of one run, in a folder that other runs may have used."""

    def __init__(self, folder: Path, boot: str, limits: FileLimits, wall_us: Callable[[], int]) -> None:
        """Begin the first file; raises SinkUnusable."""
        self.fate = Fate()
        self._folder = folder
        self._boot = boot
        self._limits = limits
        self._wall_us = wall_us
        self._index = 0
        self._file_bytes_max = max(1, min(limits.file_bytes_max, limits.total_bytes_max // FILES_LEAST))
        self._others_bytes = 0
        self._is_failing = False
        self._synced_us = wall_us()
        self._is_synced = True
        try:
            make_folder(folder)
            self._begin()
            self._clean_up()
        except OSError as problem:
            raise SinkUnusable(
                f"EB-EVENTS-001: events can't be written to {folder}: {problem.strerror or problem}; "
                "name a folder that this user may write to (--events DIR, events.path), or leave it out"
            ) from problem

    def write(self, lines: Sequence[Line]) -> None:
        """See `Sink.write`. A file is never left with half a line in its middle."""
        left = deque(lines)
        while left:
            part = self._part_of(left)
            data = b"".join([line.data for line in part])
            try:
                self._rotate(len(data))
                self._write_all(data)
            except OSError as problem:
                self._fail(problem, len(part) + len(left))
                return
            self.fate.written += len(part)
        if self._is_failing:
            self._is_failing = False
            LOG.warning("events are written to %s again; %d were lost", self._folder, self.fate.lost)

    def _part_of(self, left: deque[Line]) -> list[Line]:
        """Take as many lines as one file may have, one at least."""
        part = [left.popleft()]
        size = len(part[0].data)
        while left and size + len(left[0].data) <= self._file_bytes_max:
            part.append(left.popleft())
            size += len(part[-1].data)
        return part

    def _fail(self, problem: OSError, count: int) -> None:
        self.fate.lost += count
        if not self._is_failing:
            self._is_failing = True
            LOG.error(
                "EB-EVENTS-002: events are lost, %s can't be written: %s; make room or set events.total.bytes.max",
                self._folder,
                problem.strerror or problem,
            )

    def tend(self) -> None:
        """Have the disk keep what was written, about once a second; a file that is old ends with the next write."""
        if not self._is_synced and not 0 <= self._wall_us() - self._synced_us < SYNC_US:
            self._sync()

    def close(self) -> None:
        """See `Sink.close`."""
        self._sync()
        os.close(self._file)

    def _sync(self) -> None:
        self._synced_us, self._is_synced = self._wall_us(), True
        try:
            os.fsync(self._file)
        except OSError as problem:
            self._fail(problem, 0)

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError:
            os.ftruncate(self._file, self._bytes)
            raise
        self._bytes += len(data)
        self._is_synced = False

    def _rotate(self, coming_bytes: int) -> None:
        """End the file if what comes would overfill it, or it is old; an empty one goes on. Then make room for that."""
        age_us = self._wall_us() - self._began_us
        is_full = self._bytes + coming_bytes > self._file_bytes_max
        if self._bytes and (is_full or age_us >= self._limits.file_age_max_s * _S):
            former = self._file
            self._sync()
            self._begin()
            os.close(former)
            self._clean_up(coming_bytes)
        elif self._others_bytes + self._bytes + coming_bytes > self._limits.total_bytes_max:
            self._clean_up(coming_bytes)

    def _begin(self) -> None:
        path = self._folder / LogFile(self._boot, self._index + 1).name
        self._file = create_file(path)
        self._path = path
        self._index += 1
        self._bytes = 0
        self._began_us = self._wall_us()

    def _clean_up(self, coming_bytes: int = 0) -> None:
        """Delete the oldest files, of whichever run, until the rest is young enough and leaves room for what comes."""
        limits, now_us = self._limits, self._wall_us()
        room = limits.total_bytes_max - self._bytes - coming_bytes
        others = (path for path in event_files(self._folder) if path != self._path)
        ages = sorted(map(_facts_of, others), key=lambda known: known.written_us)
        total = sum(known.size for known in ages)
        for known in ages:
            if total <= room and now_us - known.written_us <= limits.total_age_max_s * _S:
                break
            known.path.unlink(missing_ok=True)
            total -= known.size
        self._others_bytes = total


@dataclass(frozen=True, slots=True)
class _Known:
    path: Path
    size: int
    written_us: int


def _facts_of(path: Path) -> _Known:
    status = path.stat()
    return _Known(path, status.st_size, status.st_mtime_ns // 1000)
