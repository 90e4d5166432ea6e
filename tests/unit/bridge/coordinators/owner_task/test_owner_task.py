"""The embedded coordinator with a journal: what is answered is written, and a full disk loses nothing."""

from dataclasses import replace

import trio
from trio.testing import MockClock

from bridge.coordinators.durability import condense
from bridge.coordinators.embedded.joins import STARTING
from bridge.coordinators.embedded.shard_journal import blank_journal
from bridge.coordinators.ledger import RETRY_S
from bridge.coordinators.owner_task import OwnerState
from tests.support.embedded_world import (
    SESSION_MS,
    commit_request,
    committed,
    embedded_world,
    join_request,
    leave_request,
    native_join,
)
from tests.support.memory_journal import MemoryJournal
from tests.support.owned_group import CLIENT, GROUP
from translators.dialects.admin import DeletedGroup, DeleteGroups, DeleteGroupsReply
from translators.dialects.classic import Heartbeat, JoinGroupReply, LeaveGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName
from translators.dialects.offsets import OffsetCommitReply

UNAVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE


def entries_of(journal: MemoryJournal) -> list[bytes]:
    """All that is written."""
    return list(journal.replay())


async def test_member_goes_on_in_the_next_life(autojump_clock: MockClock) -> None:
    """Its generation is good from the first heartbeat on, and a commit under it too."""
    journal = MemoryJournal()
    async with embedded_world() as world:
        world.groups.keep(journal)
        generation = await world.form()
    written = entries_of(journal)
    async with embedded_world() as world:
        world.groups.keep(journal)
        assert await world.beat(generation) is ErrorCode.NONE
        ref = world.send(commit_request(generation, "a"))
        world.via.answer(committed)
        assert (await world.answer(ref, OffsetCommitReply)).topics[0].partitions[0].error is ErrorCode.NONE
        assert entries_of(journal) == written


async def test_full_disk_refuses_new_work_and_loses_nothing(autojump_clock: MockClock) -> None:
    """Who was answered goes on; who was not is told to try again, and gets in when there is room."""
    journal = MemoryJournal()
    async with embedded_world() as world:
        world.groups.keep(journal)
        generation = await world.form()
        written = entries_of(journal)
        journal.bytes_max = 0
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is UNAVAILABLE
        assert world.groups.ledger.closed is not None
        assert world.groups.task.state is OwnerState.FAILED
        assert (await world.ask(join_request("b"), JoinGroupReply)).error is UNAVAILABLE
        ref = world.send(commit_request(generation, "a"))
        world.via.answer(committed)
        assert (await world.answer(ref, OffsetCommitReply)).topics[0].partitions[0].error is ErrorCode.NONE
        assert entries_of(journal) == list(condense(written, blank_journal()))
        journal.bytes_max = None
        await trio.sleep(2 * RETRY_S)
        assert await world.beat(generation) is ErrorCode.NONE
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE


async def test_parked_join_is_refused_when_the_disk_is_full(autojump_clock: MockClock) -> None:
    """Nobody waits for a state that is gone."""
    journal = MemoryJournal()
    async with embedded_world() as world:
        world.groups.keep(journal)
        await world.form()
        parked = world.send(join_request("b"))
        await trio.sleep(0.1)
        assert parked not in world.replies
        journal.bytes_max = 0
        world.send(native_join("n"))
        assert (await world.answer(parked, JoinGroupReply)).error is UNAVAILABLE


async def test_deleted_group_stays_deleted(autojump_clock: MockClock) -> None:
    """The answer to DeleteGroups waits for its record like any other."""
    journal = MemoryJournal()
    async with embedded_world() as world:
        world.groups.keep(journal)
        await world.form()
        assert (await world.ask(leave_request("a"), LeaveGroupReply)).error is ErrorCode.NONE
        ref = world.send(DeleteGroups((GROUP,)))
        unknown = DeleteGroupsReply(groups=(DeletedGroup(GROUP, ErrorCode.GROUP_ID_NOT_FOUND),))
        world.via.answer(lambda _: unknown)
        assert (await world.answer(ref, DeleteGroupsReply)).groups == (DeletedGroup(GROUP, ErrorCode.NONE),)
        assert world.groups.owner.shard.groups == {}
    async with embedded_world() as world:
        world.groups.keep(journal)
        assert world.groups.owner.shard.groups == {}


async def test_heartbeat_at_peace_is_answered_at_once_but_not_while_the_journal_is_closed(
    autojump_clock: MockClock,
) -> None:
    """What was told before may be told again; on a full disk everybody is told to come again."""
    journal = MemoryJournal()
    async with embedded_world() as world:
        assert not world.groups.beat(CLIENT, Heartbeat(GROUP, 1, MemberId("a"), None))
        world.groups.keep(journal)
        calm = Heartbeat(GROUP, await world.form(), MemberId("a"), None)
        written = entries_of(journal)
        assert world.groups.beat(CLIENT, calm)
        assert entries_of(journal) == written
        world.groups.guard(lambda: STARTING)
        assert not world.groups.beat(CLIENT, calm)
        world.groups.guard(lambda: None)
        journal.bytes_max = 0
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is UNAVAILABLE
        assert not world.groups.beat(CLIENT, calm)


async def test_group_that_the_journal_never_heard_of_waits_for_its_survivors(autojump_clock: MockClock) -> None:
    """The others go on at once. Whoever says it is a member of such a group joins again: 69 would end its client."""
    journal = MemoryJournal()
    async with embedded_world() as world:
        world.groups.keep(journal)
        await world.form()
    async with embedded_world() as world:
        world.groups.owner.shard.no_assignment_before_ms = world.groups.now_ms() + 6_000
        world.groups.keep(journal)
        other = GroupId("other")
        survivor = replace(native_join("x"), group_id=other, member_epoch=7)
        newcomer = replace(native_join("y"), group_id=other)
        answers = [
            await world.ask(request, ConsumerGroupHeartbeatReply) for request in (survivor, newcomer, native_join("n"))
        ]
        assert [answer.error for answer in answers] == [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE, ErrorCode.NONE]
        waits, goes_on = (world.groups.owner.shard.groups[name] for name in (other, GROUP))
        assert [waits.epoch > waits.assignment_epoch, goes_on.epoch > goes_on.assignment_epoch] == [True, False]


async def test_members_go_on_while_the_broker_is_waited_for(autojump_clock: MockClock) -> None:
    """Heartbeats are answered, also one that says all over again what is known; joins and commits come again."""
    journal = MemoryJournal()
    async with embedded_world() as world:
        world.groups.keep(journal)
        generation = await world.form()
        native = await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)
        assert native.error is ErrorCode.NONE
    async with embedded_world() as world:
        world.broker.is_down = True
        world.groups.keep(journal)
        world.groups.guard(lambda: None, lambda: STARTING)
        # What it would hear from the life before: the newcomer is to get some of its partitions.
        assert await world.beat(generation) is ErrorCode.REBALANCE_IN_PROGRESS
        again = replace(native_join("n"), member_epoch=native.member_epoch)
        assert (await world.ask(again, ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE
        other = replace(again, subscribed_topic_names=(TopicName("other"),))
        assert (await world.ask(other, ConsumerGroupHeartbeatReply)).error is UNAVAILABLE
        assert (await world.ask(native_join("new"), ConsumerGroupHeartbeatReply)).error is UNAVAILABLE
        assert (await world.ask(join_request("a"), JoinGroupReply)).error is UNAVAILABLE
        refused = await world.ask(commit_request(generation, "a"), OffsetCommitReply)
        assert refused.topics[0].partitions[0].error is UNAVAILABLE
        assert world.broker.asked == []


async def test_full_journal_is_condensed_before_anybody_is_refused(autojump_clock: MockClock) -> None:
    """What fills it is mostly history: members that came and went."""
    journal = MemoryJournal()
    async with embedded_world() as world:
        world.groups.keep(journal)
        generation = await world.form()
        journal.bytes_max = 2 * sum(map(len, entries_of(journal))) + 4_000
        for _ in range(40):
            came = await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)
            assert came.error is ErrorCode.NONE
            left = await world.ask(replace(native_join("n"), member_epoch=-1), ConsumerGroupHeartbeatReply)
            assert left.error is ErrorCode.NONE
        assert world.groups.ledger.failures == 0
        assert await world.beat(generation) is not UNAVAILABLE


async def test_request_takes_one_turn_and_another_where_something_is_due(autojump_clock: MockClock) -> None:
    """Behind each turn there was one for deadlines, which found nothing to do."""
    async with embedded_world() as world:
        await world.form()
        times = world.groups.turns.times.processing
        before = sum(times.counts)
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE
        assert sum(times.counts) - before == 1
        before += 1
        # The session of `a` is over in the moment in which the next request comes.
        autojump_clock.jump(SESSION_MS / 1_000)
        assert (await world.ask(native_join("o"), ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE
        assert sum(times.counts) - before == 2
        assert set(world.groups.owner.shard.groups[GROUP].members) == {"n", "o"}
