"""A coordinator that freezes hangs up on nobody: what it does not answer is given up; its members go on elsewhere."""

import trio
from trio.testing import MockClock

from bridge.coordinators.upstream.questions import SILENT_MS
from tests.support.embedded_world import FakeVia
from tests.support.upstream_world import UpstreamWorld, granted, unchanged, upstream_world
from translators.dialects.consumer import ConsumerGroupDescribe, ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode

SESSION_S = 45
"""Kafka's session of consumer members, after which another coordinator puts out who was not heard of."""
ELSEWHERE = 2


async def at_work(world: UpstreamWorld) -> int:
    """A member whose broker has answered all so far; gives its generation."""
    generation = await world.form("a", granted(3, 0))
    await world.say(unchanged(3))
    return generation


async def beat_until(world: UpstreamWorld, generation: int, code: ErrorCode, via: FakeVia | None = None) -> float:
    """Beat each second until that is the answer; gives how long it took."""
    began = trio.current_time()
    while await world.beat("a", generation, via) is not code:
        await trio.sleep(1)
        assert trio.current_time() - began < 2 * SESSION_S
    return trio.current_time() - began


async def test_client_of_a_frozen_coordinator_looks_for_another_before_that_puts_it_out(
    autojump_clock: MockClock,
) -> None:
    """It was told for ever that all is well, and read what the next coordinator had given to others."""
    async with upstream_world() as world:
        generation = await at_work(world)
        frozen_s = trio.current_time()
        await beat_until(world, generation, ErrorCode.NOT_COORDINATOR)
        other = FakeVia(connection=ELSEWHERE)
        while not other.open:
            assert await world.beat("a", generation, other) is ErrorCode.NONE
            await trio.sleep(1)
        assert trio.current_time() - frozen_s < SESSION_S
        assert isinstance(other.open[0][0], ConsumerGroupHeartbeat)
        await world.say(granted(3, 0), other)
        while world.via.open:
            world.via.answer(lambda _: granted(9))
        await trio.sleep(1)
        assert await world.beat("a", generation, other) is ErrorCode.NONE, "what comes late is nobody's"


async def test_broker_that_only_took_its_time_goes_on(autojump_clock: MockClock) -> None:
    """The client finds the same coordinator again, and may ask by the same connection."""
    async with upstream_world() as world:
        generation = await at_work(world)
        await beat_until(world, generation, ErrorCode.NOT_COORDINATOR)
        while world.via.open:
            world.via.answer(lambda _: unchanged(3))
        assert await beat_until(world, generation, ErrorCode.NONE) < 2


async def test_questions_are_not_heaped_up_before_a_frozen_broker(autojump_clock: MockClock) -> None:
    """One in five seconds, and nobody is woken for it more often."""
    async with upstream_world() as world:
        generation = await at_work(world)
        await beat_until(world, generation, ErrorCode.NOT_COORDINATOR)
        before = len(world.via.open)
        for _ in range(60):
            assert await world.beat("a", generation) is ErrorCode.NOT_COORDINATOR
            await trio.sleep(1)
        assert len(world.via.open) - before <= 13


async def test_member_gains_without_a_word_of_what_it_is_to_have_in_the_end(autojump_clock: MockClock) -> None:
    """Another member's connection is to tell that, whose client reads no answers."""
    async with upstream_world() as world:
        generation = await at_work(world)
        await world.say(granted(4, 0, 1))
        asked, _ = world.via.open[0]
        assert isinstance(asked, ConsumerGroupDescribe)
        assert await beat_until(world, generation, ErrorCode.REBALANCE_IN_PROGRESS) < SILENT_MS / 1000 + 10
