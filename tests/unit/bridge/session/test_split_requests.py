"""Requests over two roads."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.migration.route import Road
from bridge.session.split_requests import Merge, Parts, split
from bridge.wire.codec.registry import (
    APIS,
    SUPPORTED,
    Reply,
    Request,
    decode_reply,
    encode_reply,
    error_reply,
    group_ids,
)
from bridge.wire.frames import LENGTH_BYTES
from translators.dialects.admin import (
    DeletedGroup,
    DeleteGroups,
    DeleteGroupsReply,
    DescribedGroup,
    DescribeGroups,
    DescribeGroupsReply,
    ListGroups,
)
from translators.dialects.classic import Heartbeat, LeaveGroup, LeaveGroupReply, LeavingMember, LeftMember
from translators.dialects.configs import (
    GROUP,
    AlterConfigs,
    AlterConfigsReply,
    AlteredResource,
    AskedResource,
    DescribeConfigs,
    DescribeConfigsReply,
    DescribedResource,
    Resource,
    ResourceAlterations,
)
from translators.dialects.consumer import ConsumerGroupDescribe, ConsumerGroupDescribeReply, DescribedConsumerGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.offsets import FetchedGroup, GroupOffsets, OffsetFetch, OffsetFetchReply

A, B, C = GroupId("ours-a"), GroupId("b"), GroupId("ours-c")
NONE = ErrorCode.NONE
OURS, TOPIC = Resource(GROUP, A), Resource(2, A)
"""A group's settings, and those of a topic of the same name."""


def road_of(group_id: GroupId, member_id: MemberId | None = None) -> Road:
    """Groups named ours-… are the bridge's, those named up-… go by a third road, and so do members named so, those
    named moving-… are being moved.
    """
    if group_id.startswith("moving"):
        return Road.MOVING
    if (member_id or group_id).startswith("up"):
        return Road.UPSTREAM
    return Road.EMBEDDED if group_id.startswith("ours") else Road.PASS


def parts_of(ours: Request, theirs: Request) -> Parts:
    """Two roads."""
    return {Road.EMBEDDED: ours, Road.PASS: theirs}


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
        DescribeConfigs(resources=(AskedResource(TOPIC), AskedResource(OURS))),
        DescribeConfigs(resources=(AskedResource(OURS),)),
        DescribeConfigs(resources=(AskedResource(TOPIC),)),
        DescribeConfigsReply(results=(DescribedResource(resource=OURS, error=ErrorCode.INVALID_REQUEST),)),
        DescribeConfigsReply(results=(DescribedResource(resource=TOPIC),), throttle_time_ms=7),
        DescribeConfigsReply(
            results=(
                DescribedResource(resource=TOPIC),
                DescribedResource(resource=OURS, error=ErrorCode.INVALID_REQUEST),
            ),
            throttle_time_ms=7,
        ),
    ),
    Case(
        AlterConfigs(resources=(ResourceAlterations(OURS, ()), ResourceAlterations(TOPIC, ()))),
        AlterConfigs(resources=(ResourceAlterations(OURS, ()),)),
        AlterConfigs(resources=(ResourceAlterations(TOPIC, ()),)),
        AlterConfigsReply(results=(AlteredResource(resource=OURS),)),
        AlterConfigsReply(results=(AlteredResource(resource=TOPIC, error=ErrorCode.POLICY_VIOLATION),)),
        AlterConfigsReply(
            results=(
                AlteredResource(resource=OURS),
                AlteredResource(resource=TOPIC, error=ErrorCode.POLICY_VIOLATION),
            )
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
    """Each side answers its groups in the order asked (decision 22), whichever side answers first."""
    assert split(case.asked, road_of) == parts_of(case.ours, case.theirs)
    merge = Merge(case.asked, split(case.asked, road_of), road_of)
    if ours_first:
        assert merge.take(Road.EMBEDDED, case.our_reply) is None
        assert merge.take(Road.PASS, case.their_reply) == case.whole
    else:
        assert merge.take(Road.PASS, case.their_reply) is None
        assert merge.take(Road.EMBEDDED, case.our_reply) == case.whole


def test_request_of_one_road_goes_whole_to_its_side() -> None:
    """Nothing is cut that needs no cutting."""
    assert split(DeleteGroups((A, C)), road_of) == {Road.EMBEDDED: DeleteGroups((A, C))}
    assert split(DeleteGroups((B,)), road_of) == {Road.PASS: DeleteGroups((B,))}
    beat = Heartbeat(A, 1, MemberId("m"), None)
    assert split(beat, road_of) == {Road.EMBEDDED: beat}


def test_list_goes_whole_to_the_bridge() -> None:
    """It asks the broker itself, since an embedded group stands in place of the broker's entry (decision 22)."""
    asked = ListGroups(states=("Stable",))
    assert split(asked, road_of) == {Road.EMBEDDED: asked}


def test_broker_that_does_not_answer_is_an_error_for_its_groups_only() -> None:
    """The client hears COORDINATOR_NOT_AVAILABLE for the groups of the broker and asks again."""
    merge = Merge(DeleteGroups((A, B)), parts_of(DeleteGroups((A,)), DeleteGroups((B,))), road_of)
    assert merge.take(Road.PASS, None) is None
    assert merge.take(Road.EMBEDDED, DeleteGroupsReply(groups=(DeletedGroup(A, NONE),))) == DeleteGroupsReply(
        groups=(DeletedGroup(A, NONE), DeletedGroup(B, ErrorCode.COORDINATOR_NOT_AVAILABLE))
    )


def test_kafka_answers_a_group_that_is_deleted_twice_once() -> None:
    """And in an order of its own; 4.3.1 and 3.9.1 do so (a merge that counted names ended the whole process)."""
    asked = DeleteGroups((A, B, A, OTHER, B, OTHER))
    parts = split(asked, road_of)
    assert parts == parts_of(DeleteGroups((A,)), DeleteGroups((B, OTHER)))
    merge = Merge(asked, parts, road_of)
    assert merge.take(Road.EMBEDDED, DeleteGroupsReply(groups=(DeletedGroup(A, NONE),))) is None
    gone = DeletedGroup(OTHER, ErrorCode.GROUP_ID_NOT_FOUND)
    assert merge.take(Road.PASS, DeleteGroupsReply(groups=(gone, DeletedGroup(B, NONE)))) == DeleteGroupsReply(
        groups=(DeletedGroup(A, NONE), DeletedGroup(B, NONE), gone)
    )


def test_kafka_describes_a_group_that_is_named_twice_twice() -> None:
    """By the partition of its offsets topic, not in the order asked; so does ConsumerGroupDescribe."""
    asked = DescribeGroups(group_ids=(B, A, OTHER, B))
    merge = Merge(asked, split(asked, road_of), road_of)
    assert merge.take(Road.EMBEDDED, DescribeGroupsReply(groups=(_described(A),))) is None
    told = (_described(OTHER), _described(B, "Stable"), _described(B, "Empty"))
    assert merge.take(Road.PASS, DescribeGroupsReply(groups=told)) == DescribeGroupsReply(
        groups=(_described(B, "Stable"), _described(A), _described(OTHER), _described(B, "Empty"))
    )


def test_groups_that_a_broker_leaves_out_are_to_be_asked_again_and_what_nobody_asked_for_is_dropped() -> None:
    """Whatever a broker answers is no reason to fail."""
    asked = DescribeGroups(group_ids=(B, A, OTHER))
    merge = Merge(asked, split(asked, road_of), road_of)
    merge.take(Road.EMBEDDED, DescribeGroupsReply(groups=(_described(A),)))
    told = (_described(GroupId("unasked")), _described(OTHER), _described(A, "Dead"))
    assert merge.take(Road.PASS, DescribeGroupsReply(groups=told)) == DescribeGroupsReply(
        groups=(
            DescribedGroup(error=ErrorCode.COORDINATOR_NOT_AVAILABLE, group_id=B),
            _described(A),
            _described(OTHER),
        )
    )


def test_members_of_one_group_may_leave_by_several_roads() -> None:
    """One that its road says nothing of is to be asked again; one error for a part is that of each of its members."""
    leavers = tuple(LeavingMember(member_id=MemberId(name)) for name in ("a", "up-1", "b", "up-2"))
    asked = LeaveGroup(group_id=B, members=leavers)
    merge = Merge(asked, split(asked, road_of), road_of)
    left = (_left("b", NONE), _left("a", ErrorCode.UNKNOWN_MEMBER_ID))
    assert merge.take(Road.PASS, LeaveGroupReply(error=NONE, members=left)) is None
    refused = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert merge.take(Road.UPSTREAM, LeaveGroupReply(error=refused)) == LeaveGroupReply(
        error=NONE,
        members=(_left("a", ErrorCode.UNKNOWN_MEMBER_ID), _left("up-1", refused), left[0], _left("up-2", refused)),
    )


def _left(member_id: str, error: ErrorCode) -> LeftMember:
    return LeftMember(member_id=MemberId(member_id), instance_id=None, error=error)


OTHER, UP = GroupId("other"), GroupId("up")
M, N = GroupId("moving-m"), GroupId("moving-n")
NAMES = st.lists(st.sampled_from((A, B, C, OTHER, UP, M, N)), min_size=1, max_size=8).map(tuple)
ASKED = st.one_of(
    NAMES.map(lambda names: DescribeGroups(group_ids=names)),
    NAMES.map(DeleteGroups),
    NAMES.map(ConsumerGroupDescribe),
    NAMES.map(lambda names: OffsetFetch(groups=tuple(GroupOffsets(group_id=one, topics=None) for one in names))),
)


MOVED_CASES: list[tuple[Request, list[Request]]] = [
    (DescribeGroups(group_ids=(M, N, M)), [DescribeGroups(group_ids=(M, M)), DescribeGroups(group_ids=(N,))]),
    (DeleteGroups((N, M)), [DeleteGroups((N,)), DeleteGroups((M,))]),
    (ConsumerGroupDescribe((M, N)), [ConsumerGroupDescribe((M,)), ConsumerGroupDescribe((N,))]),
    (
        OffsetFetch(groups=(GroupOffsets(group_id=M, topics=None), GroupOffsets(group_id=N, topics=None))),
        [OffsetFetch(groups=(GroupOffsets(group_id=one, topics=None),)) for one in (M, N)],
    ),
    (
        DescribeConfigs(resources=(AskedResource(Resource(GROUP, M)), AskedResource(Resource(GROUP, N)))),
        [DescribeConfigs(resources=(AskedResource(Resource(GROUP, one)),)) for one in (M, N)],
    ),
    (
        AlterConfigs(resources=tuple(ResourceAlterations(Resource(GROUP, one), ()) for one in (M, N))),
        [AlterConfigs(resources=(ResourceAlterations(Resource(GROUP, one), ()),)) for one in (M, N)],
    ),
]


@pytest.mark.parametrize(("asked", "pieces"), MOVED_CASES, ids=lambda one: type(one).__name__)
def test_each_group_that_is_being_moved_is_asked_for_by_itself(asked: Request, pieces: list[Request]) -> None:
    """The move of one would have asked the broker for another that is just released, and knows of no member there."""
    merge = Merge(asked, split(asked, road_of), road_of)
    assert merge.pieces == tuple((Road.MOVING, piece) for piece in pieces)


def test_groups_that_were_moved_meanwhile_are_answered_in_the_order_asked_on_whatever_road() -> None:
    """One goes on to the bridge's own groups, another to its broker, a third was no part of any move."""
    asked = DescribeGroups(group_ids=(N, A, M))
    merge = Merge(asked, split(asked, road_of), road_of)
    assert merge.take(Road.EMBEDDED, DescribeGroupsReply(groups=(_described(M, "Stable"),))) is None
    assert merge.take(Road.MOVING, DescribeGroupsReply(groups=(_described(N, "Empty"),))) is None
    assert merge.take(Road.EMBEDDED, DescribeGroupsReply(groups=(_described(A),))) == DescribeGroupsReply(
        groups=(_described(N, "Empty"), _described(A), _described(M, "Stable"))
    )


@given(asked=ASKED, data=st.data())
def test_any_answers_to_any_names_make_one_that_can_be_written(asked: Request, data: st.DataObject) -> None:
    """Names asked in any number, answers with any of them, any number of times, in any order."""
    merge, whole = Merge(asked, split(asked, road_of), road_of), None
    assert all(len(set(group_ids(piece))) == 1 for road, piece in merge.pieces if road is Road.MOVING)
    if len(merge.pieces) < 2:
        return
    for road, _ in data.draw(st.permutations(merge.pieces)):
        assert whole is None
        # What waited for a move is answered on the road that its group has then.
        came = data.draw(st.sampled_from((Road.MOVING, Road.EMBEDDED, Road.MAPPED))) if road is Road.MOVING else road
        answers = NAMES.map(lambda names: _answer(asked, names))
        whole = merge.take(came, data.draw(answers if road is Road.MOVING else st.none() | answers))
    api_key = next(key for key, api in APIS.items() if api.request_type is type(asked))
    names = group_ids(asked)
    named = list(dict.fromkeys(names)) if isinstance(asked, DeleteGroups) else list(names)
    assert whole is not None
    version = SUPPORTED[api_key].highest
    _, read = decode_reply(api_key, version, encode_reply(api_key, version, 1, whole)[LENGTH_BYTES:])
    assert [group.group_id for group in _groups(read)] == named


def _described(group_id: GroupId, state: str = "") -> DescribedGroup:
    return DescribedGroup(error=NONE, group_id=group_id, group_state=state)


def _answer(request: Request, names: tuple[GroupId, ...]) -> Reply:
    """An answer of the same kind about these names."""
    if isinstance(request, OffsetFetch):
        return error_reply(OffsetFetch(groups=tuple(GroupOffsets(group_id=one, topics=None) for one in names)), NONE)
    if isinstance(request, DescribeGroups):
        return error_reply(DescribeGroups(group_ids=names), NONE)
    return error_reply(DeleteGroups(names) if isinstance(request, DeleteGroups) else ConsumerGroupDescribe(names), NONE)


def _groups(reply: Reply) -> tuple[DescribedGroup | DeletedGroup | DescribedConsumerGroup | FetchedGroup, ...]:
    assert isinstance(reply, DescribeGroupsReply | DeleteGroupsReply | ConsumerGroupDescribeReply | OffsetFetchReply)
    return reply.groups
