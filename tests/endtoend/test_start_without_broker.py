"""The bridge is started while its broker is down: members that its journal knows go on at once."""

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.api import Fields, Record
from bridge.wire.codec.registry import Request, decode_reply, encode_request, read_reply_fields, whole_request_frame
from bridge.wire.frames import LENGTH_BYTES
from tests.support.bridge_process import QUICK_SETTINGS
from tests.support.ports import free_port
from tests.support.restarted_bridge import RestartedBridge
from tests.support.scripted_broker import LOOPBACK
from tests.support.topic_broker import PARTITIONS, TOPIC, topic_broker
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, MemberId, TopicName

CLASSIC, NATIVE = GroupId("classic"), GroupId("native")
ID = MemberId("native-member-id-000000")
AT_ONCE_S = 9.0
"""Less than the ten seconds that one request waits for a broker: one that waited would show on any machine."""
ReplyT = TypeVar("ReplyT")


class Client:
    """One connection that asks and waits for its answer."""

    def __init__(self, place: str) -> None:
        host, _, port = place.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=30)

    def ask(self, api_key: ApiKey, version: int, request: Request, kind: type[ReplyT]) -> ReplyT:
        """The answer to one request."""
        _, reply = decode_reply(
            api_key, version, self._exchange(encode_request(api_key, version, 1, "client", request))
        )
        assert isinstance(reply, kind)
        return reply

    def look_up(self, api_key: ApiKey, version: int, fields: Fields) -> Record:
        """The answer to a request that is no group's."""
        frame = whole_request_frame(api_key, version, 1, "client", fields)
        return read_reply_fields(api_key, version, self._exchange(frame))[1]

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _exchange(self, frame: bytes) -> bytes:
        self._socket.sendall(frame)
        return self._take(int.from_bytes(self._take(LENGTH_BYTES)))

    def _take(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = self._socket.recv(size - len(data))
            assert chunk, "the bridge closed the connection"
            data += chunk
        return data


def join(client: Client, member_id: MemberId) -> JoinGroupReply:
    """A classic member's JoinGroup."""
    metadata = encode_subscription(Subscription(version=0, topics=(TOPIC,)))
    request = JoinGroup(
        group_id=CLASSIC,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        member_id=member_id,
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol("range", metadata),),
    )
    return client.ask(ApiKey.JOIN_GROUP, 5, request, JoinGroupReply)


def beat_natively(client: Client, epoch: int, topics: tuple[TopicName, ...] | None) -> ConsumerGroupHeartbeatReply:
    """A KIP-848 member's heartbeat."""
    request = ConsumerGroupHeartbeat(
        group_id=NATIVE,
        member_id=ID,
        member_epoch=epoch,
        instance_id=None,
        rack_id=None,
        rebalance_timeout_ms=30_000 if topics else -1,
        subscribed_topic_names=topics,
        subscribed_topic_regex=None,
        server_assignor=None,
        owned=frozenset() if topics else None,
    )
    return client.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, request, ConsumerGroupHeartbeatReply)


@pytest.fixture
def bridge(tmp_path: Path) -> Iterator[tuple[RestartedBridge, int]]:
    """A bridge that is not started yet, and where its broker shall be."""
    port = free_port()
    settings = {**QUICK_SETTINGS, "group.consumer.session.timeout.ms": "45000"}
    restarted = RestartedBridge(f"{LOOPBACK}:{port}", "*", tmp_path, settings)
    yield restarted, port
    restarted.kill()


def find_its_way(place: str) -> str:
    """What a client asks after its connection was lost, on one that it opens anew: the place of its coordinator.

    Metadata first, since an answer that waits keeps all later ones of its connection waiting.
    """
    with closing(Client(place)) as client:
        metadata = client.look_up(ApiKey.METADATA, 4, {"topics": None, "allow_auto_topic_creation": False})
        assert [(each.text("name"), len(each.records("partitions"))) for each in metadata.records("topics")] == [
            (TOPIC, PARTITIONS)
        ]
        of_a_transaction = client.look_up(ApiKey.FIND_COORDINATOR, 2, {"key": CLASSIC, "key_type": 1})
        assert of_a_transaction.number("error_code") == ErrorCode.COORDINATOR_NOT_AVAILABLE
        found = client.look_up(ApiKey.FIND_COORDINATOR, 2, {"key": CLASSIC, "key_type": 0})
        assert found.number("error_code") == ErrorCode.NONE
        return f"{found.text('host')}:{found.number('port')}"


def test_members_go_on_from_the_journal_alone(bridge: tuple[RestartedBridge, int]) -> None:
    """Heartbeats of both protocols are answered 0 at once, at the broker's own listener too; joins get 15."""
    restarted, port = bridge
    with topic_broker(port):
        restarted.start()
        with closing(Client(restarted.bootstrap)) as client:
            member_id = join(client, NO_MEMBER_ID).member_id
            joined = join(client, member_id)
            assert joined.error is ErrorCode.NONE
            sync = SyncGroup(
                group_id=CLASSIC, generation=joined.generation, member_id=member_id, instance_id=None, assignments=()
            )
            assert client.ask(ApiKey.SYNC_GROUP, 3, sync, SyncGroupReply).error is ErrorCode.NONE
            native = beat_natively(client, 0, (TOPIC,))
            assert native.error is ErrorCode.NONE
        restarted.kill()
    restarted.start()
    host, _, first = restarted.bootstrap.rpartition(":")
    begin = time.monotonic()
    # Behind the bootstrap port each broker has the one of its id, and this one is number 1.
    at_broker = f"{host}:{int(first) + 2}"
    assert find_its_way(restarted.bootstrap) == at_broker
    assert time.monotonic() - begin < AT_ONCE_S
    for place in (restarted.bootstrap, at_broker):
        with closing(Client(place)) as client:
            begin = time.monotonic()
            beat = Heartbeat(CLASSIC, joined.generation, member_id, None)
            assert client.ask(ApiKey.HEARTBEAT, 3, beat, HeartbeatReply).error is ErrorCode.NONE
            assert beat_natively(client, native.member_epoch, None).error is ErrorCode.NONE
            # As Java's consumer says it after its connection was lost.
            assert beat_natively(client, native.member_epoch, (TOPIC,)).error is ErrorCode.NONE
            assert join(client, member_id).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert time.monotonic() - begin < AT_ONCE_S
    with topic_broker(port), closing(Client(restarted.bootstrap)) as client:
        deadline = time.monotonic() + 90
        while (answer := join(client, member_id)).error is ErrorCode.COORDINATOR_NOT_AVAILABLE:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert answer.error is ErrorCode.NONE
