"""Offsets of a group: commit, transactional commit, fetch and delete."""

from dataclasses import dataclass

from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, NO_TOPIC_ID, GroupId, InstanceId, MemberId, TopicId, TopicName


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCommit:
    """One partition's offset to be committed; `metadata` is the application's own text."""

    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str | None = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCommit:
    """The offsets of one topic; its name is empty where the request names it by id (version 10), and the id zero
    before.
    """

    name: TopicName
    partitions: tuple[PartitionCommit, ...]
    topic_id: TopicId = NO_TOPIC_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommit:
    """A member commits; generation -1 and an empty member id make a simple commit.

    `knows_member_epoch` is true from version 9 on, where members of the consumer protocol may commit (K5.10);
    `names_ids` from version 10 on, where topics are named by id.
    """

    group_id: GroupId
    generation: int
    member_id: MemberId
    instance_id: InstanceId | None
    topics: tuple[TopicCommit, ...]
    retention_time_ms: int = -1
    knows_member_epoch: bool = True
    names_ids: bool = False


@dataclass(frozen=True, slots=True)
class CommittedPartition:
    """What became of one partition of a commit."""

    partition: int
    error: ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedTopic:
    """What became of one topic of a commit."""

    name: TopicName
    partitions: tuple[CommittedPartition, ...]
    topic_id: TopicId = NO_TOPIC_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitReply:
    """The answer to OffsetCommit and TxnOffsetCommit."""

    topics: tuple[CommittedTopic, ...]
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommit:
    """Offsets committed within a transaction (KIP-98, KIP-447)."""

    transactional_id: str
    group_id: GroupId
    producer_id: int
    producer_epoch: int
    topics: tuple[TopicCommit, ...]
    generation: int = -1
    member_id: MemberId = NO_MEMBER_ID
    instance_id: InstanceId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicOffsets:
    """Partitions of one topic whose offsets are wanted."""

    name: TopicName
    partitions: tuple[int, ...]
    topic_id: TopicId = NO_TOPIC_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOffsets:
    """One group of an OffsetFetch; `topics` None means all."""

    group_id: GroupId
    topics: tuple[TopicOffsets, ...] | None
    member_id: MemberId | None = None
    member_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetch:
    """Committed offsets are wanted, of one group or (version 8 on) of several."""

    groups: tuple[GroupOffsets, ...]
    require_stable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPartition:
    """One partition's committed offset, -1 for none."""

    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str | None = ""
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedTopic:
    """One topic's committed offsets."""

    name: TopicName
    partitions: tuple[FetchedPartition, ...]
    topic_id: TopicId = NO_TOPIC_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedGroup:
    """One group's committed offsets."""

    group_id: GroupId
    topics: tuple[FetchedTopic, ...]
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchReply:
    """The answer to OffsetFetch, groups in the order asked (exactly one before version 8)."""

    groups: tuple[FetchedGroup, ...]
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDelete:
    """An admin deletes committed offsets of a group (KIP-496)."""

    group_id: GroupId
    topics: tuple[TopicOffsets, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteReply:
    """The answer to OffsetDelete."""

    error: ErrorCode
    topics: tuple[CommittedTopic, ...] = ()
    throttle_time_ms: int = 0
