"""When the LeaveGroup of a member is answered: once its broker has it no more, as Kafka does, or after a while."""

from collections.abc import Callable
from functools import partial

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.upstream.groups import FAREWELL_WAIT_MS
from bridge.wire.codec.registry import Reply, Request
from tests.support.embedded_world import FakeVia, leave_request
from tests.support.memory_journal import MemoryJournal
from tests.support.owned_group import GROUP
from tests.support.upstream_world import UpstreamWorld, granted, refused, unchanged, upstream_world
from translators.dialects.classic import LeaveGroupReply, LeftMember
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, MemberRef, RequestRef

WAIT_S = FAREWELL_WAIT_MS / 1_000


async def seated(world: UpstreamWorld, member_id: str, epoch: int, partition: int, via: FakeVia | None = None) -> None:
    """A member at rest, with no question of its own on its way."""
    await world.form(member_id, granted(epoch, partition), via)
    await world.say(unchanged(epoch), via)


def codes(world: UpstreamWorld, ref: RequestRef) -> list[ErrorCode]:
    """What each entry of a LeaveGroup was answered."""
    reply = world.replies[ref]
    assert isinstance(reply, LeaveGroupReply), reply
    return [one.error for one in reply.members]


async def test_leave_is_answered_when_the_broker_has_let_the_member_go(autojump_clock: MockClock) -> None:
    """Or an admin that deletes the group next hears NON_EMPTY_GROUP: kafka-go's own TestClientDeleteGroups did."""
    async with upstream_world() as world:
        await seated(world, "a", 1, 0)
        leaving = world.send(leave_request("a"))
        assert (await world.asked()).member_epoch == -1
        await trio.sleep(WAIT_S / 2)
        assert leaving not in world.replies
        world.via.answer(lambda _: unchanged(-1))
        await trio.sleep(0.1)
        assert codes(world, leaving) == [ErrorCode.NONE]


async def test_question_that_is_open_is_answered_before_the_farewell_is(autojump_clock: MockClock) -> None:
    """A broker takes one request of a connection after the other, and so does a machine."""
    async with upstream_world() as world:
        await world.form("a", granted(1, 0))
        assert (await world.asked()).member_epoch == 1
        leaving = world.send(leave_request("a"))
        await world.say(unchanged(1))
        assert (await world.asked()).member_epoch == -1
        assert leaving not in world.replies
        await world.say(unchanged(-1))
        await trio.sleep(0.1)
        assert codes(world, leaving) == [ErrorCode.NONE]


async def test_leave_of_several_is_answered_with_the_last_farewell(autojump_clock: MockClock) -> None:
    """LeaveGroup v3 and later, with one who only the broker knows and one whom nobody does."""
    async with upstream_world() as world:
        await seated(world, "a", 1, 0)
        await seated(world, "b", 2, 1)
        leaving = world.send(leave_request("a", "native", "b"))
        await trio.sleep(0.1)
        left = LeftMember(member_id=MemberId("native"), instance_id=None, error=ErrorCode.UNKNOWN_MEMBER_ID)
        farewells = [take for request, take in world.via.open if isinstance(request, ConsumerGroupHeartbeat)]
        (rest,) = (take for request, take in world.via.open if not isinstance(request, ConsumerGroupHeartbeat))
        for take in (farewells[0], partial(_hand, rest, LeaveGroupReply(error=ErrorCode.NONE, members=(left,)))):
            take(unchanged(-1))
            await trio.sleep(0.1)
            assert leaving not in world.replies
        farewells[1](unchanged(-1))
        await trio.sleep(0.1)
        assert codes(world, leaving) == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]


def _hand(take: Callable[[Reply | None], None], reply: Reply, _instead: object) -> None:
    take(reply)


async def test_broker_that_says_nothing_is_not_waited_for_any_longer(autojump_clock: MockClock) -> None:
    """A client gives its LeaveGroup five seconds (kafka-go, librdkafka)."""
    async with upstream_world() as world:
        await seated(world, "a", 1, 0)
        leaving = world.send(leave_request("a"))
        await trio.sleep(WAIT_S + 0.1)
        assert codes(world, leaving) == [ErrorCode.NONE]
        await world.say(unchanged(-1))
        await trio.sleep(0.1)
        assert list(world.groups.members()) == []


@pytest.mark.parametrize(
    "answer",
    [None, refused(ErrorCode.NOT_COORDINATOR), refused(ErrorCode.UNKNOWN_MEMBER_ID)],
    ids=["unreachable", "coordinator moved", "gone already"],
)
async def test_any_word_of_the_broker_ends_the_wait(
    answer: ConsumerGroupHeartbeatReply | None, autojump_clock: MockClock
) -> None:
    """The farewell is said again, or by another, without the client."""
    async with upstream_world() as world:
        await seated(world, "a", 1, 0)
        leaving = world.send(leave_request("a"))
        await world.asked()
        world.via.answer(partial(_say, answer))
        await trio.sleep(0.1)
        assert codes(world, leaving) == [ErrorCode.NONE]


def _say(reply: ConsumerGroupHeartbeatReply | None, _request: Request) -> Reply | None:
    return reply


async def test_member_that_is_let_go_meanwhile_is_waited_for_no_more(autojump_clock: MockClock) -> None:
    """It is a classic one at the broker by then, whose move sees to it."""
    async with upstream_world() as world:
        await seated(world, "a", 1, 0)
        leaving = world.send(leave_request("a"))
        await world.asked()
        world.groups.let_go(MemberRef(GROUP, MemberId("a")))
        await trio.sleep(0.1)
        assert codes(world, leaving) == [ErrorCode.NONE]


async def test_farewell_goes_by_the_connection_of_the_leave(autojump_clock: MockClock) -> None:
    """The one by which the member lived is closed by then: kafka-go leaves by a new one."""
    async with upstream_world() as world:
        await seated(world, "a", 1, 0)
        world.groups.disconnected(world.via.connection)
        del world.vias[world.via.connection]
        fresh = FakeVia(connection=2)
        leaving = world.send(leave_request("a"), fresh)
        await world.say(unchanged(-1), fresh)
        await trio.sleep(0.1)
        assert codes(world, leaving) == [ErrorCode.NONE]


async def test_turn_that_fails_leaves_no_leave_unanswered_nor_answers_it_twice(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waited is answered as it would be without waiting (`deliver` of the world minds a second answer)."""
    async with upstream_world() as world:
        await seated(world, "a", 1, 0)
        leaving = world.send(leave_request("a"))
        await world.asked()
        owner = world.groups.task.owner

        def fail(_now_ms: int) -> None:
            monkeypatch.undo()
            raise ValueError("a bug")

        monkeypatch.setattr(owner, "pass_deadlines", fail)
        world.groups.task.wake()
        await trio.sleep(0.1)
        assert codes(world, leaving) == [ErrorCode.NONE]
        await world.say(unchanged(-1))
        await trio.sleep(WAIT_S + 1)


async def test_journal_that_fails_has_the_leave_answered_once(autojump_clock: MockClock) -> None:
    """Whoever waits then is told to come again."""
    journal = MemoryJournal()
    async with upstream_world(journal) as world:
        await seated(world, "a", 1, 0)
        leaving = world.send(leave_request("a"))
        await world.asked()
        await trio.sleep(0.1)
        world.groups.task.ledger.go_back()
        await trio.sleep(WAIT_S + 1)
        reply = world.replies[leaving]
        assert isinstance(reply, LeaveGroupReply)
        assert reply.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
