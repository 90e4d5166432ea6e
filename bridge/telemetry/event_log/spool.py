"""Lines on disk until somebody has taken them for good: appended at one end, read at the other, bounded.

A line that was not settled before the end of the process is read again by the next.
"""

import os
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from bridge.telemetry.event_log.files import create_file, make_folder
from bridge.telemetry.event_log.sinks import SinkUnusable
from bridge.telemetry.schema.fields import LINE_BYTES_MAX

SEGMENT_BYTES_MAX = 4_194_304
"""Size at which the next segment begins; so much is sent twice at most after a crash."""
NAME = re.compile(r"spool-[0-9A-Za-z]+-[0-9]{6,}\.jsonl")


@dataclass(slots=True, eq=False)
class Segment:
    """One file of a spool: its size, lines that were read and are not settled, and whether all were read."""

    path: Path
    size: int
    unsettled: int = 0
    is_read: bool = False


class Spool:
    """The segments in one folder, those of former runs first."""

    def __init__(self, folder: Path, boot: str, bytes_max: int) -> None:
        """Open it; raises SinkUnusable."""
        self._folder = folder
        self._boot = boot
        self._bytes_max = bytes_max
        self._index = 0
        self._segments: deque[Segment] = deque()
        self._writing: tuple[Segment, int] | None = None
        self._reading: tuple[Segment, BufferedReader] | None = None
        try:
            make_folder(folder)
            for path in sorted(entry for entry in folder.iterdir() if NAME.fullmatch(entry.name)):
                self._segments.append(Segment(path, path.stat().st_size))
            self._begin()
        except OSError as problem:
            raise SinkUnusable(
                f"EB-EVENTS-008: events for the topic can't be kept in {folder}: {problem.strerror or problem}; "
                "name a folder that this user may write to (events.spool.path)"
            ) from problem

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return sum(segment.size for segment in self._segments)

    def append(self, lines: Sequence[bytes]) -> int:
        """Keep lines in order, as far as there is room; gives how many. Raises OSError, having kept none."""
        room, count = self._bytes_max - self.size, 0
        for line in lines:
            room -= len(line)
            if room < 0:
                break
            count += 1
        if count:
            self._write(b"".join(lines[:count]))
        return count

    def take(self) -> tuple[Segment, bytes] | None:
        """The next line that was not read, newline included, with what it has to be settled by; None: all were read."""
        while True:
            reading = self._reading or self._open_next()
            if reading is None:
                return None
            segment, file = reading
            line = file.readline(LINE_BYTES_MAX)
            if line.endswith(b"\n"):
                segment.unsettled += 1
                return segment, line
            if self._writing is not None and segment is self._writing[0]:
                file.seek(-len(line), os.SEEK_CUR)
                return None
            # The end of a segment that is complete; half a line was torn by a crash.
            segment.is_read = True
            file.close()
            self._reading = None
            self._remove_settled()

    def settle(self, segment: Segment) -> None:
        """One line of a segment need not be kept any more."""
        segment.unsettled -= 1
        self._remove_settled()

    def rewind(self) -> None:
        """Read everything again that is kept."""
        if self._reading is not None:
            self._reading[1].close()
            self._reading = None
        for segment in self._segments:
            segment.unsettled, segment.is_read = 0, False

    def close(self) -> None:
        """Let go; what is not settled stays for the next run."""
        if self._writing is not None:
            os.close(self._writing[1])
            self._writing = None
            # Finds the end of what was written, and with it whether the file is needed.
            self.take()
        if self._reading is not None:
            self._reading[1].close()
            self._reading = None

    def _open_next(self) -> tuple[Segment, BufferedReader] | None:
        for segment in self._segments:
            if not segment.is_read:
                self._reading = (segment, segment.path.open("rb"))
                return self._reading
        return None

    def _remove_settled(self) -> None:
        while self._segments and self._segments[0].is_read and not self._segments[0].unsettled:
            self._segments.popleft().path.unlink(missing_ok=True)

    def _begin(self) -> tuple[Segment, int]:
        self._index += 1
        path = self._folder / f"spool-{self._boot}-{self._index:06d}.jsonl"
        file = create_file(path)
        former, self._writing = self._writing, (Segment(path, 0), file)
        self._segments.append(self._writing[0])
        if former is not None:
            os.close(former[1])
        return self._writing

    def _write(self, data: bytes) -> None:
        assert self._writing is not None, "open until it is closed"
        segment, file = self._writing
        if segment.size >= SEGMENT_BYTES_MAX:
            segment, file = self._begin()
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(file, view) :]
        except OSError:
            os.ftruncate(file, segment.size)
            raise
        segment.size += len(data)
