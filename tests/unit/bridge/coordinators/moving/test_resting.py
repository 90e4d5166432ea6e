"""What any move of a group that stands at its broker does with requests."""

import trio

from bridge.coordinators.moving.resting import RestingGroup
from tests.support.adopted_world import Held, adopted_world
from tests.support.embedded_world import native_join
from tests.support.reseated_world import reseated_world
from tests.support.round_table import join_of
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID


async def test_newcomers_wait_and_members_pass_on(autojump_clock: trio.testing.MockClock) -> None:
    """A newcomer would move the group; a member is answered by its broker until all are held."""
    async with adopted_world() as world:
        move: RestingGroup[Held] = world.adopting()
        newcomer, beat = world.held(join_of(NO_MEMBER_ID), 0), world.beats()[0]
        move.take(newcomer)
        move.take(beat)
        assert world.codes([newcomer, beat]) == [None, ErrorCode.NONE]
        move.excuse(newcomer.at_ms + 1)
        assert move.take_joins() == [newcomer]


async def test_native_newcomer_waits_too(autojump_clock: trio.testing.MockClock) -> None:
    """For it the broker would make a consumer group of what is about to be adopted, or to be a classic one again."""
    async with adopted_world() as world:
        move: RestingGroup[Held] = world.adopting()
        newcomer = world.held(native_join("new"), 0)
        move.take(newcomer)
        assert world.codes([newcomer]) == [None]
        assert move.take_joins() == [newcomer]


async def test_lost_connection_takes_its_requests_along(autojump_clock: trio.testing.MockClock) -> None:
    """Nobody waits for their answers."""
    async with reseated_world() as world:
        move: RestingGroup[Held] = world.move()
        newcomer = world.adopted.held(join_of(NO_MEMBER_ID), 0)
        move.take(newcomer)
        move.take(world.adopted.held(join_of(NO_MEMBER_ID), 1))
        move.disconnected(newcomer.via.connection)
        assert [one.via.connection for one in move.take_joins()] == [1]
