"""Commits on their way to the broker (decisions 1 to 5)."""

from dataclasses import replace
from functools import partial

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.embedded import commit_forwarding
from bridge.coordinators.embedded.groups import EmbeddedSettings
from bridge.coordinators.embedded.partition_queue import PartitionQueue
from bridge.engine.settings import EngineSettings
from tests.support.embedded_world import (
    FakeVia,
    World,
    commit_request,
    committed,
    embedded_world,
    leave_request,
    native_join,
)
from tests.support.owned_group import GROUP
from translators.dialects.classic import LeaveGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, RequestRef
from translators.dialects.offsets import OffsetCommitReply, TxnOffsetCommit

NONE = ErrorCode.NONE


async def code_of(world: World, ref: RequestRef) -> ErrorCode:
    """The one code of a commit's answer."""
    reply = await world.answer(ref, OffsetCommitReply)
    (code,) = {item.error for topic in reply.topics for item in topic.partitions}
    return code


def flights(world: World) -> int:
    """How many commits are on their way as the engine sees it."""
    return len(world.groups.owner.shard.flights)


async def test_commits_of_one_partition_go_one_at_a_time(autojump_clock: MockClock) -> None:
    """What is still on its way would overwrite a later one (decision 2); another partition is not held up."""
    async with embedded_world() as world:
        generation = await world.form()
        first = world.send(commit_request(generation, "a"))
        second = world.send(commit_request(generation, "a"))
        world.send(commit_request(generation, "a", (1,)))
        assert len(world.via.open) == 2
        assert flights(world) == 2
        world.via.answer(committed)
        assert await code_of(world, first) is NONE
        assert len(world.via.open) == 2
        world.via.answer(committed)
        world.via.answer(committed)
        assert await code_of(world, second) is NONE
        assert flights(world) == 0


async def test_waiting_commit_is_judged_when_its_turn_comes(autojump_clock: MockClock) -> None:
    """A member that leaves meanwhile commits nothing any more."""
    async with embedded_world() as world:
        generation = await world.form()
        world.send(commit_request(generation, "a"))
        late = world.send(commit_request(generation, "a"))
        await world.ask(leave_request("a"), LeaveGroupReply)
        world.via.answer(committed)
        assert await code_of(world, late) is ErrorCode.UNKNOWN_MEMBER_ID
        assert not world.via.open
        assert flights(world) == 0


async def test_partition_stays_taken_until_the_commit_of_a_leaver_ends(autojump_clock: MockClock) -> None:
    """The newcomer gets everything but that partition, and that one when the broker has answered (decision 2)."""
    async with embedded_world() as world:
        generation = await world.form()
        world.send(commit_request(generation, "a"))
        await world.ask(leave_request("a"), LeaveGroupReply)
        joined = trio.Event()

        async def join() -> None:
            await world.form("b")
            joined.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(join)
            await trio.sleep(1)
            assert not joined.is_set()
            world.via.answer(committed)
            with trio.fail_after(1):
                await joined.wait()


async def test_lost_answer_drains_and_the_client_comes_again(autojump_clock: MockClock) -> None:
    """Without the broker's word the partitions stay taken for `commit.drain.ms`, without traffic (decision 2)."""
    async with embedded_world(settings=EmbeddedSettings(commit_drain_ms=5_000)) as world:
        generation = await world.form()
        lost, waiting = (world.send(commit_request(generation, "a")) for _ in range(2))
        world.via.answer(lambda _: None)
        assert await code_of(world, lost) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        await trio.sleep(4.9)
        assert (len(world.via.open), flights(world)) == (0, 1)
        await trio.sleep(0.2)
        world.via.answer(committed)
        assert await code_of(world, waiting) is NONE
        assert flights(world) == 0


async def test_answer_that_cannot_be_understood_counts_as_none(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug there would else keep the partitions from their next owner for ever."""

    def fail(*_: object) -> OffsetCommitReply:
        raise ValueError("a bug")

    async with embedded_world(settings=EmbeddedSettings(commit_drain_ms=5_000)) as world:
        generation = await world.form()
        ref = world.send(commit_request(generation, "a"))
        with monkeypatch.context() as context:
            context.setattr(commit_forwarding, "merge_commit", fail)
            world.via.answer(committed)
        assert await code_of(world, ref) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert flights(world) == 1
        await trio.sleep(5.1)
        assert flights(world) == 0


async def test_commit_into_a_drain_is_told_to_come_again_at_once(autojump_clock: MockClock) -> None:
    """Its answer would hold back those of the heartbeats behind it, and the client would give the connection up."""
    async with embedded_world(settings=EmbeddedSettings(commit_drain_ms=5_000)) as world:
        generation = await world.form()
        world.send(commit_request(generation, "a"))
        world.via.answer(lambda _: None)
        with trio.fail_after(1):
            again = world.send(commit_request(generation, "a"))
            assert await code_of(world, again) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert (len(world.via.open), flights(world)) == (0, 1)
        elsewhere = world.send(commit_request(generation, "a", (1,)))
        world.via.answer(committed)
        assert await code_of(world, elsewhere) is NONE
        await trio.sleep(5.1)
        at_last = world.send(commit_request(generation, "a"))
        world.via.answer(committed)
        assert await code_of(world, at_last) is NONE


async def test_gone_connection_takes_its_waiting_commits_along(autojump_clock: MockClock) -> None:
    """What is on its way ends as ever."""
    async with embedded_world() as world:
        generation = await world.form()
        gone = FakeVia(connection=9)
        world.send(commit_request(generation, "a"), gone)
        world.send(commit_request(generation, "a"), gone)
        mine = world.send(commit_request(generation, "a"))
        world.groups.disconnected(9)
        gone.answer(committed)
        assert not gone.open
        world.via.answer(committed)
        assert await code_of(world, mine) is NONE


async def test_foreign_members_mark_the_group(autojump_clock: MockClock, caplog: pytest.LogCaptureFixture) -> None:
    """22, 25 and 113 on a simple commit (decision 5). Clients stay with their coordinator, and try again: of what they
    hear ten times a second the log has one line a minute.
    """
    async with embedded_world() as world:
        generation = await world.form()
        for code in (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH):
            world.groups.join_checks.bypassed.clear()
            ref = world.send(commit_request(generation, "a"))
            world.via.answer(partial(committed, code=code))
            assert await code_of(world, ref) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            assert GROUP in world.groups.join_checks.bypassed
        assert sum("EB-GROUP-004" in line for line in caplog.messages) == 1
        ref = world.send(commit_request(generation, "a"))
        world.via.answer(partial(committed, code=ErrorCode.NOT_COORDINATOR))
        assert await code_of(world, ref) is ErrorCode.NOT_COORDINATOR


async def test_transactional_commit_is_simple_upstream_and_bracketed(autojump_clock: MockClock) -> None:
    """The producer's ids stay, the member's go."""
    async with embedded_world() as world:
        generation = await world.form()
        plain = commit_request(generation, "a")
        request = TxnOffsetCommit(
            transactional_id="t",
            group_id=GROUP,
            producer_id=5,
            producer_epoch=1,
            topics=plain.topics,
            generation=generation,
            member_id=MemberId("a"),
        )
        ref = world.send(request)
        assert flights(world) == 1
        sent = world.via.answer(lambda _: committed(plain))
        assert isinstance(sent, TxnOffsetCommit)
        assert (sent.producer_id, sent.generation, sent.member_id) == (5, -1, "")
        assert await code_of(world, ref) is NONE
        assert flights(world) == 0


async def test_too_many_waiting_commits_are_refused(autojump_clock: MockClock) -> None:
    """A code that makes clients come again."""
    async with embedded_world() as world:
        generation = await world.form()
        world.groups.forwarder.queue = PartitionQueue(waiting_max=0)
        world.send(commit_request(generation, "a"))
        ref = world.send(commit_request(generation, "a"))
        assert await code_of(world, ref) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        stale = world.send(commit_request(generation + 1, "a", (3,)))
        assert await code_of(world, stale) is ErrorCode.ILLEGAL_GENERATION


async def test_commit_with_nothing_but_long_texts_is_answered_without_the_broker(autojump_clock: MockClock) -> None:
    """`offset.metadata.max.bytes` of the bridge counts, and its partition is free at once (K5.1)."""
    engine = EngineSettings(group_initial_rebalance_delay_ms=0, offset_metadata_max_bytes=3)
    async with embedded_world(engine) as world:
        commit = commit_request()
        (topic,) = commit.topics
        (item,) = topic.partitions
        wordy = replace(commit, topics=(replace(topic, partitions=(replace(item, metadata="long"),)),))
        assert await code_of(world, world.send(wordy)) is ErrorCode.OFFSET_METADATA_TOO_LARGE
        assert (world.via.open, flights(world)) == ([], 0)
        ref = world.send(commit)
        world.via.answer(committed)
        assert await code_of(world, ref) is NONE


async def test_long_text_is_told_before_who_may_commit_its_partition(autojump_clock: MockClock) -> None:
    """Nobody is asked whose the partition is, and a later epoch is wrong whatever is said, as on 4.3.1 (K5.11)."""
    engine = EngineSettings(group_initial_rebalance_delay_ms=0, offset_metadata_max_bytes=3)
    async with embedded_world(engine) as world:
        epoch = (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).member_epoch
        commit = commit_request(epoch - 1, "n")
        assert await code_of(world, world.send(commit)) is ErrorCode.STALE_MEMBER_EPOCH
        (topic,) = commit.topics
        wordy = replace(commit, topics=(replace(topic, partitions=(replace(topic.partitions[0], metadata="long"),)),))
        assert await code_of(world, world.send(wordy)) is ErrorCode.OFFSET_METADATA_TOO_LARGE
        later = replace(wordy, generation=epoch + 1)
        assert await code_of(world, world.send(later)) is ErrorCode.STALE_MEMBER_EPOCH
        assert world.via.open == []
