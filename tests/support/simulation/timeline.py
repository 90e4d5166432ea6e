"""Virtual time: what is to happen when, and in which order among equals."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

Callback = Callable[[], None]


class Timeline:
    """A heap of actions keyed by time and by the order in which they were planned, so that one seed has one outcome."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.steps = 0
        self._heap: list[tuple[int, int, Callback]] = []
        self._order = count()

    def at(self, due_ms: int, action: Callback) -> None:
        """Plan an action; one that should have happened already happens next."""
        heappush(self._heap, (max(due_ms, self.now_ms), next(self._order), action))

    def after(self, delay_ms: int, action: Callback) -> None:
        """Plan an action from now on."""
        self.at(self.now_ms + delay_ms, action)

    def run_until(self, end_ms: int) -> None:
        """Let happen what is due up to and including a time, which is now then."""
        while self._heap and self._heap[0][0] <= end_ms:
            self.now_ms, _, action = heappop(self._heap)
            self.steps += 1
            action()
        self.now_ms = max(self.now_ms, end_ms)
