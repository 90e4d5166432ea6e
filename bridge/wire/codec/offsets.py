"""OffsetCommit, TxnOffsetCommit, OffsetFetch and OffsetDelete between fields and the offsets dialect."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from bridge.wire.codec.api import (
    ApiCodec,
    Fields,
    Record,
    committed_topic_fields,
    committed_topics,
    error_code,
    instance_id,
)
from bridge.wire.codec.schema import NO_VERSION, Field, Message
from bridge.wire.versions import VersionRange
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_TOPIC_ID, GroupId, MemberId, TopicId, TopicName
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    GroupOffsets,
    OffsetCommit,
    OffsetCommitReply,
    OffsetDelete,
    OffsetDeleteReply,
    OffsetFetch,
    OffsetFetchReply,
    PartitionCommit,
    TopicCommit,
    TopicOffsets,
    TxnOffsetCommit,
)

AnyCommitT = TypeVar("AnyCommitT", OffsetCommit, TxnOffsetCommit)
_FIRST_WITH_MEMBER_EPOCH = 9
_FIRST_WITH_TOPIC_IDS = 10
_COMMIT_TIME = Field(
    name="commit_timestamp",
    kind="int64",
    is_array=False,
    versions=VersionRange(1, 1),
    nullable=NO_VERSION,
    tagged=NO_VERSION,
    tag=-1,
    default=-1,
    fields=(),
)


def with_commit_time(request: Message) -> Message:
    """OffsetCommit as brokers before Kafka 4 describe it: in version 1 each offset has the time from which it is kept,
    in front of its metadata. It is read over: sarama leaves it to the broker, and version 2 can't say it.
    """
    return replace(request, fields=_before_metadata(request.fields))


def _before_metadata(fields: Sequence[Field]) -> tuple[Field, ...]:
    found: list[Field] = []
    for field in fields:
        if field.name == "committed_metadata":
            found.append(_COMMIT_TIME)
        found.append(replace(field, fields=_before_metadata(field.fields)))
    return tuple(found)


def topic_commits(records: Sequence[Record]) -> tuple[TopicCommit, ...]:
    """Topics with offsets, from their form on the wire."""
    return tuple(
        TopicCommit(
            name=TopicName(topic.text("name")),
            topic_id=TopicId(topic.blob("topic_id")) if "topic_id" in topic else NO_TOPIC_ID,
            partitions=tuple(
                PartitionCommit(
                    partition=each.number("partition_index"),
                    offset=each.number("committed_offset"),
                    leader_epoch=each.number("committed_leader_epoch"),
                    metadata=each.nullable_text("committed_metadata"),
                )
                for each in topic.records("partitions")
            ),
        )
        for topic in records
    )


def topic_commit_fields(topics: Iterable[TopicCommit]) -> list[Fields]:
    """Topics with offsets, as requests have them."""
    return [
        {
            "name": topic.name,
            "topic_id": topic.topic_id,
            "partitions": [
                {
                    "partition_index": each.partition,
                    "committed_offset": each.offset,
                    "committed_leader_epoch": each.leader_epoch,
                    "committed_metadata": each.metadata,
                }
                for each in topic.partitions
            ],
        }
        for topic in topics
    ]


def refuse_commit(topics: Iterable[TopicCommit], code: ErrorCode) -> OffsetCommitReply:
    """The refusal repeats the code for every partition: the answer has no other place for it."""
    return OffsetCommitReply(
        topics=tuple(
            CommittedTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=tuple(CommittedPartition(each.partition, code) for each in topic.partitions),
            )
            for topic in topics
        )
    )


class _CommitCodec(ApiCodec[AnyCommitT, OffsetCommitReply]):
    """What a commit outside and inside of a transaction have in common: the answer."""

    reply_type = OffsetCommitReply

    def decode_reply(self, record: Record, version: int) -> OffsetCommitReply:
        """Fields to reply."""
        return OffsetCommitReply(
            topics=committed_topics(record.records("topics")), throttle_time_ms=record.number("throttle_time_ms")
        )

    def encode_reply(self, reply: OffsetCommitReply, version: int) -> Fields:
        """Reply to fields."""
        return {"throttle_time_ms": reply.throttle_time_ms, "topics": committed_topic_fields(reply.topics)}

    def refuse(self, request: AnyCommitT, code: ErrorCode) -> OffsetCommitReply:
        """The refusal repeats the code for every partition."""
        return refuse_commit(request.topics, code)

    def groups(self, request: AnyCommitT) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return (request.group_id,)


class OffsetCommitCodec(_CommitCodec[OffsetCommit]):
    """OffsetCommit between fields and the offsets dialect."""

    request_type = OffsetCommit

    def decode_request(self, record: Record, version: int) -> OffsetCommit:
        """Fields to request."""
        return OffsetCommit(
            group_id=GroupId(record.text("group_id")),
            generation=record.number("generation_id_or_member_epoch"),
            member_id=MemberId(record.text("member_id")),
            instance_id=instance_id(record),
            topics=topic_commits(record.records("topics")),
            retention_time_ms=record.number("retention_time_ms"),
            knows_member_epoch=version >= _FIRST_WITH_MEMBER_EPOCH,
            names_ids=version >= _FIRST_WITH_TOPIC_IDS,
        )

    def encode_request(self, request: OffsetCommit, version: int) -> Fields:
        """Request to fields; topics go by name up to version 9, by id from 10 on."""
        return {
            "group_id": request.group_id,
            "generation_id_or_member_epoch": request.generation,
            "member_id": request.member_id,
            "group_instance_id": request.instance_id,
            "retention_time_ms": request.retention_time_ms,
            "topics": topic_commit_fields(request.topics),
        }


class TxnOffsetCommitCodec(_CommitCodec[TxnOffsetCommit]):
    """TxnOffsetCommit between fields and the offsets dialect."""

    request_type = TxnOffsetCommit

    def decode_request(self, record: Record, version: int) -> TxnOffsetCommit:
        """Fields to request; before version 3 a commit has no member."""
        return TxnOffsetCommit(
            transactional_id=record.text("transactional_id"),
            group_id=GroupId(record.text("group_id")),
            producer_id=record.number("producer_id"),
            producer_epoch=record.number("producer_epoch"),
            topics=topic_commits(record.records("topics")),
            generation=record.number("generation_id"),
            member_id=MemberId(record.text("member_id")),
            instance_id=instance_id(record),
        )

    def encode_request(self, request: TxnOffsetCommit, version: int) -> Fields:
        """Request to fields."""
        return {
            "transactional_id": request.transactional_id,
            "group_id": request.group_id,
            "producer_id": request.producer_id,
            "producer_epoch": request.producer_epoch,
            "generation_id": request.generation,
            "member_id": request.member_id,
            "group_instance_id": request.instance_id,
            "topics": topic_commit_fields(request.topics),
        }


OFFSET_COMMIT = OffsetCommitCodec()
TXN_OFFSET_COMMIT = TxnOffsetCommitCodec()


_FIRST_WITH_GROUP_ERROR = 2
_FIRST_BATCH = 8
_UNKNOWN_OFFSET = -1


class OffsetFetchCodec(ApiCodec[OffsetFetch, OffsetFetchReply]):
    """OffsetFetch between fields and the offsets dialect."""

    request_type = OffsetFetch
    reply_type = OffsetFetchReply

    def decode_request(self, record: Record, version: int) -> OffsetFetch:
        """Fields to request; before version 8 one group is asked for."""
        asked = record.records("groups") if version >= _FIRST_BATCH else [record]
        return OffsetFetch(
            groups=tuple(_group_offsets(each) for each in asked),
            require_stable=record.flag("require_stable"),
        )

    def encode_request(self, request: OffsetFetch, version: int) -> Fields:
        """Request to fields; ValueError when a version before 8 can't say it."""
        if version < _FIRST_BATCH and len(request.groups) != 1:
            raise ValueError(f"OffsetFetch v{version} asks for one group, not {len(request.groups)}")
        groups = [_group_offset_fields(group) for group in request.groups]
        return {**(groups[0] if groups else {}), "groups": groups, "require_stable": request.require_stable}

    def decode_reply(self, record: Record, version: int) -> OffsetFetchReply:
        """Fields to reply; before version 8 the answer doesn't name its group, so the id is empty."""
        groups = (
            tuple(_fetched_group(each, GroupId(each.text("group_id"))) for each in record.records("groups"))
            if version >= _FIRST_BATCH
            else (_fetched_group(record, GroupId("")),)
        )
        return OffsetFetchReply(groups=groups, throttle_time_ms=record.number("throttle_time_ms"))

    def encode_reply(self, reply: OffsetFetchReply, version: int) -> Fields:
        """Reply to fields; in version 1 an error of the group stands at every partition, later at the group alone."""
        if version < _FIRST_BATCH and len(reply.groups) != 1:
            raise ValueError(f"OffsetFetch v{version} answers for one group, not {len(reply.groups)}")
        groups = [_fetched_group_fields(group, version) for group in reply.groups]
        return {**(groups[0] if groups else {}), "groups": groups, "throttle_time_ms": reply.throttle_time_ms}

    def refuse(self, request: OffsetFetch, code: ErrorCode) -> OffsetFetchReply:
        """The refusal repeats the code for every group and partition; the version picks its place."""
        return OffsetFetchReply(
            groups=tuple(
                FetchedGroup(
                    group_id=group.group_id,
                    topics=tuple(_refused_topic(topic, code) for topic in group.topics or ()),
                    error=code,
                )
                for group in request.groups
            )
        )

    def groups(self, request: OffsetFetch) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return tuple(group.group_id for group in request.groups)


def _group_offsets(record: Record) -> GroupOffsets:
    knows_member = "member_id" in record
    member_id = record.nullable_text("member_id") if knows_member else None
    return GroupOffsets(
        group_id=GroupId(record.text("group_id")),
        topics=None if record.is_null("topics") else tuple(_topic_offsets(topic) for topic in record.records("topics")),
        member_id=None if member_id is None else MemberId(member_id),
        member_epoch=record.number("member_epoch") if knows_member else -1,
    )


def _topic_offsets(record: Record) -> TopicOffsets:
    return TopicOffsets(
        name=TopicName(record.text("name")),
        topic_id=_topic_id(record),
        partitions=tuple(record.numbers("partition_indexes")),
    )


def _group_offset_fields(group: GroupOffsets) -> Fields:
    return {
        "group_id": group.group_id,
        "member_id": group.member_id,
        "member_epoch": group.member_epoch,
        "topics": None
        if group.topics is None
        else [
            {"name": topic.name, "topic_id": topic.topic_id, "partition_indexes": topic.partitions}
            for topic in group.topics
        ],
    }


def _fetched_group(record: Record, group_id: GroupId) -> FetchedGroup:
    topics = tuple(
        FetchedTopic(
            name=TopicName(topic.text("name")),
            topic_id=_topic_id(topic),
            partitions=_fetched_partitions(topic.records("partitions")),
        )
        for topic in record.records("topics")
    )
    return FetchedGroup(group_id=group_id, topics=topics, error=error_code(record))


def _fetched_partitions(records: Sequence[Record]) -> tuple[FetchedPartition, ...]:
    return tuple(
        FetchedPartition(
            partition=each.number("partition_index"),
            offset=each.number("committed_offset"),
            leader_epoch=each.number("committed_leader_epoch"),
            metadata=each.nullable_text("metadata"),
            error=error_code(each),
        )
        for each in records
    )


def _topic_id(record: Record) -> TopicId:
    return TopicId(record.blob("topic_id")) if "topic_id" in record else NO_TOPIC_ID


def _fetched_group_fields(group: FetchedGroup, version: int) -> Fields:
    is_refused = group.error is not ErrorCode.NONE
    topics = () if is_refused and version >= _FIRST_WITH_GROUP_ERROR else group.topics
    return {
        "group_id": group.group_id,
        "topics": [
            {
                "name": topic.name,
                "topic_id": topic.topic_id,
                "partitions": _fetched_partition_fields(topic.partitions, group.error),
            }
            for topic in topics
        ],
        "error_code": group.error,
    }


def _fetched_partition_fields(partitions: Iterable[FetchedPartition], group_error: ErrorCode) -> list[Fields]:
    return [
        {
            "partition_index": each.partition,
            "committed_offset": each.offset,
            "committed_leader_epoch": each.leader_epoch,
            "metadata": each.metadata,
            "error_code": each.error or group_error,
        }
        for each in partitions
    ]


def _refused_topic(topic: TopicOffsets, code: ErrorCode) -> FetchedTopic:
    return FetchedTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=tuple(
            FetchedPartition(partition=number, offset=_UNKNOWN_OFFSET, error=code) for number in topic.partitions
        ),
    )


OFFSET_FETCH = OffsetFetchCodec()


class OffsetDeleteCodec(ApiCodec[OffsetDelete, OffsetDeleteReply]):
    """OffsetDelete between fields and the offsets dialect."""

    request_type = OffsetDelete
    reply_type = OffsetDeleteReply

    def decode_request(self, record: Record, version: int) -> OffsetDelete:
        """Fields to request."""
        topics = tuple(
            TopicOffsets(
                name=TopicName(topic.text("name")),
                partitions=tuple(each.number("partition_index") for each in topic.records("partitions")),
            )
            for topic in record.records("topics")
        )
        return OffsetDelete(group_id=GroupId(record.text("group_id")), topics=topics)

    def encode_request(self, request: OffsetDelete, version: int) -> Fields:
        """Request to fields."""
        return {
            "group_id": request.group_id,
            "topics": [
                {"name": topic.name, "partitions": [{"partition_index": number} for number in topic.partitions]}
                for topic in request.topics
            ],
        }

    def decode_reply(self, record: Record, version: int) -> OffsetDeleteReply:
        """Fields to reply."""
        return OffsetDeleteReply(
            error=error_code(record),
            topics=committed_topics(record.records("topics")),
            throttle_time_ms=record.number("throttle_time_ms"),
        )

    def encode_reply(self, reply: OffsetDeleteReply, version: int) -> Fields:
        """Reply to fields."""
        return {
            "error_code": reply.error,
            "throttle_time_ms": reply.throttle_time_ms,
            "topics": committed_topic_fields(reply.topics),
        }

    def refuse(self, request: OffsetDelete, code: ErrorCode) -> OffsetDeleteReply:
        """The refusal names no topics."""
        return OffsetDeleteReply(error=code)

    def groups(self, request: OffsetDelete) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return (request.group_id,)


OFFSET_DELETE = OffsetDeleteCodec()
