"""Deletions of offsets take their place behind the commits before them: what was committed earlier must not land later.

It must not know who may delete what, nor how the broker is asked.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bridge.coordinators.place_queue import Place, PlaceQueue, Places, Work
from translators.dialects.admin import DeleteGroups
from translators.dialects.ids import TopicPartition
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import OffsetDelete

Answer = Callable[[GroupReply], None]
NO_PLACES: Places = frozenset()


def places_deleted(request: GroupRequest, queue: PlaceQueue) -> Places:
    """The partitions whose offsets a request deletes; of whole groups, those that commits are on their way to.

    A commit to another partition of such a group that comes meanwhile was not acknowledged before the deletion.
    """
    if isinstance(request, OffsetDelete):
        return frozenset(
            Place(request.group_id, TopicPartition(topic.name, number))
            for topic in request.topics
            for number in topic.partitions
        )
    return queue.places_of(frozenset(request.group_ids)) if isinstance(request, DeleteGroups) else NO_PLACES


@dataclass(slots=True)
class Turn:
    """The time in which a request holds its places; the first answer ends it."""

    queue: PlaceQueue
    places: Places
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


def take_turn(queue: PlaceQueue, connection: int, turn: Turn, act: Callable[[Turn], None]) -> bool:
    """Act now, or when the places of the turn are free; False if too much waits for places already."""
    if turn.places:
        return queue.enter(Work(connection, turn.places, lambda: act(turn)))
    act(turn)
    return True
