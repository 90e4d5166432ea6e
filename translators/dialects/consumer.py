"""The consumer group protocol of KIP-848: ConsumerGroupHeartbeat and ConsumerGroupDescribe."""

from dataclasses import dataclass

from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, TopicId, TopicIdPartition, TopicName


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeat:
    """A member joins (epoch 0), lives (epoch > 0) or leaves (-1, -2); fields that did not change are absent.

    `rebalance_timeout_ms` is -1 when absent. `has_client_id` is true from version 1 on: the client makes its member id
    (KIP-1082), so a blank one is invalid at every epoch (K11.4 on 2.1). `bare_topics` are topics that `owned` names
    without partitions, which no client is known to do. `hidden`, which is on no wire, is what the member's pattern
    matches that its client may not DESCRIBE, None where nobody was asked.
    """

    group_id: GroupId
    member_id: MemberId
    member_epoch: int
    instance_id: InstanceId | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: tuple[TopicName, ...] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    owned: frozenset[TopicIdPartition] | None = None
    bare_topics: frozenset[TopicId] = frozenset()
    has_client_id: bool = True
    hidden: frozenset[TopicName] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeatReply:
    """The answer: `assignment` is None when it did not change, which differs from an empty one."""

    error: ErrorCode
    error_message: str | None = None
    member_id: MemberId | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: frozenset[TopicIdPartition] | None = None


@dataclass(frozen=True, slots=True)
class ConsumerGroupDescribe:
    """An admin asks for consumer groups."""

    group_ids: tuple[GroupId, ...]
    include_authorized_operations: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTopicPartitions:
    """Partitions of one topic in a described assignment."""

    topic_id: TopicId
    topic_name: TopicName
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConsumerMember:
    """A member of a consumer group; `member_type` is 0 for a classic, 1 for a consumer member, -1 where unknown
    (K0.4 in 11.4).
    """

    member_id: MemberId
    instance_id: InstanceId | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[TopicName, ...]
    subscribed_topic_regex: str | None
    assignment: tuple[DescribedTopicPartitions, ...]
    target_assignment: tuple[DescribedTopicPartitions, ...]
    member_type: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConsumerGroup:
    """One group in the answer to ConsumerGroupDescribe."""

    error: ErrorCode
    group_id: GroupId
    error_message: str | None = None
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: tuple[DescribedConsumerMember, ...] = ()
    authorized_operations: int = -2147483648


@dataclass(frozen=True, slots=True)
class ConsumerGroupDescribeReply:
    """The answer to ConsumerGroupDescribe, groups in the order asked."""

    groups: tuple[DescribedConsumerGroup, ...]
