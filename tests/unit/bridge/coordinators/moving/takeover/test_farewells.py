"""What an admin says of several members in the middle of a move, some of which their broker knows by other ids."""

import trio
from trio.testing import MockClock

from bridge.coordinators.mapped.seats import MappedSeat
from bridge.migration.route import Road
from tests.support.embedded_world import leave_request
from tests.support.moving_world import GENERATION, MovingWorld, moving_world
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import granted, unchanged
from translators.dialects.classic import LeaveGroup, LeaveGroupReply, LeftMember
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, TopicPartition

MEMBERS = ("a", "b")
SEAT_GENERATION = GENERATION + 3


def left(*names: str) -> LeaveGroupReply:
    """They are no members any more."""
    members = (LeftMember(member_id=MemberId(one), instance_id=None, error=ErrorCode.NONE) for one in names)
    return LeaveGroupReply(error=ErrorCode.NONE, members=tuple(members))


def released(world: MovingWorld) -> None:
    """A release has left these members at their broker, which knows each by the id of a seat."""
    for member_id in MEMBERS:
        seat = MappedSeat(
            member_id=MemberId(member_id),
            generation=GENERATION,
            seat_id=MemberId(f"seat-{member_id}"),
            seat_generation=SEAT_GENERATION,
        )
        world.mapped.put(GROUP, seat)
        world.router.move_member(GROUP, MemberId(member_id), Road.MAPPED)
    owned = {f"seat-{one}": frozenset({TopicPartition(TOPIC, number)}) for number, one in enumerate(MEMBERS)}
    world.at_broker(owned)


def leavers(world: MovingWorld) -> list[MemberId]:
    """Whom the admin's request names to the broker."""
    (asked,) = world.asked("admin")
    assert isinstance(asked, LeaveGroup), asked
    return [one.member_id for one in asked.members]


async def test_members_on_either_side_of_a_take_over_leave_by_the_names_of_their_seats(
    autojump_clock: MockClock,
) -> None:
    """In the second leg from embedded to upstream who was through went by its client's id: its broker answered that it
    is no member (25), and kept it.
    """
    async with moving_world() as world:
        released(world)
        await world.order(Road.UPSTREAM)
        world.beat("a")
        world.answer("a", granted(SEAT_GENERATION, 0))
        world.answer("a", unchanged(SEAT_GENERATION))
        leaving = world.send("admin", leave_request("a", "b", "stranger"))
        assert leavers(world) == ["seat-a", "seat-b", "stranger"]
        world.answer("admin", left("seat-a", "seat-b", "stranger"))
        assert world.reply(leaving) == left("a", "b", "stranger")


async def test_members_of_a_give_back_leave_by_the_names_of_their_seats(autojump_clock: MockClock) -> None:
    """Those that were taken over behind a release before; it asks for each when that one is at rest."""
    async with moving_world() as world:
        released(world)
        await world.order(Road.UPSTREAM)
        for number, member_id in enumerate(MEMBERS):
            world.beat(member_id)
            world.answer(member_id, granted(SEAT_GENERATION, number))
            world.answer(member_id, unchanged(SEAT_GENERATION))
        await trio.sleep(1)
        await world.order(Road.PASS)
        leaving = world.send("admin", leave_request("a", "b"))
        assert leavers(world) == ["seat-a", "seat-b"]
        world.answer("admin", left("seat-a", "seat-b"))
        assert world.reply(leaving) == left("a", "b")
