"""LeaveGroup: one member before version 3, a batch from then on."""

from dataclasses import replace

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.classic import LEAVE_GROUP
from tests.support.codec_trips import reply_trip, request_trip
from translators.dialects.classic import LeaveGroup, LeaveGroupReply, LeavingMember, LeftMember
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId

FIRST = LeavingMember(member_id=MemberId("m-1"), instance_id=InstanceId("seat"), reason="bye")
SECOND = LeavingMember(member_id=MemberId(""), instance_id=InstanceId("other"))
GROUP = GroupId("orders")


@pytest.mark.parametrize("version", [0, 1, 2])
def test_request_before_version_3_names_one_member(version: int) -> None:
    """Its seat and reason have no place."""
    request = LeaveGroup(group_id=GROUP, members=(FIRST,))
    assert request_trip(ApiKey.LEAVE_GROUP, version, request) == LeaveGroup(
        group_id=GROUP, members=(LeavingMember(member_id=MemberId("m-1")),), is_batch=False
    )


@pytest.mark.parametrize("members", [(), (FIRST, SECOND)])
def test_request_before_version_3_refuses_other_numbers(members: tuple[LeavingMember, ...]) -> None:
    """Never a silent loss."""
    with pytest.raises(ValueError, match="names one member"):
        LEAVE_GROUP.encode_request(LeaveGroup(group_id=GROUP, members=members), 2)


def test_request_of_version_3_is_a_batch_without_reasons() -> None:
    """Reasons came in version 5 (KIP-800)."""
    request = LeaveGroup(group_id=GROUP, members=(FIRST, SECOND))
    assert request_trip(ApiKey.LEAVE_GROUP, 3, request) == replace(request, members=(replace(FIRST, reason=""), SECOND))
    assert request_trip(ApiKey.LEAVE_GROUP, 5, request) == request


LEFT = LeftMember(member_id=MemberId("m-1"), instance_id=None, error=ErrorCode.UNKNOWN_MEMBER_ID)


def test_reply_before_version_3_has_the_members_error_on_top() -> None:
    """Those versions carry one member (K1.57)."""
    reply = LeaveGroupReply(error=ErrorCode.NONE, members=(LEFT,))
    assert reply_trip(ApiKey.LEAVE_GROUP, 2, reply) == LeaveGroupReply(error=ErrorCode.UNKNOWN_MEMBER_ID)
    assert reply_trip(ApiKey.LEAVE_GROUP, 3, reply) == reply


def test_reply_before_version_3_keeps_an_error_on_top() -> None:
    """The group's error outranks a member's."""
    reply = LeaveGroupReply(error=ErrorCode.INVALID_GROUP_ID, members=(LEFT,))
    assert reply_trip(ApiKey.LEAVE_GROUP, 0, reply) == LeaveGroupReply(error=ErrorCode.INVALID_GROUP_ID)


def test_refusal_names_no_members() -> None:
    """A code on top."""
    request = LeaveGroup(group_id=GROUP, members=(FIRST,))
    assert LEAVE_GROUP.refuse(request, ErrorCode.NOT_COORDINATOR) == LeaveGroupReply(error=ErrorCode.NOT_COORDINATOR)
