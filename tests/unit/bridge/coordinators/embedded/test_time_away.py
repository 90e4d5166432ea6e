"""A journal that is brought back after a time away revives nobody who is gone, and everybody who comes in time."""

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.durability import BridgeFact
from bridge.coordinators.embedded.groups import EmbeddedGroups
from bridge.coordinators.embedded.time_away import (
    FACT,
    LAPSE_MS,
    NOTE_EVERY_MS,
    end_sessions,
    note_serving,
    time_away_ms,
)
from bridge.engine.settings import EngineSettings
from bridge.ports import Journal
from tests.support.embedded_world import World, embedded_world, native_join
from tests.support.memory_journal import MemoryJournal
from tests.support.owned_group import GROUP
from translators.dialects.classic import SyncGroup, SyncGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode

AWAY_MS = 3_600_000
GRACE_MS = 6_000
LIVES = (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)
CLASSIC_GROUPS = EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=0, group_begins_classic=True)
CONSUMER_GROUPS = EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=0)


async def leave_journal(engine: EngineSettings, *, natives: int = 0) -> Journal:
    """A bridge with a classic member `a`, and KIP-848 members, that is killed."""
    journal = MemoryJournal()
    async with embedded_world(engine) as world:
        world.groups.keep(journal)
        await enter(world)
        for number in range(natives):
            assert (await world.ask(native_join(f"n{number}"), ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE
    return journal


async def enter(world: World) -> str:
    """A classic client joins as clients do, and syncs; gives its id."""
    joined = await world.join("")
    if joined.error is ErrorCode.MEMBER_ID_REQUIRED:
        joined = await world.join(joined.member_id)
    assert joined.error is ErrorCode.NONE
    sync = SyncGroup(group_id=GROUP, generation=joined.generation, member_id=joined.member_id, instance_id=None)
    assert (await world.ask(sync, SyncGroupReply)).error is ErrorCode.NONE
    return joined.member_id


def members(world: World) -> set[str]:
    """Who is in the group."""
    shard = world.groups.owner.shard
    group, classic = shard.groups.get(GROUP), shard.classic_groups.get(GROUP)
    return set(group.members if group is not None else classic.members if classic is not None else ())


def come_back(world: World, journal: Journal, away_ms: int = AWAY_MS) -> int:
    """Go on with a journal after a time away; gives in how many groups sessions have ended."""
    world.groups.owner.shard.no_assignment_before_ms = world.groups.now_ms() + GRACE_MS
    world.groups.keep(journal)
    return end_sessions(world.groups, away_ms)


@pytest.mark.parametrize(("engine", "natives"), [(CONSUMER_GROUPS, 0), (CONSUMER_GROUPS, 3), (CLASSIC_GROUPS, 0)])
async def test_newcomer_shares_nothing_with_ghosts(
    engine: EngineSettings, natives: int, autojump_clock: MockClock
) -> None:
    """It waits until they are dropped, which is soon, and is dealt everything."""
    journal = await leave_journal(engine, natives=natives)
    async with embedded_world(engine) as world:
        assert come_back(world, journal) == 1
        assert len(members(world)) == 1 + natives
        begun_ms = world.groups.now_ms()
        late = await enter(world)
        assert world.groups.now_ms() - begun_ms <= GRACE_MS + 10 * LAPSE_MS
        assert members(world) == {late}


async def test_member_that_comes_in_time_keeps_its_seat(autojump_clock: MockClock) -> None:
    """Its client was there all the time; the others of its group are dropped."""
    journal = await leave_journal(CONSUMER_GROUPS, natives=2)
    async with embedded_world(CONSUMER_GROUPS) as world:
        come_back(world, journal)
        await trio.sleep(1)
        (alive,) = (key.member_id for key in world.groups.owner.machines)
        assert await world.beat(1, alive) in LIVES
        await trio.sleep((GRACE_MS + LAPSE_MS) / 1000)
        assert members(world) == {alive}
        assert await world.beat(1, alive) in LIVES


async def test_short_time_away_ends_no_session(autojump_clock: MockClock) -> None:
    """A restart is felt by nobody."""
    journal = await leave_journal(CONSUMER_GROUPS, natives=2)
    async with embedded_world(CONSUMER_GROUPS) as world:
        assert come_back(world, journal, away_ms=9_000) == 0
        assert GROUP in world.groups.owner.shard.resumed
        await trio.sleep(9)
        assert len(members(world)) == 3


async def test_time_of_last_serving_is_kept_while_there_are_members(autojump_clock: MockClock) -> None:
    """As late as it may be: between two notes somebody may have been heard of."""
    async with embedded_world() as world:
        world.groups.keep(MemoryJournal())

        def now_ms() -> int:
            return 1_000_000 + world.groups.now_ms()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(note_serving, world.groups, now_ms)
            await trio.sleep(NOTE_EVERY_MS * 2 / 1000)
            assert world.groups.fact(FACT) is None
            assert time_away_ms(world.groups, now_ms()) == 0
            await world.form("a")
            await trio.sleep(NOTE_EVERY_MS * 2 / 1000)
            kept = int(world.groups.fact(FACT) or "0")
            nursery.cancel_scope.cancel()
        assert time_away_ms(world.groups, kept) == 0
        assert time_away_ms(world.groups, kept + NOTE_EVERY_MS + 7) == 7
        assert time_away_ms(world.groups, kept - 60_000) == 0, "somebody set the clock back"
        assert nonsense(world.groups) == 0


def nonsense(groups: EmbeddedGroups) -> int:
    """A fact that is no number tells nothing."""
    groups.owner.keep_fact(BridgeFact(FACT, "soon"))
    return time_away_ms(groups, 10**15)
