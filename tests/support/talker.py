"""One connection to a cluster or a bridge, on which a test says what it likes and reads each answer."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, Request, decode_reply, encode_request
from bridge.wire.frames import RequestHeader, request_frame, response_frame
from bridge.wire.packing import INT32, nullable_string
from translators.dialects.classic import JoinGroup, JoinGroupReply, Protocol
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName

PATIENCE_S = 60.0
CLIENT_ID = "second"
COORDINATOR_ERROR_AT = 12
ERROR_AT, ERROR_END = 13, 15
"""Where the code stands in the answer to a share or streams heartbeat."""


class Talker:
    """One connection on which requests are sent and answers read, one after the other."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def exchange(self, frame: bytes) -> bytes:
        """The answer to a frame, length prefix included."""
        self._socket.sendall(frame)
        size = self._read(4)
        return size + self._read(int.from_bytes(size, "big"))

    def ask(self, api_key: ApiKey, version: int, request: Request) -> Reply:
        """The answer to a request."""
        return decode_reply(
            api_key, version, self.exchange(encode_request(api_key, version, 1, CLIENT_ID, request))[4:]
        )[1]

    def coordinator(self, group_id: GroupId) -> ErrorCode:
        """Ask where a group's coordinator is: a broker that has had no group yet makes its offsets topic for it."""
        body = nullable_string(group_id, flexible=False) + b"\x00"
        frame = self.exchange(request_frame(RequestHeader(0, ApiKey.FIND_COORDINATOR, 1, 1, CLIENT_ID, 0), body))
        return ErrorCode(int.from_bytes(frame[COORDINATOR_ERROR_AT : COORDINATOR_ERROR_AT + 2], "big", signed=True))

    def native(self, group_id: GroupId, topic: str) -> ErrorCode:
        """A KIP-848 member joins."""
        join = ConsumerGroupHeartbeat(
            group_id=group_id,
            member_id=MemberId(str(uuid4())),
            member_epoch=0,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=(TopicName(topic),),
            owned=frozenset(),
        )
        reply = self.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, join)
        assert isinstance(reply, ConsumerGroupHeartbeatReply)
        return reply.error

    def classic(self, group_id: GroupId, topic: str) -> ErrorCode:
        """A classic member joins."""
        wanted = Subscription(version=0, topics=(TopicName(topic),), owned=frozenset(), user_data=None)
        join = JoinGroup(
            group_id=group_id,
            member_id=MemberId(""),
            instance_id=None,
            protocol_type="consumer",
            protocols=(Protocol("range", encode_subscription(wanted)),),
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
        )
        reply = self.ask(ApiKey.JOIN_GROUP, 2, join)
        assert isinstance(reply, JoinGroupReply)
        return reply.error

    def share(self, group_id: GroupId, topic: str) -> tuple[ErrorCode, bytes]:
        """A member of a share group joins; the code, and what comes behind the throttle time."""
        return self._other_kind(ApiKey.SHARE_GROUP_HEARTBEAT, 1, share_body(group_id, topic))

    def streams(self, group_id: GroupId) -> tuple[ErrorCode, bytes]:
        """A member of a streams group says that it is there still."""
        return self._other_kind(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, streams_body(group_id))

    def _other_kind(self, api_key: ApiKey, version: int, body: bytes) -> tuple[ErrorCode, bytes]:
        frame = self.exchange(request_frame(RequestHeader(0, api_key, version, 1, CLIENT_ID, 0), body))
        code = int.from_bytes(frame[ERROR_AT:ERROR_END], "big", signed=True)
        return ErrorCode(code), response_frame(api_key, version, 1, frame[9:])

    def _read(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            piece = self._socket.recv(count - len(found))
            assert piece, "the other end closed"
            found += piece
        return found


def share_body(group_id: GroupId, topic: str) -> bytes:
    """A member of a share group joins (ShareGroupHeartbeat 1)."""
    member = nullable_string(str(uuid4()), flexible=True)
    topics = b"\x02" + nullable_string(topic, flexible=True)
    return nullable_string(group_id, flexible=True) + member + INT32.pack(0) + b"\x00" + topics + b"\x00"


def streams_body(group_id: GroupId) -> bytes:
    """A member of a streams group says that it is there still (StreamsGroupHeartbeat 0)."""
    member = nullable_string(str(uuid4()), flexible=True)
    nothing = b"\x00" * 4
    body = nullable_string(group_id, flexible=True) + member + INT32.pack(5) + INT32.pack(0) + b"\x00\x00"
    return body + INT32.pack(-1) + b"\xff" + b"\x00\x00\x00" + b"\x00" + b"\xff" + nothing[:3] + b"\x00" + b"\x00"


def share_offsets_body(group_id: GroupId, topic: str) -> bytes:
    """An admin sets offsets for a share group (AlterShareGroupOffsets 0)."""
    partitions = b"\x02" + INT32.pack(0) + bytes(8) + b"\x00"
    topics = b"\x02" + nullable_string(topic, flexible=True) + partitions + b"\x00"
    return nullable_string(group_id, flexible=True) + topics + b"\x00"


@contextmanager
def talk(bootstrap: str) -> Iterator[Talker]:
    """A connection to a bootstrap address."""
    host, port = bootstrap.split(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as sock:
        yield Talker(sock)
