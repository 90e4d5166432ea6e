"""Offsets to be committed, as OffsetCommit and TxnOffsetCommit both have them, and the refusal of such a commit.

It must not know versions, frames or where offsets are kept.
"""

from collections.abc import Iterable, Sequence

from bridge.wire.codec.record import Fields, Record
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_TOPIC_ID, TopicId, TopicName
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    OffsetCommitReply,
    PartitionCommit,
    TopicCommit,
)


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
