"""OffsetCommit: retention, leader epochs, seats, member epochs and topic ids come and go with versions."""

from dataclasses import replace

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.offsets import OFFSET_COMMIT
from bridge.wire.codec.registry import decode_reply, decode_request, encode_reply, encode_request
from bridge.wire.errors import MalformedFrame, TooManyElements
from tests.support.codec_trips import reply_trip, request_trip
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_TOPIC_ID, GroupId, InstanceId, MemberId, TopicId, TopicName
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    OffsetCommit,
    OffsetCommitReply,
    PartitionCommit,
    TopicCommit,
)

TOPIC_ID = TopicId(bytes(range(16)))
PARTITION = PartitionCommit(partition=2, offset=2**40, leader_epoch=7, metadata=None)
TOPIC = TopicCommit(name=TopicName("orders"), topic_id=TOPIC_ID, partitions=(PARTITION,))
REQUEST = OffsetCommit(
    group_id=GroupId("g"),
    generation=5,
    member_id=MemberId("m"),
    instance_id=InstanceId("seat"),
    topics=(TOPIC,),
    retention_time_ms=1000,
)


COMMIT_OF_SARAMA = bytes.fromhex(
    "0001 67"  # g
    "00000005"  # generation
    "0001 6d"  # m
    "00000001 0006 6f7264657273"  # one topic, orders
    "00000001 00000002 0000010000000000 ffffffffffffffff ffff"  # partition 2, offset, commit time, no metadata
)
"""The body of version 1 as brokers before Kafka 4 describe it, in which alone each offset has a time."""


def as_old(*, leader_epoch: int) -> tuple[TopicCommit, ...]:
    """The topics as a version before 10 reads them."""
    return (replace(TOPIC, topic_id=NO_TOPIC_ID, partitions=(replace(PARTITION, leader_epoch=leader_epoch),)),)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (2, replace(REQUEST, topics=as_old(leader_epoch=-1), instance_id=None, knows_member_epoch=False)),
        (4, replace(REQUEST, topics=as_old(leader_epoch=-1), instance_id=None, knows_member_epoch=False)),
        (
            6,
            replace(
                REQUEST,
                topics=as_old(leader_epoch=7),
                instance_id=None,
                knows_member_epoch=False,
                retention_time_ms=-1,
            ),
        ),
        (8, replace(REQUEST, topics=as_old(leader_epoch=7), knows_member_epoch=False, retention_time_ms=-1)),
        (9, replace(REQUEST, topics=as_old(leader_epoch=7), retention_time_ms=-1)),
        (10, replace(REQUEST, topics=(replace(TOPIC, name=TopicName("")),), retention_time_ms=-1, names_ids=True)),
    ],
)
def test_request_of_version_says_what_it_can(version: int, expected: OffsetCommit) -> None:
    """v2-4 retention, v6 leader epoch, v7 seat, v9 member epoch (K5.10), v10 topic ids."""
    assert request_trip(ApiKey.OFFSET_COMMIT, version, REQUEST) == expected


def test_version_1_is_read_over_its_times() -> None:
    """It says what version 2 says but for the retention; an answer is the same in both."""
    seen = decode_request(ApiKey.OFFSET_COMMIT, 1, COMMIT_OF_SARAMA)
    assert seen == replace(
        REQUEST,
        topics=as_old(leader_epoch=-1),
        instance_id=None,
        knows_member_epoch=False,
        retention_time_ms=-1,
    )
    refusal = OFFSET_COMMIT.refuse(seen, ErrorCode.REBALANCE_IN_PROGRESS)
    frames = [encode_reply(ApiKey.OFFSET_COMMIT, version, 7, refusal) for version in (1, 2)]
    assert frames[0] == frames[1]
    assert decode_reply(ApiKey.OFFSET_COMMIT, 1, frames[0][4:]) == (7, refusal)


@pytest.mark.parametrize("size", range(len(COMMIT_OF_SARAMA)))
def test_version_1_cut_anywhere_is_malformed(size: int) -> None:
    """As every other message is."""
    with pytest.raises(MalformedFrame):
        decode_request(ApiKey.OFFSET_COMMIT, 1, COMMIT_OF_SARAMA[:size])


def test_version_1_is_bounded_as_others_are() -> None:
    """Elements are counted where they are read."""
    with pytest.raises(TooManyElements):
        decode_request(ApiKey.OFFSET_COMMIT, 1, COMMIT_OF_SARAMA, 0, 1)


def test_nobody_is_asked_in_version_1() -> None:
    """What has no commit time can't be written in it: a bug, not a frame that lies."""
    with pytest.raises(KeyError):
        encode_request(ApiKey.OFFSET_COMMIT, 1, 7, "client", REQUEST)


@pytest.mark.parametrize("version", [2, 3, 9, 10])
def test_reply_names_topics_as_the_version_does(version: int) -> None:
    """By name up to version 9, by id from 10 on; throttle time from 3 on."""
    partitions = (CommittedPartition(2, ErrorCode.STALE_MEMBER_EPOCH), CommittedPartition(3, ErrorCode.NONE))
    reply = OffsetCommitReply(
        topics=(CommittedTopic(name=TopicName("orders"), topic_id=TOPIC_ID, partitions=partitions),),
        throttle_time_ms=9,
    )
    name, topic_id = (TopicName(""), TOPIC_ID) if version >= 10 else (TopicName("orders"), NO_TOPIC_ID)
    assert reply_trip(ApiKey.OFFSET_COMMIT, version, reply) == OffsetCommitReply(
        topics=(CommittedTopic(name=name, topic_id=topic_id, partitions=partitions),),
        throttle_time_ms=9 if version >= 3 else 0,
    )


def test_refusal_repeats_the_code_for_every_partition() -> None:
    """The answer has no other place for it."""
    assert OFFSET_COMMIT.refuse(REQUEST, ErrorCode.UNKNOWN_MEMBER_ID) == OffsetCommitReply(
        topics=(
            CommittedTopic(
                name=TopicName("orders"),
                topic_id=TOPIC_ID,
                partitions=(CommittedPartition(2, ErrorCode.UNKNOWN_MEMBER_ID),),
            ),
        )
    )
