"""Groups that are being moved, as the session room sees them: every request goes to the move of its group."""

from collections.abc import Callable
from typing import Protocol

from bridge.coordinators.moving.requests import Held, Ways, classic_member_of
from bridge.migration.route import Road
from bridge.wire.codec.registry import group_ids
from translators.dialects.classic import Heartbeat
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.ids import ClientIdentity, GroupId, RequestRef, Via
from translators.dialects.messages import GroupRequest


class Underway(Protocol):
    """A move that is being made: until it is over it has the word on every request of its group."""

    def take(self, held: Held) -> None:
        """A request of the group came."""
        ...

    def disconnected(self, connection: int) -> None:
        """A client connection is gone."""
        ...


class MovingGroups:
    """Moves by group (`session.contracts.Groups`)."""

    def __init__(self, ways: Ways, now_ms: Callable[[], int]) -> None:
        self.lost: Callable[[int], None] = lambda _: None
        """Hears of every connection that is gone."""
        self._ways = ways
        self._now_ms = now_ms
        self._underway: dict[GroupId, Underway] = {}

    def begin(self, group_id: GroupId, move: Underway) -> None:
        """From now on requests of this group go to its move."""
        self._underway[group_id] = move

    def end(self, group_id: GroupId) -> None:
        """The move is over: whatever still comes here goes on by the group's new road."""
        self._underway.pop(group_id, None)

    def submit(self, ref: RequestRef, client: ClientIdentity, via: Via, request: GroupRequest) -> None:
        """See `session.contracts.Groups`."""
        # Of several groups in one request each is asked for by itself: no move has the word on another.
        group_id = group_ids(request)[0]
        held = Held(ref, client, via, request, self._now_ms())
        move = self._underway.get(group_id)
        if move is not None:
            move.take(held)
            return
        # It was cut for a move that has ended since.
        road = self._ways.router.road(group_id, classic_member_of(request))
        self._ways.by_road(held, Road.PASS if road is Road.MOVING else road)

    def beat(self, client: ClientIdentity, request: Heartbeat | ConsumerGroupHeartbeat) -> bool:
        """See `session.contracts.Groups`: each may be what its move waits for."""
        return False

    def disconnected(self, connection: int) -> None:
        """See `session.contracts.Groups`."""
        self.lost(connection)
        for move in tuple(self._underway.values()):
            move.disconnected(connection)
