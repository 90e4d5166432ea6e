"""Requests on their way into a turn: who waits for a look at the broker, and for how many of them it is one."""

from dataclasses import replace

import trio
from trio.testing import MockClock

from bridge.coordinators.embedded.groups import EmbeddedSettings
from bridge.coordinators.embedded.joins import WaitingRequests
from tests.support.embedded_world import embedded_world, join_request, moved
from tests.support.owned_group import GROUP
from tests.support.passes import count_passes
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroupReply,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer_protocol import decode_assignment
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId

NONE = ErrorCode.NONE


async def test_joins_beyond_the_limit_are_refused(autojump_clock: MockClock) -> None:
    """A named limit and a code that makes clients come again."""
    async with embedded_world() as world:
        world.groups.joins.waiting = WaitingRequests(waiting_max=1)
        first, second = world.send(join_request("a")), world.send(join_request("b"))
        assert (await world.answer(second, JoinGroupReply)).error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert (await world.answer(first, JoinGroupReply)).error is NONE


async def test_rejoin_after_partitions_were_added_is_answered_with_them(autojump_clock: MockClock) -> None:
    """A client that saw them in its own metadata joins again at once: one callback, not one with nothing new and
    another when the topics' interval is over.
    """
    async with embedded_world(settings=EmbeddedSettings(topics_refresh_ms=3_600_000)) as world:
        generation = await world.form()
        moved(world.broker, 9)
        rejoined = await world.join()
        assert rejoined.generation == generation + 1
        sync = SyncGroup(group_id=GROUP, generation=rejoined.generation, member_id=rejoined.member_id, instance_id=None)
        synced = await world.ask(sync, SyncGroupReply)
        assert len(decode_assignment(synced.assignment).partitions) == 9
        assert await world.beat(rejoined.generation) is NONE


async def test_storm_of_rejoins_shares_looks_and_members_that_were_called_need_none(autojump_clock: MockClock) -> None:
    """All members see new partitions within half a second."""
    groups = [GroupId(f"group-{number}") for number in range(50)]
    async with embedded_world(settings=EmbeddedSettings(topics_refresh_ms=3_600_000)) as world:
        for group_id in groups:
            join = replace(join_request("a"), group_id=group_id)
            joined = await world.ask(join, JoinGroupReply)
            sync = SyncGroup(
                group_id=group_id, generation=joined.generation, member_id=joined.member_id, instance_id=None
            )
            assert (await world.ask(sync, SyncGroupReply)).error is NONE
        moved(world.broker, 9)
        refs = []
        for group_id in groups[1:]:
            refs.append(world.send(replace(join_request("a"), group_id=group_id)))
            await trio.sleep(0.01)
        for ref in refs:
            assert (await world.answer(ref, JoinGroupReply)).error is NONE
        looks = world.broker.asked.count("topics")
        assert looks - 1 <= 4
        called = Heartbeat(groups[0], 1, MemberId("a"), None)
        assert (await world.ask(called, HeartbeatReply)).error is ErrorCode.REBALANCE_IN_PROGRESS
        assert (await world.ask(replace(join_request("a"), group_id=groups[0]), JoinGroupReply)).error is NONE
        assert world.broker.asked.count("topics") == looks


async def test_newcomers_of_a_group_are_let_in_together(autojump_clock: MockClock) -> None:
    """A crowd that waits for one word of the broker goes on with it, and takes no turn for each (rolling restarts)."""
    passes: list[int] = []
    for size in (10, 300):
        async with embedded_world() as world:
            with count_passes() as counted:
                asked = [world.send(replace(join_request(""), needs_member_id=True)) for _ in range(size)]
                codes = {(await world.answer(ref, JoinGroupReply)).error for ref in asked}
            assert codes == {ErrorCode.MEMBER_ID_REQUIRED}
            assert world.broker.asked.count("topics") == 1
        passes.append(counted.count)
    assert passes[1] <= 2 * passes[0]
