"""Offset requests of embedded groups, as the broker sees them and as its answers come back.

It must not know how messages are encoded.
"""

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.offset_requests import merge_fetch
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, TopicName
from translators.dialects.offsets import (
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    GroupOffsets,
    OffsetFetch,
    OffsetFetchReply,
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
