"""One classic consumer as its coordinator sees it: frames in, the next frame out.

It must not know sockets, time or the other members.
"""

from collections.abc import Mapping
from enum import Enum, auto

from bridge.whatif.membership import CLASSIC_RETRIED, ClassicMembership, Timeouts
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import decode_reply, encode_request
from bridge.wire.frames import LENGTH_BYTES
from translators.dialects.classic import (
    HeartbeatReply,
    JoinedMember,
    JoinGroupReply,
    MemberAssignment,
    SyncGroupReply,
)
from translators.dialects.consumer_protocol import (
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, InstanceId, MemberId, TopicName, TopicPartition

JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, LEAVE_VERSION = 7, 5, 4, 4
REBALANCE_MS = 300_000
SESSION_MS = 45_000
NO_GENERATION = -1
JOINED_AGAIN = CLASSIC_RETRIED | {ErrorCode.MEMBER_ID_REQUIRED}
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

    instance_id: InstanceId | None = None
    session_ms = SESSION_MS

    def __init__(self, group: str, topic: str, name: str, *, cooperative: bool, partitions: int = 0) -> None:
        self.phase = Phase.JOINING
        self.owned: Partitions = frozenset()
        self.times_called = 0
        self.joins = 0
        self.partitions_given_up = 0
        self.beat = b""
        self._group = GroupId(group)
        self._topic = TopicName(topic)
        self.name = name
        self._is_cooperative = cooperative
        self._partitions = partitions
        self._member_id = NO_MEMBER_ID
        self._generation = NO_GENERATION

    @property
    def _membership(self) -> ClassicMembership:
        return ClassicMembership(
            group_id=self._group,
            instance_id=self.instance_id,
            member_id=self._member_id,
            generation=self._generation,
        )

    @property
    def identity(self) -> tuple[int, MemberId]:
        """Generation and member id, for what it asks beside the group protocol."""
        return self._generation, self._member_id

    def start(self) -> bytes:
        """The first JoinGroup."""
        self.phase = Phase.JOINING
        self.joins += 1
        subscription = Subscription(version=2, topics=(self._topic,), owned=self.owned, generation=self._generation)
        name = "cooperative-sticky" if self._is_cooperative else "range"
        timeouts = Timeouts(session_ms=self.session_ms, rebalance_ms=REBALANCE_MS)
        request = self._membership.join((name,), subscription, timeouts)
        return encode_request(ApiKey.JOIN_GROUP, JOIN_VERSION, 1, self.name, request)

    def take(self, frame: bytes) -> bytes | None:
        """Deal with an answer, given with its length prefix; the next request if one follows. Raises Refused."""
        if self.phase is Phase.STABLE:
            return self._beaten(frame)
        return self._joined(frame) if self.phase is Phase.JOINING else self._synced(frame)

    def leave(self) -> bytes:
        """The LeaveGroup with which it goes; a static member only says goodbye to its socket."""
        return encode_request(ApiKey.LEAVE_GROUP, LEAVE_VERSION, 5, self.name, self._membership.leave())

    def _joined(self, frame: bytes) -> bytes:
        _, reply = decode_reply(ApiKey.JOIN_GROUP, JOIN_VERSION, frame[LENGTH_BYTES:])
        assert isinstance(reply, JoinGroupReply), reply
        if reply.error is not ErrorCode.NONE:
            return self._again(reply.error, reply.member_id or self._member_id)
        self._member_id, self._generation = reply.member_id, reply.generation
        self.phase = Phase.SYNCING
        request = self._membership.sync(reply, self._deal_out(reply) if reply.leader == self._member_id else ())
        return encode_request(ApiKey.SYNC_GROUP, SYNC_VERSION, 2, self.name, request)

    def _deal_out(self, reply: JoinGroupReply) -> tuple[MemberAssignment, ...]:
        owned = {member.member_id: _owned_by(member) for member in reply.members}
        everything = {TopicPartition(self._topic, number) for number in range(self._partitions)}
        shares = _deal_stickily(owned, everything) if self._is_cooperative else _deal_in_turn(owned, everything)
        return tuple(MemberAssignment(one, encode_assignment(frozenset(share))) for one, share in shares.items())

    def _synced(self, frame: bytes) -> bytes | None:
        _, reply = decode_reply(ApiKey.SYNC_GROUP, SYNC_VERSION, frame[LENGTH_BYTES:])
        assert isinstance(reply, SyncGroupReply), reply
        if reply.error is not ErrorCode.NONE:
            return self._again(reply.error, self._member_id)
        before, self.owned = self.owned, decode_assignment(reply.assignment).partitions
        beat = self._membership.heartbeat()
        self.beat = encode_request(ApiKey.HEARTBEAT, HEARTBEAT_VERSION, 3, self.name, beat)
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
        is_lost = reply.error is ErrorCode.ILLEGAL_GENERATION
        if not self._is_cooperative or is_lost:
            self.owned = frozenset()
        if is_lost:
            # Java's consumer keeps its id then and joins as if it owned nothing. Kafka 4.3.1 said so to a member of a
            # mixed group of 50 that was rolled back five at a time on a busy machine.
            self._generation = NO_GENERATION
            return self.start()
        return self._again(reply.error, self._member_id)

    def _again(self, error: ErrorCode, member_id: MemberId) -> bytes:
        if error not in JOINED_AGAIN:
            raise Refused(f"{self.name} ({member_id!r}) heard {error.name} while {self.phase.name}")
        self._member_id = member_id
        return self.start()


def _owned_by(member: JoinedMember) -> Partitions:
    return decode_subscription(member.metadata).owned or frozenset()


def _deal_in_turn(
    owned: Mapping[MemberId, Partitions], everything: set[TopicPartition]
) -> dict[MemberId, set[TopicPartition]]:
    ordered, members = sorted(everything), list(owned)
    return {one: set(ordered[place :: len(members)]) for place, one in enumerate(members)}


def _deal_stickily(
    owned: Mapping[MemberId, Partitions], everything: set[TopicPartition]
) -> dict[MemberId, set[TopicPartition]]:
    """Everybody keeps what it has up to its quota; what others must give up waits for the next round (KIP-429)."""
    least, extra = divmod(len(everything), len(owned))
    shares: dict[MemberId, set[TopicPartition]] = {}
    for one in sorted(owned, key=lambda one: -len(owned[one])):
        quota = least + (extra > 0 and len(owned[one]) > least)
        extra -= quota > least
        shares[one] = set(sorted(owned[one])[:quota])
    free = sorted(everything - frozenset().union(*owned.values()))
    for one in sorted(shares, key=lambda one: len(shares[one])):
        quota = least + (extra > 0)
        taken = max(0, quota - len(shares[one]))
        extra -= taken > 0 and quota > least
        shares[one] |= set(free[:taken])
        free = free[taken:]
    return shares
