"""What a bug in one turn of the embedded coordinator leaves behind: nothing."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.exchange import TurnResult
from tests.support.embedded_world import commit_request, committed, embedded_world, join_request, native_join
from tests.support.owned_group import GROUP
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
        with broken("exchange"):
            reply = await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)
        assert reply.error is UNAVAILABLE
        assert world.groups.turn_failures == 1
        assert "EB-GROUP-002" in caplog.text
        assert "ConsumerGroupHeartbeat" in caplog.text
        assert await world.beat(generation) is ErrorCode.NONE
        assert (await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE


async def test_join_that_a_turn_lost_is_asked_again(autojump_clock: MockClock) -> None:
    """The machine asks again by itself: the client waits a moment longer and notices nothing."""
    async with embedded_world() as world:
        await world.form()
        with broken("exchange"):
            ref = world.send(join_request("b"))
            await trio.sleep(0.1)
        assert ref not in world.replies
        assert world.groups.turn_failures == 1
        await trio.sleep(1)
        assert set(world.groups.owner.shard.groups[GROUP].members) == {"a", "b"}
        assert (await world.answer(ref, JoinGroupReply)).error is ErrorCode.NONE


async def test_heartbeat_that_raises_is_answered(autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also beside the owner's task."""
    async with embedded_world() as world:
        generation = await world.form()
        monkeypatch.setattr("bridge.coordinators.owner.has_news", lambda *_: 1 / 0)
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
        assert world.groups.turn_failures == 1
        assert not world.groups.owner.shard.groups[GROUP].members


async def test_commit_that_raises_frees_its_partitions(autojump_clock: MockClock) -> None:
    """Whether the judgement or the sending fails: answered, and the next commit has its turn."""
    async with embedded_world() as world:
        generation = await world.form()
        with broken("exchange"):
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
        assert world.groups.turn_failures == 1
