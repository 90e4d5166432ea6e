"""TxnOffsetCommit: members from version 3 on (KIP-447)."""

from dataclasses import replace

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.offsets import TXN_OFFSET_COMMIT
from tests.support.codec_trips import reply_trip, request_trip
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, TopicName
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    OffsetCommitReply,
    PartitionCommit,
    TopicCommit,
    TxnOffsetCommit,
)

PARTITION = PartitionCommit(partition=0, offset=11, leader_epoch=4, metadata="")
TOPIC = TopicCommit(name=TopicName("orders"), partitions=(PARTITION,))
REQUEST = TxnOffsetCommit(
    transactional_id="tx",
    group_id=GroupId("g"),
    producer_id=2**50,
    producer_epoch=3,
    topics=(TOPIC,),
    generation=8,
    member_id=MemberId("m"),
    instance_id=InstanceId("seat"),
)
WITHOUT_MEMBER = replace(REQUEST, generation=-1, member_id=MemberId(""), instance_id=None)
WITHOUT_EPOCH = (replace(TOPIC, partitions=(replace(PARTITION, leader_epoch=-1),)),)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (0, replace(WITHOUT_MEMBER, topics=WITHOUT_EPOCH)),
        (2, WITHOUT_MEMBER),
        (3, REQUEST),
        (5, REQUEST),
    ],
)
def test_request_of_version_says_what_it_can(version: int, expected: TxnOffsetCommit) -> None:
    """v2 leader epoch, v3 member."""
    assert request_trip(ApiKey.TXN_OFFSET_COMMIT, version, REQUEST) == expected


@pytest.mark.parametrize("version", [0, 3, 5])
def test_refusal_repeats_the_code_for_every_partition(version: int) -> None:
    """As OffsetCommit's."""
    refusal = TXN_OFFSET_COMMIT.refuse(REQUEST, ErrorCode.ILLEGAL_GENERATION)
    assert refusal == OffsetCommitReply(
        topics=(
            CommittedTopic(name=TopicName("orders"), partitions=(CommittedPartition(0, ErrorCode.ILLEGAL_GENERATION),)),
        )
    )
    assert reply_trip(ApiKey.TXN_OFFSET_COMMIT, version, refusal) == refusal
