"""How long what is queued waits for its turn, how long turns and loading take, and how idle that leaves their owner.

Heartbeats that change nothing take no turn and are not measured.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

BOUNDS_NS = (
    *(100_000, 250_000, 500_000),
    *(1_000_000, 2_500_000, 5_000_000, 10_000_000, 50_000_000, 100_000_000, 500_000_000),
    *(1_000_000_000, 5_000_000_000, 30_000_000_000),
)
WINDOW_NS = 30_000_000_000
"""The idle ratio is that of the window which runs and the one before it, like Kafka's sampled metrics."""


@dataclass(slots=True)
class TimeTally:
    """How many took at most as long as each bound, the rest last, and all their time."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_NS) + 1))
    total_ns: int = 0

    def add(self, took_ns: int) -> None:
        """Count one more."""
        self.counts[bisect_left(BOUNDS_NS, took_ns)] += 1
        self.total_ns += took_ns


class BusyTime:
    """How much of the last half minute to minute was spent on turns."""

    def __init__(self, now_ns: int) -> None:
        self._began_ns = self._window_ns = now_ns
        self._before_ns = self._busy_ns = 0

    def add(self, busy_ns: int, now_ns: int) -> None:
        """A turn is over."""
        self._roll(now_ns)
        self._busy_ns += busy_ns

    def ratio(self, now_ns: int) -> float:
        """The busy part, from 0 to 1."""
        self._roll(now_ns)
        elapsed_ns = now_ns - self._began_ns
        return min(1.0, (self._before_ns + self._busy_ns) / elapsed_ns) if elapsed_ns > 0 else 0.0

    def _roll(self, now_ns: int) -> None:
        past = now_ns - self._window_ns
        if past < WINDOW_NS:
            return
        if past < 2 * WINDOW_NS:
            self._began_ns, self._before_ns = self._window_ns, self._busy_ns
            self._window_ns += WINDOW_NS
        else:
            # Nothing has happened for a window or longer: only the idle one before this moment counts.
            self._began_ns, self._before_ns = now_ns - WINDOW_NS, 0
            self._window_ns = now_ns
        self._busy_ns = 0


class TurnTimes:
    """One owner's times; as a context it measures one turn, and turns are never within each other."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self.queue = TimeTally()
        self.processing = TimeTally()
        self.loading = TimeTally()
        self._now_ns = now_ns
        self._busy = BusyTime(now_ns())
        self._queued_ns: list[int] = []
        self._since_ns = 0

    def __enter__(self) -> Self:
        """A turn begins."""
        self._since_ns = self._now_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """It is over, be it by a bug."""
        del kind, problem, trace
        now_ns = self._now_ns()
        took_ns = now_ns - self._since_ns
        self.processing.add(took_ns)
        self._busy.add(took_ns, now_ns)

    def queued(self, count: int) -> None:
        """So many more wait for a turn."""
        self._queued_ns += [self._now_ns()] * count

    def taken(self) -> None:
        """All that waited get their turn."""
        now_ns = self._now_ns()
        for since_ns in self._queued_ns:
            self.queue.add(now_ns - since_ns)
        self._queued_ns.clear()

    def dropped(self) -> None:
        """None of those that waited gets a turn."""
        self._queued_ns.clear()

    def begin_load(self) -> int:
        """Groups are about to be read from the journal; the moment, for `end_load`."""
        return self._now_ns()

    def end_load(self, since_ns: int) -> None:
        """They are read."""
        self.loading.add(self._now_ns() - since_ns)

    def busy_ratio(self) -> float:
        """The part of the last time that turns took, from 0 to 1."""
        return self._busy.ratio(self._now_ns())
