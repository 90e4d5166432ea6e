"""A queue before every partition of every group's offsets: work on one partition is done one at a time, in order.

It must not know what the work is.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable
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


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """Something to be started when all of its places are free; `connection` is whose it is."""

    connection: int
    places: Places
    start: Callable[[], None]


class PlaceQueue:
    """One line per place, its first the one that works or may begin; whoever was started has to `leave`."""

    def __init__(self, waiting_max: int = WAITING_MAX) -> None:
        self._lines: dict[Place, deque[Work]] = {}
        self._waiting: dict[Work, None] = {}
        self._waiting_max = waiting_max
        self._ready: deque[Work] = deque()
        self._is_starting = False

    @property
    def waiting(self) -> int:
        """How much work waits."""
        return len(self._waiting)

    def places_of(self, group_ids: Collection[GroupId]) -> Places:
        """The places of these groups that somebody works on or waits for now."""
        return frozenset(place for place in self._lines if place.group_id in group_ids)

    def enter(self, work: Work) -> bool:
        """Start the work, or let it wait behind what came before it; False if too much waits already."""
        is_free = all(place not in self._lines for place in work.places)
        if not is_free and len(self._waiting) >= self._waiting_max:
            return False
        for place in work.places:
            self._lines.setdefault(place, deque()).append(work)
        if is_free:
            self._start(work)
        else:
            self._waiting[work] = None
        return True

    def leave(self, places: Places) -> None:
        """The places are free; whatever waited for them and nothing else is started, in the order it came."""
        for place in places:
            self._lines[place].popleft()
        self._advance(places)

    def forget(self, connection: int) -> None:
        """Work of that connection which was not started never will be."""
        self._remove([work for work in self._waiting if work.connection == connection])

    def withdraw(self, work: Work) -> None:
        """Give up on work, whether it was started or not."""
        if work in self._waiting:
            self._remove([work])
        else:
            self.leave(work.places)

    def _remove(self, works: Collection[Work]) -> None:
        """All of them go before anything is started: one may have waited for another."""
        for work in works:
            del self._waiting[work]
            for place in work.places:
                self._lines[place].remove(work)
        self._advance(dict.fromkeys(place for work in works for place in work.places))

    def _advance(self, places: Iterable[Place]) -> None:
        firsts: dict[Work, None] = {}
        for place in places:
            line = self._lines[place]
            if line:
                firsts[line[0]] = None
            else:
                del self._lines[place]
        for work in firsts:
            if work in self._waiting and all(self._lines[place][0] is work for place in work.places):
                del self._waiting[work]
                self._start(work)

    def _start(self, work: Work) -> None:
        """Start it after what is just being started: a long chain of work that ends at once must not nest."""
        self._ready.append(work)
        if self._is_starting:
            return
        self._is_starting = True
        try:
            while self._ready:
                self._ready.popleft().start()
        finally:
            self._is_starting = False
