"""Moves that take a group as a whole: adopt, release, reseat; found feasible, begun, gone on with after a restart."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial

import trio

from bridge.coordinators.embedded.groups import EmbeddedGroups
from bridge.coordinators.embedded.handover import Handover
from bridge.coordinators.mapped.groups import MappedGroups
from bridge.coordinators.moving.adopt import Adopting, AdoptMove
from bridge.coordinators.moving.places import Places
from bridge.coordinators.moving.progress import Progress
from bridge.coordinators.moving.release import ReleaseMove, Releasing, member_of, restless, unconvertible
from bridge.coordinators.moving.requests import Held, classic_member_of
from bridge.coordinators.moving.reseat import Reseating, ReseatMove
from bridge.coordinators.moving.surroundings import Around
from bridge.engine.outcome import NotConverted
from bridge.migration.moves.adopt import Adopted
from bridge.migration.moves.itinerary import Outcome
from bridge.migration.moves.members import ClassicMember
from bridge.migration.moves.release import Kept as NotReleased
from bridge.migration.moves.reseat import Called
from bridge.migration.moves.rest import Kept
from bridge.migration.orders import Obstacle
from bridge.migration.roster import Roster
from bridge.migration.route import Road
from bridge.ports import Broker, Clock, Coordinators
from translators.dialects.ids import GroupId, MemberId

REST_S = 15.0
"""How long a look waits for a group to come to rest."""
LOOK_S = 0.1
WholeMove = AdoptMove[Held] | ReleaseMove[Held] | ReseatMove[Held]
Members = Mapping[MemberId, ClassicMember]


def as_clients_know(group_id: GroupId, found: Members, mapped: MappedGroups) -> Members:
    """Members that their broker has described, mapped ones by the ids and generations that their clients know."""
    members = dict(found)
    for seat in mapped.seats_of(group_id).values():
        member = members.pop(seat.seat_id, None)
        if member is not None:
            members[seat.member_id] = replace(member, member_id=seat.member_id, generation=seat.generation)
    return members


def with_last_words(group_id: GroupId, found: Members, mapped: MappedGroups) -> Members:
    """The same members, by their ids at the broker; who is mapped has not joined since it said so."""
    members = dict(found)
    for seat in mapped.seats_of(group_id).values():
        member = members.get(seat.seat_id)
        if member is not None and seat.member is not None:
            members[seat.seat_id] = replace(
                member,
                protocols=seat.member.protocols,
                protocol_name=seat.member.protocol_name,
                session_timeout_ms=seat.member.session_timeout_ms,
                rebalance_timeout_ms=seat.member.rebalance_timeout_ms,
            )
    return members


async def find_in_engine(group_id: GroupId, embedded: EmbeddedGroups) -> Members | tuple[Obstacle, ...]:
    """The members of a group here, once they are at rest; or why they can't be released."""
    what = ""
    with trio.move_on_after(REST_S):
        while True:
            found = embedded.read_handover(group_id)
            if isinstance(found, Handover):
                return {seat.member_id: member_of(seat) for seat in found.seats}
            if isinstance(found, NotConverted):
                return (unconvertible(found),)
            what = found.what
            await trio.sleep(LOOK_S)
    return (restless(group_id, what),)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeGroups:
    """What these moves are made with."""

    around: Around
    embedded: EmbeddedGroups
    places: Places
    roster: Roster
    broker: Broker
    coordinators: Coordinators
    clock: Clock

    def reseating(
        self, progress: Progress, group_id: GroupId, members: Members, reconverts: Callable[[], Awaitable[bool | None]]
    ) -> ReseatMove[Held]:
        """The move of a group that was given back to a classic group; on the way to upstream it is one already, and
        loses the user data of its assignments.
        """
        ways, order = self.around.ways, progress.now.order
        around: Reseating[Held] = Reseating(
            pass_on=self._pass_on(group_id),
            excuse=ways.excuse,
            note=progress.note,
            write=self.places.write,
            # An origin that no order has: what goes on after a restart is a reseat then, and no give-back of members.
            begin=partial(self.places.begin_move, order, Road.MAPPED),
            reconverts=reconverts,
            access=ways.access,
            mapped=self.around.mapped,
            broker=self.broker,
            coordinators=self.coordinators,
            clock=self.clock,
        )
        move = ReseatMove(around, group_id, members, is_to_be_cleared=order.destination is Road.UPSTREAM)
        move.meet(self.roster)
        return move

    def _pass_on(self, group_id: GroupId) -> Callable[[Held], None]:
        def pass_on(held: Held) -> None:
            member_id = classic_member_of(held.request)
            road = Road.PASS if member_id is None else self.around.home(group_id, member_id)
            self.around.ways.by_road(held, road)

        return pass_on

    def adopting(self, progress: Progress, group_id: GroupId, members: Members) -> AdoptMove[Held]:
        """The move of a group from its broker to the engine."""
        ways, seats = self.around.ways, self.around.mapped.seats_of(group_id)
        around: Adopting[Held] = Adopting(
            pass_on=self._pass_on(group_id),
            excuse=ways.excuse,
            note=progress.note,
            access=ways.access,
            embedded=self.embedded,
            broker=self.broker,
            coordinators=self.coordinators,
            now_ms=self.clock.now_ms,
        )
        move = AdoptMove(around, group_id, members, seats)
        move.meet(self.roster)
        return move

    def releasing(self, progress: Progress, group_id: GroupId, members: Collection[ClassicMember]) -> ReleaseMove[Held]:
        """The move of a group from the engine to its broker."""
        ways = self.around.ways
        around: Releasing[Held] = Releasing(
            to_engine=lambda held: ways.by_road(held, Road.EMBEDDED),
            excuse=ways.excuse,
            note=progress.note,
            tell=progress.warn,
            write=self.places.write,
            embedded=self.embedded,
            mapped=self.around.mapped,
            broker=self.broker,
            coordinators=self.coordinators,
            clock=self.clock,
        )
        hold_ms = min((one.session_timeout_ms for one in members), default=0) // 3
        return ReleaseMove(around, group_id, hold_ms)

    def settle(self, group_id: GroupId, move: WholeMove) -> tuple[Outcome, Obstacle | None]:
        """How it ended, and why not well; an adopted group's members are mapped no more."""
        match move.state:
            case Kept(reason) | NotReleased(reason):
                return Outcome.KEPT, reason
            case Called(reason):
                return Outcome.PARTLY, reason
            case Adopted():
                for member_id in tuple(self.around.mapped.seats_of(group_id)):
                    self.around.mapped.take_out(group_id, member_id)
            case _:
                pass
        return Outcome.MADE, None
