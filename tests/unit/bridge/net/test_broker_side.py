"""The broker's half of a connection: opened late, asked between requests, given up once."""

import pytest
import trio
import trio.testing

from bridge.net.transport import PeerGone, SocketTransport
from bridge.session.close_reasons import CloseReason
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, encode_reply, encode_request
from tests.support.front import front_of
from tests.support.scripted_broker import ScriptedBroker, request
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.offsets import FetchedGroup, GroupOffsets, OffsetFetch, OffsetFetchReply

OURS = GroupId("embedded-x")
BEAT = encode_request(ApiKey.HEARTBEAT, 3, 1, "c", Heartbeat(OURS, 1, MemberId("m"), None))
OFFSETS = OffsetFetch(groups=(GroupOffsets(group_id=OURS, topics=None),))
FOUND = OffsetFetchReply(groups=(FetchedGroup(group_id=OURS, topics=()),))
NO_ACKS = b"\xff\xff\x00\x00" + b"lost" * 10
BODIES: dict[int, bytes] = {ApiKey.OFFSET_FETCH: encode_reply(ApiKey.OFFSET_FETCH, 8, 0, FOUND)[9:]}


async def test_connection_to_the_broker_is_opened_when_first_needed() -> None:
    """A client whose requests are answered here costs the broker nothing."""
    broker = ScriptedBroker()
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(BEAT)
        await trio.testing.wait_all_tasks_blocked(0.01)
        before = len(broker.streams)
        front.switchboard.deliver(front.groups.submitted[0][0], HeartbeatReply(ErrorCode.NONE))
        assert await client.ids(1) == [1]
        await client.send(request(ApiKey.FETCH, 11, 2))
        assert await client.ids(1) == [2]
        assert len(broker.streams) == before + 1


async def test_question_waits_for_the_end_of_a_request_in_progress() -> None:
    """Nothing is ever written into the middle of a client's frame."""
    broker, got = ScriptedBroker(bodies=BODIES), list[Reply | None]()
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(BEAT)
        await trio.testing.wait_all_tasks_blocked(0.01)
        ref, _, via, _ = front.groups.submitted[0]
        front.switchboard.deliver(ref, HeartbeatReply(ErrorCode.NONE))
        fetch = request(ApiKey.FETCH, 11, 2, bytes(1000))
        await client.send(fetch[:500])
        await trio.testing.wait_all_tasks_blocked(0.01)
        via.ask(None, OFFSETS, got.append, 8)
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert got == []
        await client.send(fetch[500:])
        assert await client.ids(2) == [1, 2]
        await trio.testing.wait_all_tasks_blocked(0.01)
    assert got == [FOUND]
    assert [key for key, *_ in broker.requests] == [ApiKey.FETCH, ApiKey.OFFSET_FETCH]


async def test_question_opens_the_connection_and_may_be_repeated() -> None:
    """Asked as often as it takes in the place of one request, the client's later ones wait behind."""
    broker, got = ScriptedBroker(bodies=BODIES), list[Reply | None]()
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(encode_request(ApiKey.OFFSET_FETCH, 8, 1, "c", OFFSETS), request(ApiKey.FETCH, 11, 2))
        await trio.testing.wait_all_tasks_blocked(0.01)
        ref, message, via, _ = front.groups.submitted[0]
        for _ in range(2):
            via.ask(ref, message, got.append)
            await trio.testing.wait_all_tasks_blocked(0.01)
        assert got == [FOUND, FOUND]
        front.switchboard.deliver(ref, FOUND)
        assert await client.ids(2) == [1, 2]
    assert [key for key, *_ in broker.requests] == [ApiKey.OFFSET_FETCH, ApiKey.OFFSET_FETCH, ApiKey.FETCH]


async def test_unreadable_answer_to_a_question_is_none_and_ends_the_connection() -> None:
    """Whoever asked hears of it; the client comes again."""
    broker, got = ScriptedBroker(bodies={ApiKey.OFFSET_FETCH: b"\xff"}), list[Reply | None]()
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(encode_request(ApiKey.OFFSET_FETCH, 8, 1, "c", OFFSETS))
        await trio.testing.wait_all_tasks_blocked(0.01)
        ref, message, via, _ = front.groups.submitted[0]
        via.ask(ref, message, got.append)
        assert await client.is_closed()
    assert got == [None]


async def test_broker_that_is_gone_when_a_request_is_sent_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker hangs up on acks=0 that it can't serve: who listens for answers is woken, and the next request connects
    again.
    """
    try_send = SocketTransport.try_send

    def send_or_fail(transport: SocketTransport, data: bytes | memoryview) -> int:
        if NO_ACKS in bytes(data):
            raise PeerGone("broken pipe")
        return try_send(transport, data)

    broker = ScriptedBroker()
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(request(ApiKey.FETCH, 11, 1))
        assert await client.ids(1) == [1]
        before = len(broker.streams)
        monkeypatch.setattr(SocketTransport, "try_send", send_or_fail)
        await client.send(request(ApiKey.PRODUCE, 7, 2, NO_ACKS))
        await trio.testing.wait_all_tasks_blocked(0.01)
        await client.send(request(ApiKey.FETCH, 11, 3))
        assert await client.ids(1) == [3]
        assert len(broker.streams) == before + 1
        assert front.closed(CloseReason.BUG) == 0
