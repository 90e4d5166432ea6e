"""How a move of a whole group ended, and what becomes of mapped members then."""

import pytest
from trio.testing import MockClock

from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.progress import Progress
from bridge.coordinators.moving.whole_groups import WholeGroups
from bridge.migration.moves.adopt import Adopted
from bridge.migration.moves.itinerary import Outcome
from bridge.migration.moves.release import Kept as NotReleased
from bridge.migration.moves.release import Released, ReleaseState
from bridge.migration.moves.reseat import Called, Reseated, ReseatState
from bridge.migration.moves.rest import Kept
from bridge.migration.orders import MoveOrder, Obstacle
from bridge.migration.route import Road
from tests.support.moving_world import moving_world
from tests.support.owned_group import GROUP
from translators.dialects.ids import MemberId

WHY = Obstacle("EB-MOVE-224", "it is not at rest", "order it again")
SEAT = MappedSeat(member_id=MemberId("a"), generation=1, seat_id=MemberId("seat"), seat_generation=2)


def progress(destination: Road, origin: Road) -> Progress:
    """Of an order for the group."""
    return Progress(MoveOrder(GROUP, destination), origin, lambda: 0)


async def test_members_of_an_adopted_group_are_mapped_no_more(autojump_clock: MockClock) -> None:
    """The engine has them by the ids that their clients know; where it was kept, their broker still has the others."""
    async with moving_world() as world:
        world.mapped.put(GROUP, SEAT)
        whole = WholeGroups(world.parts)
        move = whole.adopting(progress(Road.EMBEDDED, Road.PASS), GROUP, {})
        move.state = Kept(WHY)
        assert (whole.settle(GROUP, move), set(world.mapped.seats_of(GROUP))) == ((Outcome.KEPT, WHY), {"a"})
        move.state = Adopted()
        assert (whole.settle(GROUP, move), set(world.mapped.seats_of(GROUP))) == ((Outcome.MADE, None), set())


@pytest.mark.parametrize(
    ("state", "outcome"), [(Reseated(), (Outcome.MADE, None)), (Called(WHY), (Outcome.PARTLY, WHY))]
)
async def test_called_group_is_reseated_in_part(
    state: ReseatState, outcome: tuple[Outcome, Obstacle | None], autojump_clock: MockClock
) -> None:
    """It is a classic one all the same, but its members had to be told to join."""
    async with moving_world() as world:
        whole = WholeGroups(world.parts)
        move = whole.reseating(progress(Road.PASS, Road.UPSTREAM), GROUP, {}, world.live.reconverts)
        move.state = state
        assert whole.settle(GROUP, move) == outcome


@pytest.mark.parametrize(
    ("state", "outcome"), [(Released(), (Outcome.MADE, None)), (NotReleased(WHY), (Outcome.KEPT, WHY))]
)
async def test_group_that_is_not_released_stays(
    state: ReleaseState, outcome: tuple[Outcome, Obstacle | None], autojump_clock: MockClock
) -> None:
    """And says why."""
    async with moving_world() as world:
        whole = WholeGroups(world.parts)
        move = whole.releasing(progress(Road.PASS, Road.EMBEDDED), GROUP, ())
        move.state = state
        assert whole.settle(GROUP, move) == outcome
