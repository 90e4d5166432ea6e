"""Moves that take a group as a whole, adopt, release and reseat: how each is put together, and what its end means."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial

from bridge.coordinators.moving.adopt import Adopting, AdoptMove
from bridge.coordinators.moving.journey_door import Parts
from bridge.coordinators.moving.progress import Progress
from bridge.coordinators.moving.release import ReleaseMove, Releasing
from bridge.coordinators.moving.requests import Held, classic_member_of
from bridge.coordinators.moving.reseat import Reseating, ReseatMove
from bridge.coordinators.moving.survey import SHARE_OF_SESSION
from bridge.migration.moves.adopt import Adopted
from bridge.migration.moves.itinerary import Outcome
from bridge.migration.moves.members import ClassicMember
from bridge.migration.moves.release import Kept as NotReleased
from bridge.migration.moves.reseat import Called
from bridge.migration.moves.rest import Kept
from bridge.migration.orders import Obstacle
from bridge.migration.route import Road
from translators.dialects.ids import GroupId, MemberId

WholeMove = AdoptMove[Held] | ReleaseMove[Held] | ReseatMove[Held]
Members = Mapping[MemberId, ClassicMember]


@dataclass(frozen=True, slots=True)
class WholeGroups:
    """Makes these moves, and says how they ended."""

    parts: Parts

    def reseating(
        self, progress: Progress, group_id: GroupId, members: Members, reconverts: Callable[[], Awaitable[bool | None]]
    ) -> ReseatMove[Held]:
        """The move of a group that was given back to a classic group; on the way to upstream it is one already, and
        loses the user data of its assignments.
        """
        candidates, order = self.parts.candidates, progress.now.order
        ways = candidates.around.ways
        around: Reseating[Held] = Reseating(
            pass_on=self._pass_on(group_id),
            excuse=ways.excuse,
            note=progress.note,
            write=self.parts.places.write,
            # An origin that no order has: what goes on after a restart is a reseat then, and no give-back of members.
            begin=partial(self.parts.places.begin_move, order, Road.MAPPED),
            reconverts=reconverts,
            access=ways.access,
            mapped=candidates.around.mapped,
            broker=candidates.broker,
            coordinators=self.parts.coordinators,
            now_ms=self.parts.clock.now_ms,
            clock=self.parts.clock,
        )
        move = ReseatMove(around, group_id, members, is_to_be_cleared=order.destination is Road.UPSTREAM)
        move.meet(candidates.roster)
        return move

    def _pass_on(self, group_id: GroupId) -> Callable[[Held], None]:
        around = self.parts.candidates.around

        def pass_on(held: Held) -> None:
            member_id = classic_member_of(held.request)
            around.ways.by_road(held, Road.PASS if member_id is None else around.home(group_id, member_id))

        return pass_on

    def adopting(self, progress: Progress, group_id: GroupId, members: Members) -> AdoptMove[Held]:
        """The move of a group from its broker to the engine."""
        candidates = self.parts.candidates
        ways, seats = candidates.around.ways, candidates.around.mapped.seats_of(group_id)
        around: Adopting[Held] = Adopting(
            pass_on=self._pass_on(group_id),
            excuse=ways.excuse,
            note=progress.note,
            access=ways.access,
            embedded=candidates.embedded,
            broker=candidates.broker,
            coordinators=self.parts.coordinators,
            now_ms=self.parts.clock.now_ms,
        )
        move = AdoptMove(around, group_id, members, seats)
        move.meet(candidates.roster)
        return move

    def releasing(self, progress: Progress, group_id: GroupId, members: Collection[ClassicMember]) -> ReleaseMove[Held]:
        """The move of a group from the engine to its broker."""
        candidates = self.parts.candidates
        ways = candidates.around.ways
        around: Releasing[Held] = Releasing(
            to_engine=lambda held: ways.by_road(held, Road.EMBEDDED),
            excuse=ways.excuse,
            note=progress.note,
            tell=progress.warn,
            write=self.parts.places.write,
            embedded=candidates.embedded,
            mapped=candidates.around.mapped,
            broker=candidates.broker,
            coordinators=self.parts.coordinators,
            clock=self.parts.clock,
        )
        hold_ms = min((one.session_timeout_ms for one in members), default=0) // SHARE_OF_SESSION
        return ReleaseMove(around, group_id, hold_ms)

    def settle(self, group_id: GroupId, move: WholeMove) -> tuple[Outcome, Obstacle | None]:
        """How it ended, and why not well; an adopted group's members are mapped no more."""
        match move.state:
            case Kept(reason) | NotReleased(reason):
                return Outcome.KEPT, reason
            case Called(reason):
                return Outcome.PARTLY, reason
            case Adopted():
                mapped = self.parts.candidates.around.mapped
                for member_id in tuple(mapped.seats_of(group_id)):
                    mapped.take_out(group_id, member_id)
            case _:
                pass
        return Outcome.MADE, None
