"""A queue before every partition of every group's offsets: work on one partition is done one at a time, in order."""

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from translators.dialects.admin import DeleteGroups
from translators.dialects.ids import GroupId, TopicPartition
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import OffsetDelete

WAITING_MAX = 10_000
"""How much work may wait; beyond that it is refused."""


class GroupPartition(NamedTuple):
    """One partition of one group, as the broker's offsets have it."""

    group_id: GroupId
    partition: TopicPartition


GroupPartitions = frozenset[GroupPartition]


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """Something to be started when all of its places are free; `connection` is whose it is."""

    connection: int
    places: GroupPartitions
    start: Callable[[], None]


def _first(line: OrderedDict[Work, None]) -> Work:
    return next(iter(line))


class PartitionQueue:
    """One line per place, its first the one that works or may begin; whoever was started has to `leave`."""

    def __init__(self, waiting_max: int = WAITING_MAX) -> None:
        self._lines: dict[GroupId, dict[TopicPartition, OrderedDict[Work, None]]] = {}
        """In order, and left from anywhere in no time: who goes may stand behind thousands. By group, as whoever
        deletes one asks for its own: of 600,000 that waited for a hung broker all were looked at for each name.
        """
        self._waiting: set[Work] = set()
        self._waiting_of: dict[int, dict[Work, None]] = {}
        """What of it is whose, in order."""
        self._waiting_max = waiting_max
        self._ready: deque[Work] = deque()
        self._is_starting = False

    @property
    def waiting(self) -> int:
        """How much work waits."""
        return len(self._waiting)

    def places_of(self, group_ids: Collection[GroupId]) -> GroupPartitions:
        """The places of these groups that somebody works on or waits for now."""
        return frozenset(
            GroupPartition(group_id, partition) for group_id in group_ids for partition in self._lines.get(group_id, ())
        )

    def enter(self, work: Work) -> bool:
        """Start the work, or let it wait behind what came before it; False if too much waits already."""
        is_free = all(partition not in self._lines.get(group_id, ()) for group_id, partition in work.places)
        if not is_free and len(self._waiting) >= self._waiting_max:
            return False
        for group_id, partition in work.places:
            self._lines.setdefault(group_id, {}).setdefault(partition, OrderedDict())[work] = None
        if is_free:
            self._start(work)
        else:
            self._waiting.add(work)
            self._waiting_of.setdefault(work.connection, {})[work] = None
        return True

    def leave(self, places: GroupPartitions) -> None:
        """The places are free; whatever waited for them and nothing else is started, in the order it came."""
        for group_id, partition in places:
            self._lines[group_id][partition].popitem(last=False)
        self._advance(places)

    def forget(self, connection: int) -> None:
        """Work of that connection which was not started never will be."""
        self._remove(tuple(self._waiting_of.get(connection, ())))

    def withdraw(self, work: Work) -> None:
        """Give up on work, whether it was started or not."""
        if work in self._waiting:
            self._remove([work])
        else:
            self.leave(work.places)

    def _remove(self, works: Collection[Work]) -> None:
        """All of them go before anything is started: one may have waited for another."""
        for work in works:
            self._end_wait(work)
            for group_id, partition in work.places:
                del self._lines[group_id][partition][work]
        self._advance(dict.fromkeys(place for work in works for place in work.places))

    def _advance(self, places: Iterable[GroupPartition]) -> None:
        firsts: dict[Work, None] = {}
        for place in places:
            group_id, partition = place
            line = self._lines[group_id][partition]
            if line:
                firsts[_first(line)] = None
            else:
                self._close(place)
        for work in firsts:
            if work in self._waiting and all(_first(self._lines[one][other]) is work for one, other in work.places):
                self._end_wait(work)
                self._start(work)

    def _close(self, place: GroupPartition) -> None:
        """Nobody works there, nor waits."""
        lines = self._lines[place.group_id]
        del lines[place.partition]
        if not lines:
            del self._lines[place.group_id]

    def _end_wait(self, work: Work) -> None:
        self._waiting.remove(work)
        of_connection = self._waiting_of[work.connection]
        del of_connection[work]
        if not of_connection:
            del self._waiting_of[work.connection]

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


Answer = Callable[[GroupReply], None]
NO_PLACES: GroupPartitions = frozenset()


def partitions_deleted(request: GroupRequest, queue: PartitionQueue) -> GroupPartitions:
    """The partitions whose offsets a request deletes; of whole groups, those that commits are on their way to.

    A commit to another partition of such a group that comes meanwhile was not acknowledged before the deletion.
    """
    if isinstance(request, OffsetDelete):
        return frozenset(
            GroupPartition(request.group_id, TopicPartition(topic.name, number))
            for topic in request.topics
            for number in topic.partitions
        )
    return queue.places_of(frozenset(request.group_ids)) if isinstance(request, DeleteGroups) else NO_PLACES


@dataclass(slots=True)
class Deletion:
    """The time in which a request holds its places; the first answer ends it."""

    queue: PartitionQueue
    places: GroupPartitions
    deliver: Answer

    def answer(self, reply: GroupReply) -> None:
        """Pass the answer on and give the places free."""
        self.deliver(reply)
        self.end()

    def end(self) -> None:
        """Give the places free, once."""
        places, self.places = self.places, NO_PLACES
        if places:
            self.queue.leave(places)


def queue_deletion(queue: PartitionQueue, connection: int, turn: Deletion, act: Callable[[Deletion], None]) -> bool:
    """Act now, or when the places of the turn are free; False if too much waits for places already."""
    if turn.places:
        return queue.enter(Work(connection, turn.places, lambda: act(turn)))
    act(turn)
    return True
