"""Events in files: one is written at a time, a new one begins when it is big or old, and the oldest are deleted."""

import logging
import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bridge.telemetry.event_log.files import LogFile, create_file, event_files, make_folder
from bridge.telemetry.event_log.sinks import Fate, Line, SinkUnusable

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
