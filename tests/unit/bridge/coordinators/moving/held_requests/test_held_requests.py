"""Requests that wait for the end of a move of their whole group."""

from collections.abc import Callable

import trio

from bridge.coordinators.moving.held_requests import HeldRequests
from tests.support.adopted_world import Held, adopted_world
from tests.support.embedded_world import leave_request
from tests.support.round_table import join_of
from tests.support.work_done import growth_faults
from translators.dialects.errors import ErrorCode


async def test_requests_wait_in_their_order(autojump_clock: trio.testing.MockClock) -> None:
    """But for those of a connection that is gone, and those that have waited long; a join waits for the end."""
    async with adopted_world() as world:
        waiting = HeldRequests[Held](world.excuse)
        first, second, third = world.beats()
        join = world.held(join_of(world.players[0].member_id), 0)
        for held in (first, second, join):
            waiting.keep(held)
        waiting.forget(second.via.connection)
        waiting.excuse(first.at_ms)
        waiting.keep(third)
        assert waiting.take() == [first, join, third]
        waiting.keep(first)
        waiting.keep(join)
        waiting.excuse(first.at_ms + 1)
        assert world.codes([first]) == [ErrorCode.NONE]
        assert waiting.take() == [join]


async def test_farewell_waits_for_the_end_also_where_its_connection_does_not(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A client says it once, and hangs up: told to come again, its member would stay until its session ends."""
    async with adopted_world() as world:
        waiting = HeldRequests[Held](world.excuse)
        leaving = world.held(leave_request(world.players[0].member_id), 0)
        waiting.keep(leaving)
        waiting.excuse(leaving.at_ms + 1)
        assert leaving.ref not in world.replies
        waiting.forget(leaving.via.connection)
        assert waiting.take() == [leaving]


async def test_work_grows_with_what_waits_and_not_with_its_square(autojump_clock: trio.testing.MockClock) -> None:
    """Whoever has many connections has all of their requests wait."""
    async with adopted_world() as world:
        beat = world.beats()[0].request

        def waiting(count: int) -> Callable[[], object]:
            held = HeldRequests[Held](lambda _: None)
            for number in range(count):
                held.keep(world.held(beat, number))
            return lambda: held.excuse(world.beats()[0].at_ms + 1)

        assert growth_faults([waiting(count) for count in (50, 100, 200, 400)]) == []
