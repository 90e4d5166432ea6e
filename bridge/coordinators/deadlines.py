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
    """Never later than the deadline of a key: one that moves later costs nothing until it is due.

    A key that is to be looked at earlier than before keeps its former entry for what comes behind: members that are
    heard of every few seconds had another one for the end of their session each time.
    """

    def __init__(self) -> None:
        self._heap: list[int] = []
        """The times of `_at`; those who are due in the same millisecond have one in common."""
        self._at: dict[int, list[KeyT]] = {}
        """Whom to look at then, and some who are not to be any more."""
        self._entered: dict[KeyT, int] = {}
        self._behind: dict[KeyT, int] = {}
        """A later entry that a key has besides."""

    def note(self, key: KeyT, deadline_ms: int | None) -> None:
        """Look at `key` at that time at the latest; None or a later time than noted changes nothing."""
        if deadline_ms is None:
            return
        entered_ms = self._entered.get(key)
        if entered_ms is not None:
            if entered_ms <= deadline_ms:
                return
            self._behind[key] = entered_ms
        self._entered[key] = deadline_ms
        keys = self._at.get(deadline_ms)
        if keys is None:
            self._at[deadline_ms] = [key]
            heappush(self._heap, deadline_ms)
        else:
            keys.append(key)

    def next_ms(self) -> int | None:
        """When to look again; perhaps too early, never too late."""
        while self._heap:
            at_ms = self._heap[0]
            keys = self._at[at_ms]
            while keys:
                if self._entered.get(keys[-1]) == at_ms:
                    return at_ms
                keys.pop()
            self._pass()
        return None

    def take_due(self, now_ms: int, deadline_of: Callable[[KeyT], int | None]) -> list[KeyT]:
        """The keys whose deadline, as `deadline_of` tells it now, has passed; the others are noted anew."""
        due: list[KeyT] = []
        while self._heap and self._heap[0] <= now_ms:
            at_ms = self._heap[0]
            for key in self._at[at_ms]:
                if self._entered.get(key) != at_ms:
                    continue
                self._leave(key, now_ms)
                deadline_ms = deadline_of(key)
                if deadline_ms is not None and deadline_ms <= now_ms:
                    due.append(key)
                else:
                    self.note(key, deadline_ms)
            self._pass()
        return due

    def _leave(self, key: KeyT, now_ms: int) -> None:
        behind_ms = self._behind.pop(key, None)
        if behind_ms is None or behind_ms <= now_ms:
            del self._entered[key]
        else:
            self._entered[key] = behind_ms

    def _pass(self) -> None:
        del self._at[heappop(self._heap)]


class Alarm:
    """Lets one task sleep until something is due, or until there is something to do; `next_due_ms` may say never."""

    def __init__(self, now_ms: Callable[[], int], next_due_ms: Callable[[], float]) -> None:
        self._now_ms = now_ms
        self._next_due_ms = next_due_ms
        self._is_rung = False
        self._sleeper: trio.lowlevel.Task | None = None
        self._sleeps_until_ms: float = -inf
        """While the task is awake it looks by itself before it sleeps."""

    def ring(self) -> None:
        """There is something to do."""
        self._is_rung = True
        self._wake()

    def due_changed(self) -> None:
        """Something may be due earlier than the task meant to wake."""
        if self._sleeps_until_ms > -inf:
            self.due_at(self._next_due_ms())

    def due_at(self, due_ms: float) -> None:
        """The same, where it is known what is due then."""
        if due_ms < self._sleeps_until_ms:
            self.ring()

    async def wait(self) -> None:
        """Sleep; returns when the next thing is due, and a moment later if the wake-up itself was late.

        Sessions and waits would else be over for members whose requests lie unread in their sockets.
        """
        due_ms = self._sleeps_until_ms = self._next_due_ms()
        pause_ms = due_ms - self._now_ms()
        if pause_ms > 0 and not self._is_rung:
            with trio.move_on_after(pause_ms / 1000):
                self._sleeper = trio.lowlevel.current_task()
                await trio.lowlevel.wait_task_rescheduled(self._end_sleep)
        if pause_ms > 0 and self._now_ms() - due_ms > LATE_MS:
            await trio.sleep(CATCH_UP_MS / 1000)
        self._sleeps_until_ms = -inf
        self._is_rung = False
        await trio.lowlevel.checkpoint()

    def _end_sleep(self, _: object) -> trio.lowlevel.Abort:
        """The time is over, or the task is cancelled, which the checkpoint behind tells it: Cancelled, raised whenever
        something is due, cost as much as all that it was due for.
        """
        self._wake()
        return trio.lowlevel.Abort.FAILED

    def _wake(self) -> None:
        sleeper, self._sleeper = self._sleeper, None
        if sleeper is not None:
            trio.lowlevel.reschedule(sleeper)
