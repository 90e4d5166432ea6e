"""What is asked in the place of a client's requests: a version that both can read, and an answer in any case."""

import pytest
import trio
import trio.testing

from bridge.net import client_connection, login_bounds
from bridge.net.clock import now_ms
from bridge.session.close_reasons import CloseReason
from bridge.session.login import SPARE_MAX_MS
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, encode_reply, encode_request
from bridge.wire.versions import KNOWN, VersionRange
from tests.support.front import front_of
from tests.support.scripted_broker import ScriptedBroker, request
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    GroupOffsets,
    OffsetCommitReply,
    OffsetFetch,
)

GROUP = GroupId("embedded-orders")
QUESTION = OffsetFetch(groups=(GroupOffsets(group_id=GROUP, topics=None),))


COMMITTED = (CommittedTopic(name=TopicName("t"), partitions=(CommittedPartition(0, ErrorCode.NONE),)),)


def commit_of_sarama(group_id: GroupId, version: int) -> bytes:
    """A commit of one offset: version 1 has a time with it, version 2 a retention in front of the topics."""
    retention, time = (b"", bytes(8)) if version == 1 else (b"\xff" * 8, b"")
    named = len(group_id).to_bytes(2, "big") + group_id.encode()
    partition = b"\x00\x00\x00\x01" + bytes(4) + bytes(8) + time + b"\xff\xff"
    body = named + b"\x00\x00\x00\x01\x00\x01m" + retention + b"\x00\x00\x00\x01\x00\x01t" + partition
    return request(ApiKey.OFFSET_COMMIT, version, 1, body)


def beat() -> bytes:
    """A request that makes the connection known to those who answer."""
    return encode_request(ApiKey.HEARTBEAT, 3, 1, "client", Heartbeat(GROUP, 1, MemberId("m-1"), None))


async def test_question_that_the_broker_can_not_read_is_answered_with_nothing() -> None:
    """Whoever asks must not wait for ever."""
    versions = {key: one for key, one in ScriptedBroker().versions.items() if key != ApiKey.OFFSET_FETCH}
    broker = ScriptedBroker(versions=versions)
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(beat())
        await trio.testing.wait_all_tasks_blocked(0.01)
        via = front.groups.submitted[0][2]
        answers: list[Reply | None] = []
        via.ask(None, QUESTION, answers.append)
        assert (answers, via.highest_version(ApiKey.OFFSET_FETCH)) == ([None], None)


async def test_question_on_a_connection_that_ended_is_answered_with_nothing() -> None:
    """Its broker may be there; its client is not."""
    broker = ScriptedBroker()
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(beat())
        await trio.testing.wait_all_tasks_blocked(0.01)
        via = front.groups.submitted[0][2]
        await client.stream.aclose()
        await trio.testing.wait_all_tasks_blocked(0.01)
        answers: list[Reply | None] = []
        via.ask(None, QUESTION, answers.append)
        assert answers == [None]


@pytest.mark.parametrize("spoken", [VersionRange(0, 9), VersionRange(2, 10)], ids=["Kafka 3.9", "Kafka 4"])
async def test_commit_of_an_old_client_is_said_again_in_the_next_version(spoken: VersionRange) -> None:
    """sarama commits by version 1 alone: the bridge hung up on it, whatever the broker spoke (decision 830)."""
    old, committed = commit_of_sarama(GROUP, version=1), OffsetCommitReply(topics=COMMITTED)
    said = encode_reply(ApiKey.OFFSET_COMMIT, 2, 0, committed)[8:]
    versions = {**KNOWN, ApiKey.OFFSET_COMMIT: spoken}
    broker = ScriptedBroker(versions=versions, bodies={ApiKey.OFFSET_COMMIT: said})
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(old)
        await trio.testing.wait_all_tasks_blocked(0.01)
        ref, message, via, _ = front.groups.submitted[0]
        answers: list[Reply | None] = []
        via.ask(ref, message, answers.append)
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert answers == [committed]
        front.reply_routes.deliver(ref, committed)
        assert await client.answer() == (1, said)
    assert broker.requests == [(ApiKey.OFFSET_COMMIT, 1, len(commit_of_sarama(GROUP, version=2)))]


async def test_commit_of_an_old_client_passes_as_it_came() -> None:
    """Where its group is the broker's, which speaks it."""
    old = commit_of_sarama(GroupId("payments"), version=1)
    broker = ScriptedBroker(bodies={ApiKey.OFFSET_COMMIT: b"said"})
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(old)
        assert await client.answer() == (1, b"said")
    assert broker.requests == [(ApiKey.OFFSET_COMMIT, 1, len(old))]


def logged_in(lifetime_ms: int) -> bytes:
    """The body of an answer to SaslAuthenticate v1."""
    return b"\x00\x00\xff\xff\x00\x00\x00\x00" + lifetime_ms.to_bytes(8, "big")


async def test_question_waits_while_the_client_logs_in_anew() -> None:
    """A broker answers nothing but SASL then, and closes the connection of whoever asks something else (KIP-368)."""
    broker = ScriptedBroker()
    broker.bodies[ApiKey.SASL_AUTHENTICATE] = logged_in(60_000)
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(beat(), request(ApiKey.SASL_HANDSHAKE, 1, 2))
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert ApiKey.SASL_HANDSHAKE not in [key for key, _, _ in broker.requests], "not before all is answered"
        front.reply_routes.deliver(front.groups.submitted[0][0], HeartbeatReply(ErrorCode.NONE))
        assert await client.ids(2) == [1, 2]
        via = front.groups.submitted[0][2]
        via.ask(None, QUESTION, lambda _: None)
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert ApiKey.OFFSET_FETCH not in [key for key, _, _ in broker.requests]
        await client.send(request(ApiKey.SASL_AUTHENTICATE, 1, 3))
        assert await client.ids(1) == [3]
        await trio.testing.wait_all_tasks_blocked(0.01)
        keys = [key for key, _, _ in broker.requests]
        assert keys[-3:] == [ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.OFFSET_FETCH]


async def test_question_that_waits_goes_when_the_client_goes_on() -> None:
    """Where the broker tells no lifetime, the next request shows that the login is over."""
    broker = ScriptedBroker()
    broker.bodies[ApiKey.SASL_AUTHENTICATE] = logged_in(0)
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(beat())
        await trio.testing.wait_all_tasks_blocked(0.01)
        front.reply_routes.deliver(front.groups.submitted[0][0], HeartbeatReply(ErrorCode.NONE))
        await client.send(request(ApiKey.SASL_HANDSHAKE, 1, 2), request(ApiKey.SASL_AUTHENTICATE, 1, 3))
        assert await client.ids(3) == [1, 2, 3]
        front.groups.submitted[0][2].ask(None, QUESTION, lambda _: None)
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert broker.requests[-1][0] == ApiKey.SASL_AUTHENTICATE
        await client.send(beat())
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert broker.requests[-1][0] == ApiKey.OFFSET_FETCH


async def test_client_whose_login_ran_out_is_sent_away_as_by_a_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that never logs in anew would be kept by heartbeats that no broker sees."""
    broker = ScriptedBroker()
    broker.bodies[ApiKey.SASL_AUTHENTICATE] = logged_in(1)
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(request(ApiKey.SASL_HANDSHAKE, 1, 2), request(ApiKey.SASL_AUTHENTICATE, 1, 3))
        assert await client.ids(2) == [2, 3]
        monkeypatch.setattr(client_connection, "now_ms", lambda: now_ms() + 2 * SPARE_MAX_MS)
        await client.send(beat())
        assert await client.is_closed()
        assert front.closed(CloseReason.LOGIN_RAN_OUT) == 1


ENDED = (
    beat(),
    request(ApiKey.API_VERSIONS, 3, 9, b"\x00\x02a\x02b\x00"),
    request(ApiKey.METADATA, 1, 9, bytes(4)),
    request(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 9, b"\x02g"),
)


@pytest.mark.parametrize("frame", ENDED, ids=lambda frame: ApiKey(int.from_bytes(frame[4:6], "big")).name)
async def test_nothing_is_answered_once_a_login_at_the_broker_ran_out(
    monkeypatch: pytest.MonkeyPatch, frame: bytes
) -> None:
    """Nor what no broker is asked for: versions, and a name that is taken."""
    broker = ScriptedBroker()
    broker.bodies[ApiKey.SASL_AUTHENTICATE] = logged_in(1)
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(request(ApiKey.SASL_HANDSHAKE, 1, 2), request(ApiKey.SASL_AUTHENTICATE, 1, 3))
        assert await client.ids(2) == [2, 3]
        (connection,) = front.proxy._connections.values()
        connection.session._holds = lambda _: True
        late_ms = 2 * SPARE_MAX_MS
        for room in (client_connection, login_bounds):
            monkeypatch.setattr(room, "now_ms", lambda: now_ms() + late_ms)
        await client.send(frame)
        assert await client.is_closed()
        assert front.closed(CloseReason.LOGIN_RAN_OUT) == 1
        assert front.groups.submitted == []


async def test_login_that_ran_out_can_be_made_anew() -> None:
    """As at Kafka, where a handshake is what it still takes."""
    broker = ScriptedBroker()
    broker.bodies[ApiKey.SASL_AUTHENTICATE] = logged_in(1)
    async with front_of(broker) as front:
        client = await front.dial()
        for _ in range(2):
            await client.send(request(ApiKey.SASL_HANDSHAKE, 1, 2), request(ApiKey.SASL_AUTHENTICATE, 1, 3))
            assert await client.ids(2) == [2, 3]
            await trio.sleep(2 * SPARE_MAX_MS / 1000)
        await client.send(request(ApiKey.API_VERSIONS, 0, 4))
        assert await client.is_closed()
