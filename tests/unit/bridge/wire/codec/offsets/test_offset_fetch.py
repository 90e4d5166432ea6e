"""OffsetFetch: one group before version 8, several after; errors move from partition to group."""

from dataclasses import replace

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.offsets import OFFSET_FETCH
from tests.support.codec_trips import reply_trip, request_trip
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_TOPIC_ID, GroupId, MemberId, TopicId, TopicName
from translators.dialects.offsets import (
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    GroupOffsets,
    OffsetFetch,
    OffsetFetchReply,
    TopicOffsets,
)

TOPIC_ID = TopicId(bytes(range(16)))
TOPIC = TopicOffsets(name=TopicName("orders"), partitions=(0, 3), topic_id=TOPIC_ID)
GROUP = GroupOffsets(group_id=GroupId("g"), topics=(TOPIC,), member_id=MemberId("m"), member_epoch=6)
ALL = GroupOffsets(group_id=GroupId("h"), topics=None)
BY_NAME = (replace(TOPIC, topic_id=NO_TOPIC_ID),)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (1, OffsetFetch(groups=(GroupOffsets(group_id=GroupId("g"), topics=BY_NAME),))),
        (6, OffsetFetch(groups=(GroupOffsets(group_id=GroupId("g"), topics=BY_NAME),))),
        (7, OffsetFetch(groups=(GroupOffsets(group_id=GroupId("g"), topics=BY_NAME),), require_stable=True)),
        (8, OffsetFetch(groups=(GroupOffsets(group_id=GroupId("g"), topics=BY_NAME),), require_stable=True)),
        (9, OffsetFetch(groups=(replace(GROUP, topics=BY_NAME),), require_stable=True)),
        (10, OffsetFetch(groups=(replace(GROUP, topics=(replace(TOPIC, name=TopicName("")),)),), require_stable=True)),
    ],
)
def test_request_of_version_says_what_it_can(version: int, expected: OffsetFetch) -> None:
    """v7 stable offsets, v9 member (decision 4), v10 topic ids."""
    assert request_trip(ApiKey.OFFSET_FETCH, version, OffsetFetch(groups=(GROUP,), require_stable=True)) == expected


@pytest.mark.parametrize("version", [2, 7, 8, 10])
def test_request_for_all_topics_says_so(version: int) -> None:
    """Null is all, from version 2 on."""
    assert request_trip(ApiKey.OFFSET_FETCH, version, OffsetFetch(groups=(ALL,))) == OffsetFetch(groups=(ALL,))


def test_request_of_several_groups_needs_version_8() -> None:
    """Never a silent loss."""
    request = OffsetFetch(groups=(ALL, replace(ALL, group_id=GroupId("i"))))
    assert request_trip(ApiKey.OFFSET_FETCH, 8, request) == request
    with pytest.raises(ValueError, match="one group, not 2"):
        OFFSET_FETCH.encode_request(request, 7)


PARTITION = FetchedPartition(partition=3, offset=2**41, leader_epoch=2, metadata="note")
FETCHED = FetchedGroup(group_id=GroupId("g"), topics=(FetchedTopic(name=TopicName("orders"), partitions=(PARTITION,)),))


@pytest.mark.parametrize(("version", "leader_epoch"), [(1, -1), (5, 2), (7, 2)])
def test_reply_before_version_8_has_one_unnamed_group(version: int, leader_epoch: int) -> None:
    """The client knows what it asked."""
    partition = replace(PARTITION, leader_epoch=leader_epoch)
    topics = (FetchedTopic(name=TopicName("orders"), partitions=(partition,)),)
    assert reply_trip(ApiKey.OFFSET_FETCH, version, OffsetFetchReply(groups=(FETCHED,))) == OffsetFetchReply(
        groups=(FetchedGroup(group_id=GroupId(""), topics=topics),)
    )


def test_reply_of_version_8_names_its_groups() -> None:
    """In the order asked."""
    reply = OffsetFetchReply(groups=(FETCHED, replace(FETCHED, group_id=GroupId("h"))), throttle_time_ms=3)
    assert reply_trip(ApiKey.OFFSET_FETCH, 8, reply) == reply


def test_reply_of_several_groups_needs_version_8() -> None:
    """Never a silent loss."""
    with pytest.raises(ValueError, match="one group, not 0"):
        OFFSET_FETCH.encode_reply(OffsetFetchReply(groups=()), 7)


REFUSED = OFFSET_FETCH.refuse(OffsetFetch(groups=(GROUP,)), ErrorCode.NOT_COORDINATOR)


def test_refusal_in_version_1_stands_at_every_partition() -> None:
    """Version 1 has no other place."""
    refused = tuple(FetchedPartition(partition=number, offset=-1, error=ErrorCode.NOT_COORDINATOR) for number in (0, 3))
    assert reply_trip(ApiKey.OFFSET_FETCH, 1, REFUSED) == OffsetFetchReply(
        groups=(
            FetchedGroup(group_id=GroupId(""), topics=(FetchedTopic(name=TopicName("orders"), partitions=refused),)),
        )
    )


@pytest.mark.parametrize(("version", "group_id"), [(2, ""), (7, ""), (8, "g"), (10, "g")])
def test_refusal_from_version_2_on_stands_at_the_group(version: int, group_id: str) -> None:
    """And no topics with it, as Kafka's."""
    assert reply_trip(ApiKey.OFFSET_FETCH, version, REFUSED) == OffsetFetchReply(
        groups=(FetchedGroup(group_id=GroupId(group_id), topics=(), error=ErrorCode.NOT_COORDINATOR),)
    )
