"""Requests over two roads."""

from typing import NamedTuple

import pytest

from bridge.session.batches import Merge, Parts, split
from bridge.wire.codec.registry import Reply, Request
from translators.dialects.admin import (
    DeletedGroup,
    DeleteGroups,
    DeleteGroupsReply,
    DescribedGroup,
    DescribeGroups,
    DescribeGroupsReply,
    ListGroups,
)
from translators.dialects.classic import Heartbeat
from translators.dialects.consumer import ConsumerGroupDescribe, ConsumerGroupDescribeReply, DescribedConsumerGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.offsets import FetchedGroup, GroupOffsets, OffsetFetch, OffsetFetchReply

A, B, C = GroupId("ours-a"), GroupId("b"), GroupId("ours-c")
NONE = ErrorCode.NONE


def is_ours(group_id: GroupId) -> bool:
    """Groups named ours-…."""
    return group_id.startswith("ours")


class Case(NamedTuple):
    """A request, its two parts, their two answers and the whole one."""

    asked: Request
    ours: Request
    theirs: Request
    our_reply: Reply
    their_reply: Reply
    whole: Reply


CASES = [
    Case(
        DescribeGroups(group_ids=(A, B, C)),
        DescribeGroups(group_ids=(A, C)),
        DescribeGroups(group_ids=(B,)),
        DescribeGroupsReply(groups=(DescribedGroup(error=NONE, group_id=A), DescribedGroup(error=NONE, group_id=C))),
        DescribeGroupsReply(groups=(DescribedGroup(error=NONE, group_id=B),), throttle_time_ms=3),
        DescribeGroupsReply(
            groups=tuple(DescribedGroup(error=NONE, group_id=g) for g in (A, B, C)), throttle_time_ms=3
        ),
    ),
    Case(
        DeleteGroups((B, A)),
        DeleteGroups((A,)),
        DeleteGroups((B,)),
        DeleteGroupsReply(groups=(DeletedGroup(A, ErrorCode.NON_EMPTY_GROUP),)),
        DeleteGroupsReply(groups=(DeletedGroup(B, NONE),)),
        DeleteGroupsReply(groups=(DeletedGroup(B, NONE), DeletedGroup(A, ErrorCode.NON_EMPTY_GROUP))),
    ),
    Case(
        ConsumerGroupDescribe((B, C)),
        ConsumerGroupDescribe((C,)),
        ConsumerGroupDescribe((B,)),
        ConsumerGroupDescribeReply((DescribedConsumerGroup(error=NONE, group_id=C),)),
        ConsumerGroupDescribeReply((DescribedConsumerGroup(error=NONE, group_id=B),)),
        ConsumerGroupDescribeReply(tuple(DescribedConsumerGroup(error=NONE, group_id=g) for g in (B, C))),
    ),
    Case(
        OffsetFetch(groups=(GroupOffsets(group_id=B, topics=None), GroupOffsets(group_id=A, topics=None))),
        OffsetFetch(groups=(GroupOffsets(group_id=A, topics=None),)),
        OffsetFetch(groups=(GroupOffsets(group_id=B, topics=None),)),
        OffsetFetchReply(groups=(FetchedGroup(group_id=A, topics=()),)),
        OffsetFetchReply(groups=(FetchedGroup(group_id=B, topics=()),)),
        OffsetFetchReply(groups=(FetchedGroup(group_id=B, topics=()), FetchedGroup(group_id=A, topics=()))),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: type(case.asked).__name__)
@pytest.mark.parametrize("ours_first", [True, False])
def test_batch_is_cut_by_road_and_merged_in_the_order_asked(case: Case, ours_first: bool) -> None:
    """Decision 22, whichever side answers first."""
    assert split(case.asked, is_ours) == Parts(case.ours, case.theirs)
    merge = Merge(case.asked, case.theirs, is_ours)
    if ours_first:
        assert merge.take_ours(case.our_reply) is None
        assert merge.take_theirs(case.their_reply) == case.whole
    else:
        assert merge.take_theirs(case.their_reply) is None
        assert merge.take_ours(case.our_reply) == case.whole


def test_request_of_one_road_goes_whole_to_its_side() -> None:
    """Nothing is cut that needs no cutting."""
    assert split(DeleteGroups((A, C)), is_ours) == Parts(DeleteGroups((A, C)), None)
    assert split(DeleteGroups((B,)), is_ours) == Parts(None, DeleteGroups((B,)))
    beat = Heartbeat(A, 1, MemberId("m"), None)
    assert split(beat, is_ours) == Parts(beat, None)


def test_list_goes_whole_to_the_bridge() -> None:
    """Decision 22: it asks the broker itself, since an embedded group stands in place of the broker's entry."""
    asked = ListGroups(states=("Stable",))
    assert split(asked, is_ours) == Parts(asked, None)


def test_broker_that_does_not_answer_is_an_error_for_its_groups_only() -> None:
    """The client hears COORDINATOR_NOT_AVAILABLE for the groups of the broker and asks again."""
    merge = Merge(DeleteGroups((A, B)), DeleteGroups((B,)), is_ours)
    assert merge.take_theirs(None) is None
    assert merge.take_ours(DeleteGroupsReply(groups=(DeletedGroup(A, NONE),))) == DeleteGroupsReply(
        groups=(DeletedGroup(A, NONE), DeletedGroup(B, ErrorCode.COORDINATOR_NOT_AVAILABLE))
    )
