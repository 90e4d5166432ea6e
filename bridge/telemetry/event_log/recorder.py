"""Takes facts where they happen, stamps them, and lets a thread of its own write them.

A slow or failing place costs events, never traffic.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from bridge.log_lines import LogFields
from bridge.telemetry.event_log.codec import encode_event
from bridge.telemetry.event_log.sinks import Line, Sink
from bridge.telemetry.schema.facts import CoordinatorMoved, Event, Fact, GroupFact, MemberFact, OperatorActed, Stamp
from bridge.telemetry.schema.lean import chars_of

LOG = logging.getLogger("epochbridge.telemetry")
LINGER_S = 0.05
"""How long the thread lets facts gather before it writes them."""
TEND_S = 1.0
BATCH_EVENTS_MAX = 1_000
CLOSE_S = 10.0
WAITING_CHARS_MAX = 256 * 1024 * 1024
"""So much may wait of what members say of themselves: that may be a megabyte each time, and 100,000 events 100 GB."""


def fields_of(event: Event) -> LogFields:
    """Whom an event is about, for a log line; nobody for what concerns the bridge or its cluster."""
    match event.fact:
        case MemberFact(group_id=group_id, member_id=member_id):
            return LogFields(group_id=group_id, member_id=member_id)
        case GroupFact(group_id=group_id) | OperatorActed(group_id=group_id) | CoordinatorMoved(group_id=group_id):
            return LogFields(group_id=group_id)
        case _:
            return LogFields()


@dataclass(frozen=True, slots=True)
class Clocks:
    """Monotonic and wall clock, in microseconds."""

    mono_us: Callable[[], int]
    wall_us: Callable[[], int]


@dataclass(frozen=True, slots=True)
class Pending:
    """An event whose fact is still to be made."""

    stamp: Stamp
    make: Callable[[], Fact | None]


class Recorder:
    """The event log of one run; `say` may be called from one thread only."""

    def __init__(self, boot: str, clocks: Clocks, sinks: Sequence[Sink], queue_events_max: int) -> None:
        self.boot = boot
        self.dropped = 0
        self._failures = 0
        self.now_us = clocks.mono_us
        self._clocks = clocks
        self._sinks = tuple(sinks)
        self._queue: deque[Event | Pending] = deque()
        self._queue_max = queue_events_max
        self._number = 0
        self._said_chars = self._taken_chars = 0
        """What members said of themselves in all events so far; the thread alone counts what it has taken of it."""
        self._compare_clocks()
        self._wake = threading.Event()
        self._is_idle = True
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="epochbridge-events", daemon=True)
        self._thread.start()

    @property
    def written(self) -> int:
        """Events that a place took which keeps them; one that is away for long does not hide the others."""
        return max((sink.fate.written for sink in self._sinks), default=0)

    @property
    def lost(self) -> int:
        """Events that some place could not take."""
        return sum(sink.fate.lost for sink in self._sinks)

    @property
    def failures(self) -> int:
        """What a bug cost: events that could not be made or written down, batches, and rebalances that nobody took."""
        return self._failures + sum(sink.fate.failures for sink in self._sinks)

    @property
    def waiting(self) -> int:
        """Events that are not written yet, but for the batch that is being written."""
        return len(self._queue)

    def say(self, fact: Fact, at_us: int | None = None) -> Event | None:
        """Take a fact that happened now, or at `at_us` of the monotonic clock; None: dropped, too many wait already."""
        queue, chars = self._queue, chars_of(fact)
        if len(queue) >= self._queue_max or (chars and not self._has_room_for(chars)):
            self._drop()
            return None
        self._said_chars += chars
        mono_us = self.now_us() if at_us is None else at_us
        self._number = number = self._number + 1
        event = Event(Stamp(self.boot, number, mono_us + self._offset_us, mono_us), fact)
        queue.append(event)
        if self._is_idle:
            self._awake()
        return event

    def _has_room_for(self, chars: int) -> bool:
        """Whether what members say of themselves may wait, too; of one that says more than that alone, always."""
        waiting = self._said_chars - self._taken_chars
        return not waiting or waiting + chars <= WAITING_CHARS_MAX

    def say_later(self, make: Callable[[], Fact | None], at_us: int) -> None:
        """Take a fact that the thread is to make, because that takes long; None is not written, nor its number."""
        if len(self._queue) >= self._queue_max:
            self._drop()
        else:
            self._number += 1
            self._queue.append(Pending(Stamp(self.boot, self._number, at_us + self._offset_us, at_us), make))
            self._awake()

    def _compare_clocks(self) -> None:
        """Learn how far the wall clock is from the monotonic one; whoever sets it is followed within a second."""
        self._offset_us = self._clocks.wall_us() - self._clocks.mono_us()

    def _awake(self) -> None:
        self._is_idle = False
        self._wake.set()

    def close(self) -> None:
        """Write what waits, for a few seconds at most; nothing may be said afterwards."""
        self._is_closing = True
        self._wake.set()
        self._thread.join(CLOSE_S)
        if self._thread.is_alive():
            LOG.error(
                "EB-EVENTS-003: %d events were not written within %.0f s and are lost; see what holds up the disk of "
                "events.path or events.spool.path",
                len(self._queue),
                CLOSE_S,
            )

    def _drop(self) -> None:
        self.dropped += 1
        if self.dropped == 1:
            LOG.error(
                "EB-EVENTS-004: more than %d events wait to be written, or more than %d bytes of what members say of "
                "themselves; further ones are dropped and counted; raise events.queue.max or write to a faster place",
                *(self._queue_max, WAITING_CHARS_MAX),
            )

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        while not self._is_closing:
            if self._wake.wait(TEND_S):
                self._pause()
                self._wake.clear()
                # From here on a fact wakes the thread again, which at worst finds nothing left to do.
                self._is_idle = True
                self._guarded(self._write_waiting)
            self._compare_clocks()
            self._guarded(self._tend)
        self._guarded(self._write_waiting)
        for sink in self._sinks:
            self._guarded(sink.close)

    def _pause(self) -> None:
        if not self._is_closing:
            threading.Event().wait(LINGER_S)

    def _guarded(self, work: Callable[[], None]) -> None:
        """A bug costs one place one batch, not the log, nor other places anything."""
        try:
            work()
        except Exception:
            self._failures += 1
            LOG.exception("EB-EVENTS-005: events could not be written; please report this")

    def _write_waiting(self) -> None:
        queue = self._queue
        while queue:
            events = [self._made(queue.popleft()) for _ in range(min(len(queue), BATCH_EVENTS_MAX))]
            self._taken_chars += sum(chars_of(event.fact) for event in events if event is not None)
            lines = [line for line in map(self._line, events) if line is not None]
            for sink in self._sinks:
                self._guarded(partial(sink.write, lines))

    def _tend(self) -> None:
        for sink in self._sinks:
            self._guarded(sink.tend)

    def _line(self, event: Event | None) -> Line | None:
        if event is None:
            return None
        try:
            return Line(event, encode_event(event))
        except Exception:
            self._failures += 1
            told = "EB-EVENTS-005: an event could not be written down; please report this"
            LOG.exception(told, extra=fields_of(event))
            return None

    def _made(self, queued: Event | Pending) -> Event | None:
        if isinstance(queued, Event):
            return queued
        try:
            fact = queued.make()
        except Exception:
            self._failures += 1
            LOG.exception("EB-EVENTS-005: an event could not be made; please report this")
            return None
        return None if fact is None else Event(queued.stamp, fact)
