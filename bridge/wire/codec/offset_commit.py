"""OffsetCommit and TxnOffsetCommit between fields and the offsets dialect, and the refusal of such a commit."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from bridge.wire.codec.api import ApiCodec
from bridge.wire.codec.record import Fields, Record, committed_topic_fields, committed_topics, instance_id
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_TOPIC_ID, GroupId, MemberId, TopicId, TopicName
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    OffsetCommit,
    OffsetCommitReply,
    PartitionCommit,
    TopicCommit,
    TxnOffsetCommit,
)

AnyCommitT = TypeVar("AnyCommitT", OffsetCommit, TxnOffsetCommit)
_FIRST_WITH_MEMBER_EPOCH = 9


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
