"""Whoever comes back after a time away keeps its seat, and nothing is dealt to anybody else, whoever was there."""

import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from bridge.coordinators.embedded.time_away import LAPSE_MS, end_sessions
from bridge.engine.settings import EngineSettings
from tests.support.embedded_world import World, embedded_world, native_join
from tests.support.memory_journal import MemoryJournal
from tests.support.owned_group import GROUP
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId

SETTINGS = EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=0)
GRACE_MS = 6_000
HOUR_MS = 3_600_000
ROUNDS = 12
PARTITIONS = 6


async def beat(world: World, member_id: str, epoch: int) -> ConsumerGroupHeartbeatReply:
    """A KIP-848 heartbeat that acknowledges nothing new."""
    request = ConsumerGroupHeartbeat(group_id=GROUP, member_id=MemberId(member_id), member_epoch=epoch)
    return await world.ask(request, ConsumerGroupHeartbeatReply)


async def live(world: World, epochs: dict[str, int]) -> None:
    """Everybody says what it has been given as often as it takes to rest."""
    group = world.groups.owner.shard.groups[GROUP]
    assert set(group.members) == set(epochs)
    for _ in range(ROUNDS):
        for member_id, epoch in epochs.items():
            owned = frozenset(group.members[MemberId(member_id)].current.assigned)
            said = ConsumerGroupHeartbeat(
                group_id=GROUP, member_id=MemberId(member_id), member_epoch=epoch, owned=owned
            )
            reply = await world.ask(said, ConsumerGroupHeartbeatReply)
            assert reply.error is ErrorCode.NONE, (member_id, reply)
            epochs[member_id] = reply.member_epoch
        await trio.sleep(0.5)
    assert {member_id: group.members[MemberId(member_id)].current.epoch for member_id in epochs} == epochs


async def tell(count: int, survivors: set[int], newcomers: int) -> None:
    """A group of `count`, of whom the survivors were there all the time, and others come."""
    journal = MemoryJournal()
    async with embedded_world(SETTINGS) as world:
        world.groups.keep(journal)
        for number in range(count):
            assert (await world.ask(native_join(f"n{number}"), ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE
    async with embedded_world(SETTINGS) as world:
        shard = world.groups.owner.shard
        shard.no_assignment_before_ms = world.groups.now_ms() + GRACE_MS
        world.groups.keep(journal)
        assert end_sessions(world.groups, HOUR_MS) == 1
        group = shard.groups[GROUP]
        dealt = dict(group.target)
        epochs = {f"n{number}": group.members[MemberId(f"n{number}")].current.epoch for number in survivors}
        for member_id, epoch in epochs.items():
            epochs[member_id] = (await beat(world, member_id, epoch)).member_epoch
        for number in range(newcomers):
            reply = await world.ask(native_join(f"late{number}"), ConsumerGroupHeartbeatReply)
            assert reply.error is ErrorCode.NONE
            epochs[f"late{number}"] = reply.member_epoch
        ghosts = set(group.members) - set(epochs)
        assert len(ghosts) == count - len(survivors)
        assert all(group.target.get(ghost) == dealt.get(ghost) for ghost in ghosts), "something was dealt to a ghost"
        await trio.sleep((GRACE_MS + LAPSE_MS) / 1000)
        assert set(group.members) == set(epochs)
        await live(world, epochs)
        held = [partition for member in group.members.values() for partition in member.current.assigned]
        assert len(held) == len(set(held)) == (PARTITIONS if epochs else 0)


@settings(max_examples=25, deadline=None)
@given(count=st.integers(1, 6), survivors=st.sets(st.integers(0, 5)), newcomers=st.integers(0, 3))
def test_only_who_comes_is_dealt_anything(count: int, survivors: set[int], newcomers: int) -> None:
    """Whatever the group was, and whoever of it is left."""
    trio.run(tell, count, {one for one in survivors if one < count}, newcomers, clock=MockClock(autojump_threshold=0))
