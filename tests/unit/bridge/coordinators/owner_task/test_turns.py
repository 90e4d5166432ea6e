"""What a bug in one turn of the embedded coordinator leaves behind: nothing."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.durability import replay
from bridge.coordinators.embedded.shard_journal import ShardJournal
from bridge.coordinators.exchange import TurnResult
from bridge.coordinators.ledger import RETRY_S
from bridge.engine.apply import apply
from bridge.engine.records import Record
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from tests.support.embedded_world import commit_request, committed, embedded_world, join_request, native_join
from tests.support.memory_journal import MemoryJournal
from tests.support.owned_group import GROUP
from tests.support.snapshots import durable
from translators.dialects.admin import DescribeGroups, DescribeGroupsReply
from translators.dialects.classic import JoinGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.offsets import OffsetCommitReply

UNAVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """The bugs of these tests are logged with their tracebacks, which nobody wants to read."""
    caplog.set_level(logging.ERROR)


class _Bug(Exception):
    """What the tests raise."""


@contextmanager
def broken(module: str) -> Iterator[None]:
    """Let every decision of the engine raise that this module asks for."""

    def fail(*_: object) -> TurnResult:
        raise _Bug

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"bridge.coordinators.{module}.advance", fail)
        yield


async def test_turn_that_raises_answers_its_clients_and_the_next_one_works(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """COORDINATOR_NOT_AVAILABLE, counted, logged with the request; the group goes on."""
    async with embedded_world() as world:
        generation = await world.form()
        with broken("embedded.coordinator"):
            reply = await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)
        assert reply.error is UNAVAILABLE
        assert world.groups.turns.failures == 1
        assert "EB-GROUP-002" in caplog.text
        assert "ConsumerGroupHeartbeat" in caplog.text
        assert await world.beat(generation) is ErrorCode.NONE
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE


async def test_join_that_a_turn_lost_is_asked_again(autojump_clock: MockClock) -> None:
    """The machine asks again by itself: the client waits a moment longer and notices nothing."""
    async with embedded_world() as world:
        await world.form()
        with broken("embedded.coordinator"):
            ref = world.send(join_request("b"))
            await trio.sleep(0.1)
        assert ref not in world.replies
        assert world.groups.turns.failures == 1
        await trio.sleep(1)
        assert set(world.groups.owner.shard.groups[GROUP].members) == {"a", "b"}
        assert (await world.answer(ref, JoinGroupReply)).error is ErrorCode.NONE


async def test_heartbeat_that_raises_is_answered(autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also beside the owner's task."""
    async with embedded_world() as world:
        generation = await world.form()
        monkeypatch.setattr(world.groups.owner.machines, "hear", lambda *_: 1 / 0)
        assert await world.beat(generation) is UNAVAILABLE
        monkeypatch.undo()
        assert await world.beat(generation) is ErrorCode.NONE


async def test_deadlines_that_raise_are_passed_later(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member that was taken out of the queue of deadlines is put back."""
    async with embedded_world() as world:
        await world.form()
        feed = world.groups.owner.machines.feed
        failures = iter([True])

        def fail_once(*arguments: object) -> object:
            if next(failures, False):
                raise _Bug
            return feed(*arguments)  # type: ignore[arg-type]  # handed on as they came

        monkeypatch.setattr(world.groups.owner.machines, "feed", fail_once)
        await trio.sleep(11)
        assert world.groups.turns.failures == 1
        assert not world.groups.owner.shard.groups[GROUP].members


async def test_commit_that_raises_frees_its_partitions(autojump_clock: MockClock) -> None:
    """Whether the judgement or the sending fails: answered, and the next commit has its turn."""
    async with embedded_world() as world:
        generation = await world.form()
        with broken("embedded.coordinator"):
            reply = await world.ask(commit_request(generation, "a"), OffsetCommitReply)
        assert reply.topics[0].partitions[0].error is UNAVAILABLE
        world.via.raises = _Bug()
        reply = await world.ask(commit_request(generation, "a"), OffsetCommitReply)
        assert reply.topics[0].partitions[0].error is UNAVAILABLE
        world.via.raises = None
        await trio.sleep(5.1)
        ref = world.send(commit_request(generation, "a"))
        world.via.answer(committed)
        assert (await world.answer(ref, OffsetCommitReply)).topics[0].partitions[0].error is ErrorCode.NONE


async def test_view_that_raises_is_answered(autojump_clock: MockClock) -> None:
    """The client asks again."""
    async with embedded_world() as world:
        world.via.raises = _Bug()
        reply = await world.ask(DescribeGroups(group_ids=(GROUP,)), DescribeGroupsReply)
        assert reply.groups[0].error is UNAVAILABLE
        assert world.groups.turns.failures == 1


# ---------------------------------------------------------------- with a journal: the groups are reloaded


async def test_failed_turn_is_void_and_members_go_on_as_they_were_written(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What a turn did before it raised is gone: the live state is the journal's again, ids and generations too."""
    journal = MemoryJournal()
    async with embedded_world() as world:
        world.groups.keep(journal)
        generation = await world.form()
        written = list(journal.replay())
        calls = count()

        def apply_half(shard: Shard, record: Record) -> None:
            apply(shard, record)
            if next(calls) == 1:
                raise _Bug

        monkeypatch.setattr("bridge.engine.turn.apply", apply_half)
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is UNAVAILABLE
        monkeypatch.undo()
        await trio.lowlevel.checkpoint()
        assert world.groups.turns.failures == 1
        assert "EB-GROUP-007" in caplog.text
        assert list(journal.replay()) == written
        assert set(world.groups.owner.shard.groups[GROUP].members) == {"a"}
        assert await world.beat(generation) is ErrorCode.NONE
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE
        assert replayed(journal) == durable(world.groups.owner.shard)


def replayed(journal: MemoryJournal) -> object:
    """The durable state that the journal has."""
    shard = Shard(settings=EngineSettings(), assignors={})
    replay(journal.replay(), ShardJournal(shard, Catalog()))
    return durable(shard)


async def test_parked_join_is_told_to_come_again_when_a_turn_fails(autojump_clock: MockClock) -> None:
    """Its question is gone with the state it belonged to; it comes again and gets in."""
    async with embedded_world() as world:
        world.groups.keep(MemoryJournal())
        await world.form()
        parked = world.send(join_request("b"))
        await trio.sleep(0.1)
        assert parked not in world.replies
        with broken("embedded.coordinator"):
            assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is UNAVAILABLE
            assert (await world.answer(parked, JoinGroupReply)).error is UNAVAILABLE
        await trio.sleep(2 * RETRY_S)
        ref = world.send(join_request("b"))
        await trio.sleep(15)
        assert (await world.answer(ref, JoinGroupReply)).error is ErrorCode.NONE


async def test_poison_sent_over_and_over_does_not_reload_every_time(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Between two reloads lie five seconds, in which failed turns are tidied up; bystanders go on."""

    def fail(*_: object) -> None:
        raise _Bug

    async with embedded_world() as world:
        world.groups.keep(MemoryJournal())
        generation = await world.form()
        for _ in range(20):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("bridge.engine.consumer.heartbeats._take_admission", fail)
                assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is UNAVAILABLE
            assert await world.beat(generation) is ErrorCode.NONE
            await trio.sleep(0.3)
        assert world.groups.turns.failures >= 20
        assert 1 <= caplog.text.count("EB-GROUP-007") <= 2


async def test_commit_that_ends_while_the_groups_stand_still_is_ended_afterwards(autojump_clock: MockClock) -> None:
    """Else its partitions would never be handed to anybody."""
    journal = MemoryJournal()
    async with embedded_world() as world:
        world.groups.keep(journal)
        generation = await world.form()
        ref = world.send(commit_request(generation, "a"))
        journal.bytes_max = 0
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is UNAVAILABLE
        world.via.answer(committed)
        assert (await world.answer(ref, OffsetCommitReply)).topics[0].partitions[0].error is ErrorCode.NONE
        assert len(world.groups.owner.shard.flights) == 1
        journal.bytes_max = None
        await trio.sleep(3)
        assert world.groups.owner.shard.flights == {}
