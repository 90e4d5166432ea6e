"""A queue before every partition of every group's offsets: work on one partition is done one at a time, in order.

It must not know what the work is.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from translators.dialects.ids import GroupId, TopicPartition

WAITING_MAX = 10_000
"""How much work may wait; beyond that it is refused."""


class Place(NamedTuple):
    """One partition of one group, as the broker's offsets have it."""

    group_id: GroupId
    partition: TopicPartition


Places = frozenset[Place]


@dataclass(frozen=True, slots=True)
class Work:
    """Something to be started when all of its places are free; `connection` is whose it is."""

    connection: int
    places: Places
    start: Callable[[], None]


class PlaceQueue:
    """Who works where and who waits; whoever was started has to `leave`."""

    def __init__(self) -> None:
        self._busy: set[Place] = set()
        self._waiting: deque[Work] = deque()

    def enter(self, work: Work) -> bool:
        """Start the work, or let it wait behind what came before it; False if too much waits already."""
        if not self._is_blocked(work.places):
            self._begin(work)
        elif len(self._waiting) < WAITING_MAX:
            self._waiting.append(work)
        else:
            return False
        return True

    def leave(self, places: Places) -> None:
        """The places are free; whatever waited for them and nothing else is started."""
        self._busy -= places
        still, self._waiting = self._waiting, deque()
        while still:
            work = still.popleft()
            if self._is_blocked(work.places):
                self._waiting.append(work)
            else:
                self._begin(work)

    def forget(self, connection: int) -> None:
        """Work of that connection which was not started never will be."""
        self._waiting = deque(work for work in self._waiting if work.connection != connection)

    def withdraw(self, work: Work) -> None:
        """Give up on work, whether it was started or not."""
        if work in self._waiting:
            self._waiting.remove(work)
        else:
            self.leave(work.places)

    def _begin(self, work: Work) -> None:
        self._busy |= work.places
        work.start()

    def _is_blocked(self, places: Places) -> bool:
        return not self._busy.isdisjoint(places) or any(not work.places.isdisjoint(places) for work in self._waiting)
