"""The short way of heartbeats: by itself with every version, and through a real proxy."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from bridge.migration.route import Road, Router, Rule
from bridge.session.client_session import ClientSession, Rules, Submitted
from bridge.session.counters import Counters
from bridge.session.grants import FREE
from bridge.session.heartbeat_lane import FRAME_BYTES_MAX, HeartbeatLane
from bridge.session.limits import Limits
from bridge.session.requests import Head
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, encode_reply, encode_request
from bridge.wire.frames import read_request_header
from tests.support.front import Front, RecordedGroups, front_of
from tests.support.proxy import SeenGroups
from tests.support.scripted_broker import RawClient, ScriptedBroker, request
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicId, TopicIdPartition

OURS = Heartbeat(GroupId("embedded-orders"), 1, MemberId("m-1"), None)
NATIVE = ConsumerGroupHeartbeat(group_id=GroupId("embedded-orders"), member_id=MemberId("m-1"), member_epoch=7)
CALM = HeartbeatReply(ErrorCode.NONE)
NATIVE_CALM = ConsumerGroupHeartbeatReply(
    error=ErrorCode.NONE, member_id=NATIVE.member_id, member_epoch=7, heartbeat_interval_ms=5_000
)
CORRELATION_IDS = st.integers(-(2**31), 2**31 - 1)
VERSIONS = [*((ApiKey.HEARTBEAT, version) for version in range(5)), (ApiKey.CONSUMER_GROUP_HEARTBEAT, 0)]
VERSIONS.append((ApiKey.CONSUMER_GROUP_HEARTBEAT, 1))


@dataclass(slots=True)
class Lane:
    """A lane without sockets, before groups where everybody is at rest."""

    groups: RecordedGroups = field(default_factory=lambda: RecordedGroups(beats=[]))
    counters: Counters = field(default_factory=Counters)
    session: ClientSession = field(
        default_factory=lambda: ClientSession(
            Rules(limits=Limits(), router=Router((Rule("*", Road.EMBEDDED),))), 1, "10.0.0.9", SeenGroups()
        )
    )

    def __post_init__(self) -> None:
        """Before the first heartbeat."""
        self.lane = HeartbeatLane(self.session, {Road.EMBEDDED: self.groups}, self.counters)

    lane: HeartbeatLane = field(init=False)

    def go_the_long_way(self, frame: bytes, message: Heartbeat | ConsumerGroupHeartbeat, reply: Reply) -> None:
        """One heartbeat is decoded, answered and sent."""
        header = read_request_header(frame)
        assert header is not None
        slot = self.session.outbox.reserve(header.api_key, header.api_version, header.correlation_id)
        self.lane.note_request(Head(header, frame, 0), Submitted(slot, Road.EMBEDDED, message), FREE)
        answer = encode_reply(header.api_key, header.api_version, header.correlation_id, reply)
        self.lane.note_answer(slot, reply, answer)
        self.session.outbox.fill(slot, answer)
        self.session.outbox.take_ready()


def message_of(api_key: int) -> tuple[Heartbeat | ConsumerGroupHeartbeat, Reply]:
    """A heartbeat and its calm answer."""
    return (OURS, CALM) if api_key == ApiKey.HEARTBEAT else (NATIVE, NATIVE_CALM)


def with_tag(frame: bytes) -> bytes:
    """The same request with a tagged field in its flexible header."""
    header = read_request_header(frame)
    assert header is not None
    tag = bytes((1, 99, 2)) + b"ab"
    length = len(frame) - 4 + len(tag) - 1
    return length.to_bytes(4) + frame[4 : header.body_offset - 1] + tag + frame[header.body_offset :]


@given(st.sampled_from(VERSIONS), CORRELATION_IDS, CORRELATION_IDS, st.booleans())
def test_repeated_frame_gets_the_answer_of_the_codec(api: tuple[int, int], first: int, second: int, tag: bool) -> None:
    """Version by version: all that differs is the correlation id, and the answer carries it back."""
    key, version = api
    message, reply = message_of(key)
    is_flexible = version >= 4 or key == ApiKey.CONSUMER_GROUP_HEARTBEAT
    change = with_tag if tag and is_flexible else bytes
    world = Lane()
    world.go_the_long_way(change(encode_request(key, version, first, "client", message)), message, reply)
    again = change(encode_request(key, version, second, "client", message))
    assert len(again) == world.lane.frame_bytes
    assert world.lane.answer(again) == encode_reply(key, version, second, reply)
    assert world.groups.beats == [message]
    assert world.counters.picture(0).apis[key].requests == 1


def others(api_key: int, version: int) -> Sequence[bytes]:
    """Frames as long as `m-1`'s that say something else."""
    message, _ = message_of(api_key)
    frame = encode_request(api_key, version, 1, "client", message)
    other_member = encode_request(api_key, version, 1, "client", replace(message, member_id=MemberId("m-2")))
    other_client = encode_request(api_key, version, 1, "tneilc", message)
    other_version = frame[:6] + (9).to_bytes(2) + frame[8:]
    other_api = frame[:4] + (11).to_bytes(2) + frame[6:]
    return other_member, other_client, other_version, other_api


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_frame_that_asks_otherwise_is_not_taken(api_key: int, version: int) -> None:
    """Another member, client id, version or api of the same length is another question."""
    message, reply = message_of(api_key)
    world = Lane()
    world.go_the_long_way(encode_request(api_key, version, 1, "client", message), message, reply)
    for other in others(api_key, version):
        assert len(other) == world.lane.frame_bytes
        assert world.lane.answer(other) is None
    assert world.groups.beats == []


@pytest.mark.parametrize(
    "reply",
    [
        replace(NATIVE_CALM, error=ErrorCode.FENCED_MEMBER_EPOCH),
        replace(NATIVE_CALM, member_epoch=8),
        replace(NATIVE_CALM, assignment=frozenset()),
        replace(NATIVE_CALM, assignment=frozenset([TopicIdPartition(TopicId(b"t" * 16), 0)])),
        replace(NATIVE_CALM, member_id=MemberId("m-2")),
    ],
    ids=["error", "epoch", "no partitions", "partitions", "member"],
)
def test_answer_with_news_is_not_given_twice(reply: ConsumerGroupHeartbeatReply) -> None:
    """What the client was told once it is not told again."""
    world = Lane()
    frame = encode_request(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, 1, "client", NATIVE)
    world.go_the_long_way(frame, NATIVE, reply)
    assert world.lane.answer(frame) is None


def test_client_that_named_itself_otherwise_meanwhile_goes_the_long_way() -> None:
    """The groups know members by the client id that came with their last request."""
    world = Lane()
    frame = encode_request(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, 1, "client", NATIVE)
    world.go_the_long_way(frame, NATIVE, NATIVE_CALM)
    world.session.identity = replace(world.session.identity, client_id="other")
    assert world.lane.answer(frame) is None


def frame(correlation_id: int, message: Heartbeat = OURS, client_id: str = "client") -> bytes:
    """A Heartbeat v4 frame."""
    return encode_request(ApiKey.HEARTBEAT, 4, correlation_id, client_id, message)


async def introduce(front: Front, message: Heartbeat = OURS) -> RawClient:
    """A client whose first heartbeat went the long way."""
    client = await front.dial()
    await client.send(frame(1, message))
    await trio.testing.wait_all_tasks_blocked(0.01)
    front.reply_routes.deliver(front.groups.submitted[-1][0], CALM)
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


async def test_repeated_native_heartbeat_is_answered_without_being_submitted() -> None:
    """A ConsumerGroupHeartbeat in its epoch, likewise, under its own api."""
    async with front_of(ScriptedBroker()) as front:
        client = await front.dial()
        key = ApiKey.CONSUMER_GROUP_HEARTBEAT
        await client.send(encode_request(key, 1, 1, "client", NATIVE))
        await trio.testing.wait_all_tasks_blocked(0.01)
        front.reply_routes.deliver(front.groups.submitted[-1][0], NATIVE_CALM)
        _, body = await client.answer()
        front.groups.beats = []
        await client.send(encode_request(key, 1, 2, "client", NATIVE))
        assert await client.answer() == (2, body)
        assert front.groups.beats == [NATIVE]
        assert front.proxy.statistics().apis[key].requests == 2


async def test_heartbeat_that_the_groups_do_not_take_goes_the_long_way() -> None:
    """A member that is to hear something, or is gone, is answered as ever."""
    async with front_of(ScriptedBroker()) as front:
        client = await introduce(front)
        await client.send(frame(2))
        await trio.testing.wait_all_tasks_blocked(0.01)
        ref, message, *_ = front.groups.submitted[-1]
        assert message == OURS
        front.reply_routes.deliver(ref, HeartbeatReply(ErrorCode.REBALANCE_IN_PROGRESS))
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
        front.reply_routes.deliver(front.groups.submitted[-1][0], CALM)
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
