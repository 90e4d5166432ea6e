"""What an earlier life left between its two journals, sorted out by what its move had come to."""

import pytest
from trio.testing import MockClock

from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.unfinished import UnfinishedMove, end_machines, is_of_classic_members, settle_seats
from bridge.migration.route import Road
from tests.support.moving_world import GENERATION, MovingWorld, moving_world
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import granted
from translators.dialects.ids import MemberId, MemberRef, TopicPartition

ZERO = frozenset({TopicPartition(TOPIC, 0)})
SEAT = MappedSeat(member_id=MemberId("a"), generation=GENERATION, seat_id=MemberId("seat"), seat_generation=9)


async def unfinished(world: MovingWorld, origin: Road, destination: Road) -> UnfinishedMove:
    """A move of a member that has both a machine and a seat, as the two journals have it."""
    world.formed({"a": ZERO})
    await world.order(Road.UPSTREAM)
    world.answer("a", granted(GENERATION, 0))
    members = world.candidates.here(GROUP)
    world.mapped.put(GROUP, SEAT)
    return UnfinishedMove(GROUP, origin, destination, (), tuple(members.values()))


@pytest.mark.parametrize(
    ("origin", "destination"),
    [(Road.PASS, Road.UPSTREAM), (Road.UPSTREAM, Road.PASS), (Road.UPSTREAM, Road.EMBEDDED)],
    ids=["there", "back", "first of two ways"],
)
async def test_member_that_may_be_either_keeps_its_machine_under_the_name_of_its_seat(
    origin: Road, destination: Road, autojump_clock: MockClock
) -> None:
    """Which of the two its broker has is found out by asking."""
    async with moving_world() as world:
        move = await unfinished(world, origin, destination)
        around = world.candidates.around
        assert not is_of_classic_members(move)
        settle_seats(around, move)
        end_machines(around, move)
        assert around.upstream.translates(GROUP, MemberId("a"))
        assert world.mapped.seats_of(GROUP) == {}
        assert around.upstream.names.seat_id(MemberRef(GROUP, MemberId("a"))) == "seat"


@pytest.mark.parametrize(
    ("origin", "destination"), [(Road.MAPPED, Road.PASS), (Road.PASS, Road.EMBEDDED)], ids=["reseat", "adoption"]
)
async def test_machine_of_who_was_given_back_before_is_ended(
    origin: Road, destination: Road, autojump_clock: MockClock
) -> None:
    """Its broker has it as a classic member, and would say 25 to what the machine asks."""
    async with moving_world() as world:
        move = await unfinished(world, origin, destination)
        around = world.candidates.around
        assert is_of_classic_members(move)
        settle_seats(around, move)
        end_machines(around, move)
        assert not around.upstream.translates(GROUP, MemberId("a"))
        assert dict(world.mapped.seats_of(GROUP)) == {"a": SEAT}
