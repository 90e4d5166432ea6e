"""The short way of heartbeats, through a real proxy."""

import trio.testing

from bridge.net.beat_lane import FRAME_BYTES_MAX
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import encode_request
from tests.support.front import Front, front_of
from tests.support.scripted_broker import RawClient, ScriptedBroker, request
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId

OURS = Heartbeat(GroupId("embedded-orders"), 1, MemberId("m-1"), None)


def frame(correlation_id: int, message: Heartbeat = OURS, client_id: str = "client") -> bytes:
    """A Heartbeat v4 frame."""
    return encode_request(ApiKey.HEARTBEAT, 4, correlation_id, client_id, message)


async def introduce(front: Front, message: Heartbeat = OURS) -> RawClient:
    """A client whose first heartbeat went the long way."""
    client = await front.dial()
    await client.send(frame(1, message))
    await trio.testing.wait_all_tasks_blocked(0.01)
    front.switchboard.deliver(front.groups.submitted[-1][0], HeartbeatReply(ErrorCode.NONE))
    assert await client.ids(1) == [1]
    return client


async def test_repeated_heartbeat_is_answered_without_being_submitted() -> None:
    """The groups are asked with the request that was decoded once; the answer has the new correlation id."""
    async with front_of(ScriptedBroker()) as front:
        client = await introduce(front)
        front.groups.beats = []
        for correlation_id in (7, 8):
            await client.send(frame(correlation_id))
            assert await client.answer() == (correlation_id, bytes(4 + 1 + 2 + 1))
        assert front.groups.beats == [OURS, OURS]
        assert len(front.groups.submitted) == 1
        assert front.proxy.statistics().requests_answered == 3
        assert front.proxy.statistics().apis[ApiKey.HEARTBEAT].requests == 3


async def test_heartbeat_that_the_groups_do_not_take_goes_the_long_way() -> None:
    """A member that is to hear something, or is gone, is answered as ever."""
    async with front_of(ScriptedBroker()) as front:
        client = await introduce(front)
        await client.send(frame(2))
        await trio.testing.wait_all_tasks_blocked(0.01)
        ref, message, *_ = front.groups.submitted[-1]
        assert message == OURS
        front.switchboard.deliver(ref, HeartbeatReply(ErrorCode.REBALANCE_IN_PROGRESS))
        assert (await client.answer())[1][5:7] == ErrorCode.REBALANCE_IN_PROGRESS.to_bytes(2)


async def test_heartbeat_behind_an_open_answer_keeps_its_place() -> None:
    """Answers leave in the order of requests, so a short way exists for a quiet connection only."""
    broker = ScriptedBroker(gate=trio.Event())
    async with front_of(broker) as front:
        client = await introduce(front)
        front.groups.beats = []
        await client.send(request(ApiKey.FETCH, 11, 2))
        await trio.testing.wait_all_tasks_blocked(0.01)
        await client.send(frame(3))
        await trio.testing.wait_all_tasks_blocked(0.01)
        front.switchboard.deliver(front.groups.submitted[-1][0], HeartbeatReply(ErrorCode.NONE))
        assert broker.gate is not None
        broker.gate.set()
        assert await client.ids(2) == [2, 3]
        assert front.groups.beats == []


async def test_heartbeat_of_unlikely_length_is_not_kept() -> None:
    """What a connection keeps while it is idle is bounded."""
    long = Heartbeat(GroupId("embedded-" + "x" * FRAME_BYTES_MAX), 1, MemberId("m-1"), None)
    async with front_of(ScriptedBroker()) as front:
        client = await introduce(front, long)
        front.groups.beats = []
        await client.send(frame(2, long))
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert front.groups.beats == []
        assert len(front.groups.submitted) == 2
