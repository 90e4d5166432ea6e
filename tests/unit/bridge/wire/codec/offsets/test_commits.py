"""Topics of a commit, as both kinds of commit have them."""

from bridge.wire.codec.api import Record
from bridge.wire.codec.offsets import refuse_commit, topic_commit_fields, topic_commits
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_TOPIC_ID, TopicName
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    OffsetCommitReply,
    PartitionCommit,
    TopicCommit,
)

TOPIC = TopicCommit(
    name=TopicName("orders"), partitions=(PartitionCommit(partition=1, offset=7, leader_epoch=3, metadata="note"),)
)
FIELDS = {
    "partition_index": 1,
    "committed_offset": 7,
    "committed_leader_epoch": 3,
    "committed_metadata": "note",
}


def test_topics_become_fields() -> None:
    """Name and id both, so that the version picks."""
    assert topic_commit_fields([TOPIC]) == [{"name": "orders", "topic_id": NO_TOPIC_ID, "partitions": [FIELDS]}]


def test_fields_without_topic_id_become_topics() -> None:
    """TxnOffsetCommit has no topic ids in any version."""
    assert topic_commits([Record({"name": "orders", "partitions": [Record(FIELDS)]})]) == (TOPIC,)


def test_refused_commit_of_no_partitions_has_none() -> None:
    """Order and emptiness are kept."""
    empty = TopicCommit(name=TopicName("bills"), partitions=())
    assert refuse_commit([empty, TOPIC], ErrorCode.NOT_COORDINATOR) == OffsetCommitReply(
        topics=(
            CommittedTopic(name=TopicName("bills"), partitions=()),
            CommittedTopic(name=TopicName("orders"), partitions=(CommittedPartition(1, ErrorCode.NOT_COORDINATOR),)),
        )
    )
