"""Writes a process's event log: one flushed line per event, in order, from any of its threads.
It must not know what the events mean.
"""

import threading
from typing import TextIO

from bridge.demo.events import Event
from bridge.demo.events_json import encode_event


class EventWriter:
    """Appends events to a stream, each flushed at once, so that a killed process has told all it knew."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, event: Event) -> None:
        """Write one event; raises BrokenPipeError when the reader is gone, which ends the client."""
        line = encode_event(event)
        with self._lock:
            self._stream.write(line + "\n")
            self._stream.flush()
