"""What a consumer says to its group, and who it is by what it was told: one model for all that act as clients.

What-if replays, the simulated world, the fleets of the benchmarks and the fuzzer's canary build their requests here.
When a client says something, over which connection and what it does about a refusal is theirs: that is what they are
for, and where they differ (docs/decisions/0142).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from translators.dialects.classic import (
    UNKNOWN_GENERATION,
    Heartbeat,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeavingMember,
    MemberAssignment,
    Protocol,
    SyncGroup,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    NO_MEMBER_ID,
    STATIC_LEAVE_EPOCH,
    GroupId,
    InstanceId,
    MemberId,
    TopicIdPartition,
    TopicName,
)

PROTOCOL_TYPE = "consumer"
RETRIED = frozenset(
    (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
)
"""What any client bears and asks again for: its coordinator moves."""
CLASSIC_RETRIED = RETRIED | {ErrorCode.REBALANCE_IN_PROGRESS}
"""The same for a JoinGroup or a SyncGroup, which another rebalance may overtake."""
FENCED = frozenset((ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID))
"""After these a KIP-848 member gives everything up and joins again with epoch 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """What a classic client gives itself, in milliseconds: between two heartbeats, and for joining again."""

    session_ms: int
    rebalance_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMembership:
    """A consumer in a classic group: member id "" until it is told one, generation -1 until it has joined."""

    group_id: GroupId
    instance_id: InstanceId | None = None
    member_id: MemberId = NO_MEMBER_ID
    generation: int = UNKNOWN_GENERATION

    def join(
        self, assignors: Iterable[str], subscription: Subscription, timeouts: Timeouts, *, needs_member_id: bool = True
    ) -> JoinGroup:
        """The JoinGroup that offers assignors, all with one subscription, as client libraries do."""
        blob = encode_subscription(subscription)
        return JoinGroup(
            group_id=self.group_id,
            member_id=self.member_id,
            instance_id=self.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=tuple(Protocol(name, blob) for name in assignors),
            session_timeout_ms=timeouts.session_ms,
            rebalance_timeout_ms=timeouts.rebalance_ms,
            needs_member_id=needs_member_id,
        )

    def joined(self, reply: JoinGroupReply) -> "ClassicMembership":
        """Who it is after an answer: MEMBER_ID_REQUIRED brings an id only, a refusal may bring none."""
        if reply.error is ErrorCode.NONE:
            return replace(self, member_id=reply.member_id, generation=reply.generation)
        return replace(self, member_id=reply.member_id or self.member_id)

    def sync(self, reply: JoinGroupReply, assignments: Sequence[MemberAssignment] = ()) -> SyncGroup:
        """The SyncGroup of version 5 after such an answer, with everybody's assignment if it leads."""
        return SyncGroup(
            group_id=self.group_id,
            generation=self.generation,
            member_id=self.member_id,
            instance_id=self.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=reply.protocol_name,
            assignments=tuple(assignments),
            names_protocol=True,
        )

    def heartbeat(self) -> Heartbeat:
        """The heartbeat in its generation."""
        return Heartbeat(self.group_id, self.generation, self.member_id, self.instance_id)

    def leave(self) -> LeaveGroup:
        """The LeaveGroup that names itself."""
        leaving = LeavingMember(member_id=self.member_id, instance_id=self.instance_id)
        return LeaveGroup(group_id=self.group_id, members=(leaving,))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSubscription:
    """What a KIP-848 client says of itself when it joins, and then only where it changed."""

    topics: tuple[TopicName, ...] = ()
    pattern: str | None = None
    rebalance_timeout_ms: int
    rack_id: str | None = None
    server_assignor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMembership:
    """A member of a consumer group: epoch 0 until it has joined. It names its static seat in every heartbeat."""

    group_id: GroupId
    member_id: MemberId
    instance_id: InstanceId | None = None
    epoch: int = JOIN_EPOCH

    def full(self, subscription: ConsumerSubscription, owned: frozenset[TopicIdPartition]) -> ConsumerGroupHeartbeat:
        """A heartbeat that says everything, as a client joins, and asks again after an error."""
        return replace(
            self.brief(topics=subscription.topics, owned=owned),
            rack_id=subscription.rack_id,
            rebalance_timeout_ms=subscription.rebalance_timeout_ms,
            subscribed_topic_regex=subscription.pattern,
            server_assignor=subscription.server_assignor,
        )

    def brief(
        self, *, topics: tuple[TopicName, ...] | None = None, owned: frozenset[TopicIdPartition] | None = None
    ) -> ConsumerGroupHeartbeat:
        """A heartbeat that says what changed, None for what did not."""
        return ConsumerGroupHeartbeat(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.instance_id,
            subscribed_topic_names=topics,
            owned=owned,
        )

    def leave(self) -> ConsumerGroupHeartbeat:
        """The last heartbeat of a member that goes for good."""
        return replace(self.brief(), member_epoch=LEAVE_EPOCH)

    def vacate(self) -> ConsumerGroupHeartbeat:
        """The last heartbeat of a static member that will come back: its seat is kept for a session timeout."""
        return replace(self.brief(), member_epoch=STATIC_LEAVE_EPOCH)
