"""What is to happen when, in order; what is planned for one moment happens in the order in which it was planned."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

Action = Callable[[], None]


def next_beat_us(latest_us: int, interval_us: int, now_us: int) -> int:
    """When a client that beat at `latest_us`, and does so at every interval, does it next: now, if that is a time for
    it, but never twice at once.
    """
    intervals = -(-max(0, now_us - latest_us) // interval_us)
    return latest_us + max(1, intervals) * interval_us


@dataclass(slots=True)
class Timeline:
    """A queue of actions and the time it is, in microseconds."""

    now_us: int
    _planned: list[tuple[int, int, Action]] = field(default_factory=list)
    _order: "count[int]" = field(default_factory=count)

    def at(self, at_us: int, action: Action) -> None:
        """Plan an action; what is past happens now."""
        heapq.heappush(self._planned, (max(at_us, self.now_us), next(self._order), action))

    def next_us(self) -> int | None:
        """When the next action is due, None for none."""
        return self._planned[0][0] if self._planned else None

    def step(self) -> None:
        """Let the next action happen at its time."""
        self.now_us, _, action = heapq.heappop(self._planned)
        action()
