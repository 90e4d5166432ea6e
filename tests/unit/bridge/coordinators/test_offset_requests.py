"""Offset requests of embedded groups, as the broker sees them and as its answers come back.

It must not know how messages are encoded.
"""

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.offset_requests import merge_commit, merge_fetch, refuse_commit, split_commit
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName
from translators.dialects.offsets import (
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    GroupOffsets,
    OffsetCommit,
    OffsetCommitReply,
    OffsetFetch,
    OffsetFetchReply,
    PartitionCommit,
    TopicCommit,
)

ORDERS = GroupId("orders")
BILLS = GroupId("bills")
UNNAMED = GroupId("")
FETCHED = (FetchedTopic(name=TopicName("t"), partitions=(FetchedPartition(partition=0, offset=7),)),)


def asked(*group_ids: GroupId) -> OffsetFetch:
    """A fetch of all offsets of some groups."""
    return OffsetFetch(groups=tuple(GroupOffsets(group_id=group_id, topics=None) for group_id in group_ids))


def fetched(group_id: GroupId) -> FetchedGroup:
    """What the broker knows of a group."""
    return FetchedGroup(group_id=group_id, topics=FETCHED)


def test_answer_without_group_name_belongs_to_the_one_group_asked() -> None:
    """OffsetFetch before version 8 does not name the group in its answer (aiokafka sends version 3)."""
    reply = OffsetFetchReply(groups=(fetched(UNNAMED),))
    assert merge_fetch(asked(ORDERS), reply, {}, Catalog()).groups == (fetched(ORDERS),)


def test_batch_comes_back_in_the_order_asked_with_refused_groups_in_place() -> None:
    """A refused group is not asked for upstream, and still answered at its place (decision 22)."""
    reply = OffsetFetchReply(groups=(fetched(BILLS),))
    refused = {ORDERS: ErrorCode.STALE_MEMBER_EPOCH}
    assert merge_fetch(asked(ORDERS, BILLS), reply, refused, Catalog()).groups == (
        FetchedGroup(group_id=ORDERS, topics=(), error=ErrorCode.STALE_MEMBER_EPOCH),
        fetched(BILLS),
    )


def commit_of(*texts: str | None) -> OffsetCommit:
    """A simple commit of one partition with each text, in two topics by turns."""
    items = [PartitionCommit(partition=number, offset=1, metadata=text) for number, text in enumerate(texts)]
    return OffsetCommit(
        group_id=ORDERS,
        generation=-1,
        member_id=MemberId(""),
        instance_id=None,
        topics=tuple(
            TopicCommit(name=TopicName(name), partitions=tuple(items[first::2]))
            for first, name in enumerate(("a", "b"))
        ),
    )


def codes_of(reply: OffsetCommitReply) -> list[tuple[str, int, ErrorCode]]:
    """Topic, partition and code, in the order answered."""
    return [(topic.name, item.partition, item.error) for topic in reply.topics for item in topic.partitions]


def test_commit_with_a_text_that_is_too_long_goes_without_it_and_is_answered_in_order() -> None:
    """K5.1: 12 for that partition alone; Java counts a character beyond the basic plane as two."""
    commit = commit_of("abcd", "abcde", "\U0001f600\U0001f600", "\U0001f600\U0001f600\U0001f600", None)
    asked_for, refused = split_commit(commit, 4)
    assert [(topic.name, [item.partition for item in topic.partitions]) for topic in asked_for.topics] == [
        ("a", [0, 2, 4])
    ]
    reply = refuse_commit(asked_for, ErrorCode.NONE)
    too_large = ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert codes_of(merge_commit(commit, reply, refused)) == [
        *(("a", number, ErrorCode.NONE) for number in (0, 2, 4)),
        *(("b", number, too_large) for number in (1, 3)),
    ]
    lost = merge_commit(commit, OffsetCommitReply(topics=()), refused)
    assert codes_of(lost)[0] == ("a", 0, ErrorCode.COORDINATOR_NOT_AVAILABLE)


def test_commit_with_short_texts_is_left_as_it_is() -> None:
    """The usual one costs a look at each partition and no copy."""
    commit = commit_of("abcd", "")
    asked_for, refused = split_commit(commit, 4)
    reply = refuse_commit(commit, ErrorCode.NONE)
    assert asked_for is commit
    assert merge_commit(commit, reply, refused) is reply
