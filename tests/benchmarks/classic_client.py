"""One classic consumer as its coordinator sees it: frames in, the next frame out.

It must not know sockets, time or the other members.
"""

from enum import Enum, auto

from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import decode_reply, encode_request
from bridge.wire.frames import LENGTH_BYTES
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    MemberAssignment,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer_protocol import (
    Subscription,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, MemberId, TopicName, TopicPartition

JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION = 7, 5, 4
SESSION_MS, REBALANCE_MS = 45_000, 300_000
RETRIABLE = frozenset(
    (
        ErrorCode.MEMBER_ID_REQUIRED,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    )
)
Partitions = frozenset[TopicPartition]


class Refused(Exception):
    """The coordinator said what no member of this fleet should hear."""


class Phase(Enum):
    """What the member waits for."""

    JOINING = auto()
    SYNCING = auto()
    STABLE = auto()


class ClassicClient:
    """A member with one cooperative or one eager assignor, as librdkafka and Java have them.

    A coordinator that lets the leader assign gets `partitions` of the topic dealt out in turn.
    """

    def __init__(self, group: str, topic: str, name: str, *, cooperative: bool, partitions: int = 0) -> None:
        self.phase = Phase.JOINING
        self.owned: Partitions = frozenset()
        self.times_called = 0
        self.partitions_given_up = 0
        self.beat = b""
        self._group = GroupId(group)
        self._topic = TopicName(topic)
        self._name = name
        self._is_cooperative = cooperative
        self._partitions = partitions
        self._member_id = NO_MEMBER_ID
        self._generation = -1

    def start(self) -> bytes:
        """The first JoinGroup."""
        self.phase = Phase.JOINING
        subscription = Subscription(version=2, topics=(self._topic,), owned=self.owned, generation=self._generation)
        name = "cooperative-sticky" if self._is_cooperative else "range"
        request = JoinGroup(
            group_id=self._group,
            member_id=self._member_id,
            instance_id=None,
            protocol_type="consumer",
            protocols=(Protocol(name, encode_subscription(subscription)),),
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
        )
        return encode_request(ApiKey.JOIN_GROUP, JOIN_VERSION, 1, self._name, request)

    def take(self, frame: bytes) -> bytes | None:
        """Deal with an answer, given with its length prefix; the next request if one follows. Raises Refused."""
        if self.phase is Phase.STABLE:
            return self._beaten(frame)
        return self._joined(frame) if self.phase is Phase.JOINING else self._synced(frame)

    def _joined(self, frame: bytes) -> bytes:
        _, reply = decode_reply(ApiKey.JOIN_GROUP, JOIN_VERSION, frame[LENGTH_BYTES:])
        assert isinstance(reply, JoinGroupReply), reply
        if reply.error is not ErrorCode.NONE:
            return self._again(reply.error, reply.member_id or self._member_id)
        self._member_id, self._generation = reply.member_id, reply.generation
        self.phase = Phase.SYNCING
        request = SyncGroup(
            group_id=self._group,
            generation=self._generation,
            member_id=self._member_id,
            instance_id=None,
            protocol_type=reply.protocol_type,
            protocol_name=reply.protocol_name,
            assignments=self._deal_out(reply) if reply.leader == self._member_id else (),
            names_protocol=True,
        )
        return encode_request(ApiKey.SYNC_GROUP, SYNC_VERSION, 2, self._name, request)

    def _deal_out(self, reply: JoinGroupReply) -> tuple[MemberAssignment, ...]:
        member_ids = [member.member_id for member in reply.members]
        return tuple(
            MemberAssignment(
                member_id,
                encode_assignment(
                    frozenset(
                        TopicPartition(self._topic, number)
                        for number in range(position, self._partitions, len(member_ids))
                    )
                ),
            )
            for position, member_id in enumerate(member_ids)
        )

    def _synced(self, frame: bytes) -> bytes | None:
        _, reply = decode_reply(ApiKey.SYNC_GROUP, SYNC_VERSION, frame[LENGTH_BYTES:])
        assert isinstance(reply, SyncGroupReply), reply
        if reply.error is not ErrorCode.NONE:
            return self._again(reply.error, self._member_id)
        before, self.owned = self.owned, decode_assignment(reply.assignment).partitions
        beat = Heartbeat(self._group, self._generation, self._member_id, None)
        self.beat = encode_request(ApiKey.HEARTBEAT, HEARTBEAT_VERSION, 3, self._name, beat)
        self.phase = Phase.STABLE
        self.partitions_given_up += len(before - self.owned)
        # A cooperative member that gave something up joins again, so that the others may have it (KIP-429).
        return self.start() if self._is_cooperative and before - self.owned else None

    def _beaten(self, frame: bytes) -> bytes | None:
        _, reply = decode_reply(ApiKey.HEARTBEAT, HEARTBEAT_VERSION, frame[LENGTH_BYTES:])
        assert isinstance(reply, HeartbeatReply), reply
        if reply.error is ErrorCode.NONE:
            return None
        self.times_called += 1
        if not self._is_cooperative:
            self.owned = frozenset()
        return self._again(reply.error, self._member_id)

    def _again(self, error: ErrorCode, member_id: MemberId) -> bytes:
        if error not in RETRIABLE:
            raise Refused(f"{self._name} ({member_id!r}) heard {error.name} while {self.phase.name}")
        self._member_id = member_id
        return self.start()
