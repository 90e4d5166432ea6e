"""Log lines on their way out of the process: whoever reads them may stop to, and nobody waits for that.

A pipe takes 64 KiB; behind that a write waits for a reader, in the thread that serves everybody. A supervisor that had
stopped reading standard error stopped the bridge, heartbeats and all. So lines wait here, and a thread writes them.
"""

import logging
import os
import select
import threading
from collections import deque
from typing import Protocol

LOG = logging.getLogger("epochbridge.telemetry")
WAITING_BYTES_MAX = 4_194_304
"""So much may wait to be written, some 20,000 lines; further ones are dropped and counted."""
CLOSE_S = 2.0
"""How long the end of the process waits for a reader."""
ROOM_MS = 1_000
"""How often a descriptor that does not block is asked whether it takes something again."""


class Written(Protocol):
    """What lines are written to."""

    def write(self, text: str, /) -> object:
        """Take a line with its end."""
        ...

    def flush(self) -> object:
        """Hand on what was taken."""
        ...


class LineWriter:
    """Writes whole lines to a descriptor, in their order; `write` never waits, and any thread may call it.

    It goes past Python's own buffers: a thread that hangs in one of these would abort the process at its end.
    """

    def __init__(self, descriptor: int, encoding: str, waiting_max: int = WAITING_BYTES_MAX) -> None:
        self.dropped = 0
        """Lines that were not written: nobody took those before them in time, or they could not be written."""
        self.lock = threading.RLock()
        """Held by whoever writes lines, who may wait for the thread meanwhile (`close`): so that never waits for it."""
        self._descriptor = descriptor
        self._encoding = encoding
        self._waiting_max = waiting_max
        self._lines: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._untold = 0
        self._is_closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="epochbridge-log", daemon=True)
        self._thread.start()

    def write(self, text: str) -> None:
        """Have a line written, or drop it where too much waits; one by itself is always taken."""
        line = text.encode(self._encoding, errors="backslashreplace")
        with self._changed:
            if self._waiting_bytes and self._waiting_bytes + len(line) > self._waiting_max:
                self._count(1)
                return
            self._lines.append(line)
            self._waiting_bytes += len(line)
            self._changed.notify_all()

    def flush(self) -> None:
        """Every line is on its way already."""

    def drain(self, within_s: float = CLOSE_S) -> bool:
        """Wait until all is written; False if nobody takes it within that time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting_bytes, within_s)

    def close(self) -> None:
        """Write what waits if somebody takes it; nothing is written afterwards."""
        is_taken = self.drain()
        if is_taken:
            self._tell_dropped()
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join(CLOSE_S if is_taken else 0.0)

    def _tell_dropped(self) -> None:
        """Say so behind what was written. That is itself a line, which comes back here."""
        with self._changed:
            untold, self._untold = self._untold, 0
        if untold:
            LOG.error(
                "EB-LOG-001: %d log lines before this one were dropped: nobody read them from standard error, or "
                "it could not be written; see what reads the log of this process",
                untold,
            )

    def _count(self, lines: int) -> None:
        self.dropped += lines
        self._untold += lines

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines or self._is_closing)
                if not self._lines:
                    return
                lines = tuple(self._lines)
                self._lines.clear()
            # Who holds the lock writes a line, behind which this comes again, or closes, and tells by itself.
            if self._write_all(lines) and self.lock.acquire(blocking=False):
                try:
                    self._tell_dropped()
                finally:
                    self.lock.release()

    def _write_all(self, lines: tuple[bytes, ...]) -> bool:
        """Write these; whether somebody took them."""
        data = b"".join(lines)
        is_written = self._was_written(memoryview(data))
        with self._changed:
            self._waiting_bytes -= len(data)
            self._changed.notify_all()
            if not is_written:
                self._count(len(lines))
        return is_written

    def _was_written(self, data: memoryview) -> bool:
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:
                # Whoever gave us standard error had made it so that it does not block.
                room = select.poll()
                room.register(self._descriptor, select.POLLOUT)
                room.poll(ROOM_MS)
            except OSError:
                # Nobody is left to read it, or a disk is full; the metrics tell.
                return False
        return True
