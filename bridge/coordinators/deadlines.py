"""Which of many keys has to be looked at next, when most deadlines only ever move later; and the wait for that."""

from collections.abc import Callable, Hashable
from heapq import heappop, heappush
from math import inf
from typing import Generic, TypeVar

import trio

LATE_MS, CATCH_UP_MS = 100, 50
"""Woken so much too late, the machine or the process was held up; then what clients sent meanwhile is read first."""
KeyT = TypeVar("KeyT", bound=Hashable)


class Deadlines(Generic[KeyT]):
    """At most one entry a key, never later than its deadline: one that moves later costs nothing until it is due."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, KeyT]] = []
        self._entered: dict[KeyT, int] = {}
        self._count = 0

    def __contains__(self, key: KeyT) -> bool:
        """Whether a key will be looked at."""
        return key in self._entered

    def note(self, key: KeyT, deadline_ms: int | None) -> None:
        """Look at `key` at that time at the latest; None or a later time than noted changes nothing."""
        if deadline_ms is None or self._entered.get(key, deadline_ms + 1) <= deadline_ms:
            return
        self._entered[key] = deadline_ms
        self._count += 1
        heappush(self._heap, (deadline_ms, self._count, key))

    def next_ms(self) -> int | None:
        """When to look again; perhaps too early, never too late."""
        while self._heap:
            deadline_ms, _, key = self._heap[0]
            if self._entered.get(key) == deadline_ms:
                return deadline_ms
            heappop(self._heap)
        return None

    def take_due(self, now_ms: int, deadline_of: Callable[[KeyT], int | None]) -> list[KeyT]:
        """The keys whose deadline, as `deadline_of` tells it now, has passed; the others are noted anew."""
        due: list[KeyT] = []
        while (at_ms := self.next_ms()) is not None and at_ms <= now_ms:
            _, _, key = heappop(self._heap)
            del self._entered[key]
            deadline_ms = deadline_of(key)
            if deadline_ms is not None and deadline_ms <= now_ms:
                due.append(key)
            else:
                self.note(key, deadline_ms)
        return due


class Alarm:
    """Lets one task sleep until something is due, or until there is something to do; `next_due_ms` may say never."""

    def __init__(self, now_ms: Callable[[], int], next_due_ms: Callable[[], float]) -> None:
        self._now_ms = now_ms
        self._next_due_ms = next_due_ms
        self._rung = trio.Event()
        self._sleeps_until_ms: float = -inf
        """While the task is awake it looks by itself before it sleeps."""

    def ring(self) -> None:
        """There is something to do."""
        self._rung.set()

    def due_changed(self) -> None:
        """Something may be due earlier than the task meant to wake."""
        if self._sleeps_until_ms > -inf:
            self.due_at(self._next_due_ms())

    def due_at(self, due_ms: float) -> None:
        """The same, where it is known what is due then."""
        if due_ms < self._sleeps_until_ms:
            self._rung.set()

    async def wait(self) -> None:
        """Sleep; returns when the next thing is due, and a moment later if the wake-up itself was late.

        Sessions and waits would else be over for members whose requests lie unread in their sockets.
        """
        due_ms = self._sleeps_until_ms = self._next_due_ms()
        pause_ms = due_ms - self._now_ms()
        with trio.move_on_after(max(0.0, pause_ms / 1000)):
            await self._rung.wait()
        if pause_ms > 0 and self._now_ms() - due_ms > LATE_MS:
            await trio.sleep(CATCH_UP_MS / 1000)
        self._sleeps_until_ms = -inf
        self._rung = trio.Event()
        await trio.lowlevel.checkpoint()
