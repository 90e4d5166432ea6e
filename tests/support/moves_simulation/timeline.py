"""The world's timeline under trio's virtual clock, so that clients, broker and the running bridge share one time."""

from collections.abc import Callable
from heapq import heappop, heappush

import trio

from tests.support.simulation.timeline import Callback, Timeline


class TrioTimeline(Timeline):
    """Actions happen in the task that runs `drive`; what one of them raises goes to `fail`."""

    def __init__(self, fail: Callable[[Exception], None]) -> None:
        super().__init__()
        self._fail = fail
        self._planned = trio.Event()

    def at(self, due_ms: int, action: Callback) -> None:
        """See `Timeline`."""
        self.now_ms = max(self.now_ms, round(trio.current_time() * 1000))
        heappush(self._heap, (max(due_ms, self.now_ms), next(self._order), action))
        self._planned.set()

    async def drive(self) -> None:
        """Let everything happen at its time, until cancelled."""
        while True:
            self._planned = trio.Event()
            with trio.move_on_at(self._heap[0][0] / 1000 if self._heap else float("inf")):
                await self._planned.wait()
            self.now_ms = max(self.now_ms, round(trio.current_time() * 1000))
            while self._heap and self._heap[0][0] <= self.now_ms:
                _, _, action = heappop(self._heap)
                self.steps += 1
                try:
                    action()
                except Exception as problem:  # noqa: BLE001  # whatever happens is what the story tells
                    self._fail(problem)
                    return
