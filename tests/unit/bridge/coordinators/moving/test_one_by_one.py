"""What every move of single members does with time and with what waits, whatever its machine makes of it."""

from trio.testing import MockClock

from bridge.coordinators.moving.one_by_one import OneByOne
from bridge.coordinators.moving.progress import Progress
from bridge.coordinators.moving.requests import Held
from bridge.coordinators.moving.survey import survey
from bridge.migration.moves.one_by_one import GaveUp, Stopped, ToldGone
from bridge.migration.orders import MoveOrder
from bridge.migration.roster import Roster
from bridge.migration.route import Road
from tests.support.moving_world import GENERATION, MovingWorld, classic_join, described, moving_world
from tests.support.owned_group import CLIENT, GROUP
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.coordinator import Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NOWHERE, MemberId, RequestRef, via_of

A = MemberId("a")
STOP = Refused(ErrorCode.REQUEST_TIMED_OUT, "it was not heard")


class Obedient(OneByOne[str]):
    """A move that is over as soon as it is given up, and notes what happens to it."""

    def __init__(self, world: MovingWorld) -> None:
        around = world.candidates.around
        progress = Progress(MoveOrder(GROUP, Road.UPSTREAM), Road.PASS, around.now_ms)
        super().__init__(around, progress, GROUP, survey(described({A: frozenset()}), Roster()).members)
        self.seen: list[str | ToldGone | Stopped | GaveUp] = []
        self.ends = 0
        self.is_over = self._count

    def hold(self, held: Held) -> None:
        """Keep what its member asks, or a newcomer's JoinGroup."""
        if isinstance(held.request, Heartbeat):
            self._vias[A] = held.via
            self._waiting.hold(A, held)
        else:
            self._waiting.hold_join(held)

    def _count(self) -> None:
        self.ends += 1

    @property
    def _all_have_ended(self) -> bool:
        return any(isinstance(one, GaveUp) for one in self.seen)

    def _step(self, event: str | ToldGone | Stopped | GaveUp) -> None:
        self.seen.append(event)
        if isinstance(event, Stopped):
            self._happen("told while it is stopped")
            assert len(self.seen) == 1, "what happens in the middle of a step waits for its end"

    def _let_go_where_known(self) -> None:
        self.seen.append("let go")


async def test_end_is_told_once(autojump_clock: MockClock) -> None:
    """A move that was given up is stopped, too, by whoever looks after time."""
    async with moving_world() as world:
        move = Obedient(world)
        move.stop(STOP)
        assert (move.seen, move.ends) == ([Stopped(STOP), "told while it is stopped", "let go"], 0)
        move.give_up()
        move.give_up()
        assert move.ends == 1


async def test_what_waits_is_answered_or_taken(autojump_clock: MockClock) -> None:
    """Whoever was heard last by a connection is asked by it; what came lately waits on."""
    async with moving_world() as world:
        move, connection = Obedient(world), world.via(A).connection
        assert move.via_of(A) == NOWHERE
        refs = [RequestRef(0, connection, number) for number in range(3)]
        beat, join = Heartbeat(GROUP, GENERATION, A, None), classic_join("")
        for ref, request, at_ms in ((refs[0], beat, 10), (refs[1], beat, 20), (refs[2], join, 20)):
            move.hold(Held(ref, CLIENT, via_of(ref), request, at_ms))
        move.excuse(20)
        assert move.via_of(A) == via_of(refs[0])
        assert [world.reply(ref) for ref in refs] == [HeartbeatReply(ErrorCode.NONE), None, None]
        assert [held.request for held in move.take_joins()] == [join]
        assert move.take_joins() == []
