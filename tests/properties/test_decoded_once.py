"""Law of the whole bridge: what comes is read once: a request, subscriptions and assignments in it, an answer.

A JoinGroup's subscription once was read seven times, by everybody who wanted to know something of it.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from bridge.migration.route import Road
from bridge.wire import endpoints
from bridge.wire.apis import ApiKey
from bridge.wire.codec import registry
from bridge.wire.codec.api import Record
from bridge.wire.codec.registry import Reply, Request, decode_reply, encode_request, whole_request_frame
from bridge.wire.cursor import Cursor
from bridge.wire.frames import FrameBytes
from tests.support.scripted_broker import RawClient
from tests.support.whole_bridge import whole_bridge
from translators.dialects import consumer_protocol
from translators.dialects.classic import (
    JoinGroup,
    JoinGroupReply,
    MemberAssignment,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer_protocol import Subscription, encode_assignment, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, TopicName, TopicPartition

ReplyT = TypeVar("ReplyT", JoinGroupReply, SyncGroupReply)
TOPIC = TopicName("t")
WANTED = encode_subscription(Subscription(version=1, topics=(TOPIC,), owned=frozenset()))
REMEMBERED = b"\0\0\0\1\0\1t\0\0\0\1\0\0\0\3\0\0\0\7"
"""What a sticky assignor writes into its user data: a list of topics and partitions, and their generation (KIP-341)."""
STICKY = encode_subscription(Subscription(version=1, topics=(TOPIC,), owned=frozenset(), user_data=REMEMBERED))
ASSIGNED = encode_assignment(frozenset({TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 3)}))
VERSIONS = {ApiKey.JOIN_GROUP: 9, ApiKey.SYNC_GROUP: 5}


@pytest.fixture
def times_read(monkeypatch: pytest.MonkeyPatch) -> Counter[bytes]:
    """How often each request's body, each blob in one, and each answer with addresses was read."""
    seen: Counter[bytes] = Counter()
    read_body = registry.read_request_fields

    class CountingReader(consumer_protocol._Reader):
        def __init__(self, blob: bytes) -> None:
            seen[blob] += 1
            super().__init__(blob)

    def read_and_count(api_key: int, version: int, body: FrameBytes, place: registry.BodyPlace) -> Record:
        seen[bytes(body)] += 1
        return read_body(api_key, version, body, place)

    class CountingCursor(Cursor):
        def __init__(self, data: FrameBytes, offset: int, api: str, version: int, *, flexible: bool) -> None:
            seen[bytes(data)] += 1
            super().__init__(data, offset, api, version, flexible=flexible)

    monkeypatch.setattr(endpoints, "Cursor", CountingCursor)
    monkeypatch.setattr(consumer_protocol, "_Reader", CountingReader)
    monkeypatch.setattr(registry, "read_request_fields", read_and_count)
    return seen


async def ask(client: RawClient, api_key: ApiKey, request: Request, expected: type[ReplyT]) -> ReplyT:
    """Send one request, wait for its answer, which refuses nothing."""
    version = VERSIONS[api_key]
    await client.send(encode_request(api_key, version, 1, "client", request))
    correlation_id, body = await client.answer()
    reply: Reply = decode_reply(api_key, version, correlation_id.to_bytes(4) + body)[1]
    assert isinstance(reply, expected)
    assert reply.error in {ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED}
    return reply


def newcomer(*protocols: Protocol) -> JoinGroup:
    """The first JoinGroup of a client."""
    return JoinGroup(
        group_id=GroupId("group"),
        member_id=NO_MEMBER_ID,
        instance_id=None,
        protocol_type="consumer",
        protocols=protocols,
        session_timeout_ms=45_000,
        rebalance_timeout_ms=45_000,
    )


TRANSLATED = newcomer(Protocol("range", WANTED), Protocol("roundrobin", WANTED), Protocol("sticky", STICKY))
LED = newcomer(Protocol("custom", WANTED))


@pytest.mark.parametrize(("offered", "is_led"), [(TRANSLATED, False), (LED, True)], ids=["translated", "classic group"])
async def test_embedded_group_reads_each_byte_of_its_clients_once(
    offered: JoinGroup, is_led: bool, tmp_path: Path, times_read: Counter[bytes]
) -> None:
    """Each JoinGroup by itself, and a SyncGroup with what it is answered."""
    async with whole_bridge(Road.EMBEDDED, tmp_path) as client:
        named = await ask(client, ApiKey.JOIN_GROUP, offered, JoinGroupReply)
        assert set(times_read.values()) == {1}
        times_read.clear()
        joined = await ask(client, ApiKey.JOIN_GROUP, replace(offered, member_id=named.member_id), JoinGroupReply)
        assert (joined.error, joined.leader != "") == (ErrorCode.NONE, is_led)
        assert times_read[WANTED] == 1
        assert set(times_read.values()) == {1}
        times_read.clear()
        brought = (MemberAssignment(joined.member_id, ASSIGNED),) if is_led else ()
        synced = SyncGroup(
            group_id=offered.group_id,
            generation=joined.generation,
            member_id=joined.member_id,
            instance_id=None,
            protocol_type="consumer",
            protocol_name=joined.protocol_name,
            assignments=brought,
        )
        handed = await ask(client, ApiKey.SYNC_GROUP, synced, SyncGroupReply)
        assert times_read[handed.assignment] == 1
        assert set(times_read.values()) == {1}


async def test_group_that_passes_is_read_once_by_whoever_follows_it(tmp_path: Path, times_read: Counter[bytes]) -> None:
    """The broker coordinates; the event log alone wants to know."""
    async with whole_bridge(Road.PASS, tmp_path) as client:
        await ask(client, ApiKey.JOIN_GROUP, TRANSLATED, JoinGroupReply)
        assert times_read[WANTED] == 1
        assert set(times_read.values()) == {1}


@pytest.mark.parametrize("road", [Road.PASS, Road.EMBEDDED])
async def test_answer_with_addresses_is_read_once_to_learn_and_replace_them(
    road: Road, tmp_path: Path, times_read: Counter[bytes]
) -> None:
    """Every client asks for Metadata again and again."""
    async with whole_bridge(road, tmp_path) as client:
        times_read.clear()
        asked = {"topics": None, "allow_auto_topic_creation": False, "include_topic_authorized_operations": False}
        await client.send(whole_request_frame(ApiKey.METADATA, 12, 7, "client", asked))
        assert (await client.answer())[0] == 7
        assert [count for frame, count in times_read.items() if frame[4:8] == (7).to_bytes(4)] == [1]
