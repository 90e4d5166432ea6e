"""Group requests and answers in few words, for tests of what is overheard of them."""

from collections.abc import Mapping

from tests.support.owned_group import GROUP, TOPIC
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinedMember,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeavingMember,
    LeftMember,
    MemberAssignment,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import Subscription, encode_assignment, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, MemberId, TopicId, TopicIdPartition, TopicName, TopicPartition

TOPIC_ID = TopicId(b"t" * 16)
SECRET = b"do not write this down"


def named(*numbers: int) -> frozenset[TopicPartition]:
    """Partitions of the one topic."""
    return frozenset(TopicPartition(TOPIC, number) for number in numbers)


def join(member: str, assignor: str = "range", owned: tuple[int, ...] = (), instance: str | None = None) -> JoinGroup:
    """A JoinGroup of a consumer, with user data that is nobody's business."""
    blob = encode_subscription(Subscription(version=3, topics=(TOPIC,), owned=named(*owned), user_data=SECRET))
    return JoinGroup(
        group_id=GROUP,
        member_id=MemberId(member),
        instance_id=None if instance is None else InstanceId(instance),
        protocol_type="consumer",
        protocols=(Protocol(assignor, blob),),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
    )


def joined(
    member: str,
    generation: int,
    *,
    leader: str = "",
    members: tuple[str, ...] = (),
    error: ErrorCode = ErrorCode.NONE,
) -> JoinGroupReply:
    """Its answer; with `members` to the leader."""
    return JoinGroupReply(
        error=error,
        member_id=MemberId(member),
        generation=generation,
        protocol_type="consumer",
        protocol_name="range",
        leader=leader,
        members=tuple(JoinedMember(member_id=MemberId(one), instance_id=None, metadata=SECRET) for one in members),
    )


def sync(member: str, generation: int, shares: Mapping[str, tuple[int, ...]] | None = None) -> SyncGroup:
    """A SyncGroup; with `shares` the leader's."""
    assignments = tuple(
        MemberAssignment(MemberId(one), encode_assignment(named(*numbers))) for one, numbers in (shares or {}).items()
    )
    return SyncGroup(
        group_id=GROUP, generation=generation, member_id=MemberId(member), instance_id=None, assignments=assignments
    )


def synced(*numbers: int, error: ErrorCode = ErrorCode.NONE, blob: bytes | None = None) -> SyncGroupReply:
    """Its answer."""
    return SyncGroupReply(error=error, assignment=encode_assignment(named(*numbers)) if blob is None else blob)


def beat(member: str, generation: int) -> Heartbeat:
    """A Heartbeat."""
    return Heartbeat(GROUP, generation, MemberId(member), None)


def beaten(error: ErrorCode = ErrorCode.NONE) -> HeartbeatReply:
    """Its answer."""
    return HeartbeatReply(error)


def leave(member: str, reason: str = "") -> LeaveGroup:
    """A LeaveGroup of one member."""
    return LeaveGroup(group_id=GROUP, members=(LeavingMember(member_id=MemberId(member), reason=reason),))


def left(member: str, error: ErrorCode = ErrorCode.NONE) -> LeaveGroupReply:
    """Its answer."""
    entry = LeftMember(member_id=MemberId(member), instance_id=None, error=error)
    return LeaveGroupReply(error=ErrorCode.NONE, members=(entry,))


def report(
    member: str, epoch: int, owned: tuple[int, ...] | None = None, topics: tuple[str, ...] | None = (TOPIC,)
) -> ConsumerGroupHeartbeat:
    """A ConsumerGroupHeartbeat."""
    return ConsumerGroupHeartbeat(
        group_id=GROUP,
        member_id=MemberId(member),
        member_epoch=epoch,
        subscribed_topic_names=None if topics is None else tuple(map(TopicName, topics)),
        owned=None if owned is None else by_id(*owned),
    )


def reported(
    epoch: int, assigned: tuple[int, ...] | None = None, error: ErrorCode = ErrorCode.NONE
) -> ConsumerGroupHeartbeatReply:
    """Its answer."""
    return ConsumerGroupHeartbeatReply(
        error=error, member_epoch=epoch, assignment=None if assigned is None else by_id(*assigned)
    )


def by_id(*numbers: int) -> frozenset[TopicIdPartition]:
    """Partitions of the one topic, by its id."""
    return frozenset(TopicIdPartition(TOPIC_ID, number) for number in numbers)
