"""Deadlines by key with the earliest one at hand, cheap to move."""

import heapq
from dataclasses import dataclass, field

from bridge.engine.model import DeadlineKey


@dataclass(slots=True)
class Deadlines:
    """When each key is due, in milliseconds.

    Moving a deadline later, what every heartbeat does, touches only a dictionary: the heap keeps one entry per key that
    is never later than the truth and is corrected when it comes up. The heap is not part of the value.
    """

    due: dict[DeadlineKey, int] = field(default_factory=dict)
    _queued: dict[DeadlineKey, int] = field(default_factory=dict, compare=False)
    _heap: list[tuple[int, DeadlineKey]] = field(default_factory=list, compare=False)

    def put(self, key: DeadlineKey, at_ms: int) -> None:
        """Set or move a deadline; O(1) if it moves later, O(log n) else."""
        self.due[key] = at_ms
        queued_ms = self._queued.get(key)
        if queued_ms is None or at_ms < queued_ms:
            self._queue(key, at_ms)

    def drop(self, key: DeadlineKey) -> None:
        """Forget a deadline, if there is one."""
        self.due.pop(key, None)

    def earliest(self) -> int | None:
        """When the next deadline is due, None if there is none; amortised O(log n)."""
        self._settle()
        return self._heap[0][0] if self._heap else None

    def passed(self, now_ms: int) -> tuple[DeadlineKey, ...]:
        """The keys due at `now_ms`, earliest first; they stay until put again or dropped."""
        keys: list[DeadlineKey] = []
        while (at_ms := self.earliest()) is not None and at_ms <= now_ms:
            key = heapq.heappop(self._heap)[1]
            del self._queued[key]
            keys.append(key)
        for key in keys:
            self._queue(key, self.due[key])
        return tuple(keys)

    def _queue(self, key: DeadlineKey, at_ms: int) -> None:
        self._queued[key] = at_ms
        heapq.heappush(self._heap, (at_ms, key))

    def _settle(self) -> None:
        """Make the heap's first entry a true one."""
        while self._heap:
            at_ms, key = self._heap[0]
            if self._queued.get(key) != at_ms:
                heapq.heappop(self._heap)
                continue
            due_ms = self.due.get(key)
            if due_ms == at_ms:
                return
            heapq.heappop(self._heap)
            del self._queued[key]
            if due_ms is not None:
                self._queue(key, due_ms)
