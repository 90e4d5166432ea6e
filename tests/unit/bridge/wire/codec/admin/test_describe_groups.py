"""DescribeGroups: operations from version 3 on, seats from 4 on, messages and missing groups from 6 on."""

from dataclasses import replace

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.admin import DESCRIBE_GROUPS
from tests.support.codec_trips import reply_trip, request_trip
from translators.dialects.admin import (
    NO_OPERATIONS,
    DescribedGroup,
    DescribedMember,
    DescribeGroups,
    DescribeGroupsReply,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId

REQUEST = DescribeGroups(
    group_ids=(GroupId("g"), GroupId("h")), include_authorized_operations=True, errors_when_missing=True
)
MEMBER = DescribedMember(
    member_id=MemberId("m"),
    instance_id=InstanceId("seat"),
    client_id="c",
    client_host="/127.0.0.1",
    metadata=b"s",
    assignment=b"a",
)
GROUP = DescribedGroup(
    error=ErrorCode.NONE,
    group_id=GroupId("g"),
    error_message="fine",
    group_state="Stable",
    protocol_type="consumer",
    protocol_data="range",
    members=(MEMBER,),
    authorized_operations=8,
)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (0, replace(REQUEST, include_authorized_operations=False, errors_when_missing=False)),
        (5, replace(REQUEST, errors_when_missing=False)),
        (6, REQUEST),
    ],
)
def test_request_of_version_says_what_it_can(version: int, expected: DescribeGroups) -> None:
    """KIP-430 and KIP-1043."""
    assert request_trip(ApiKey.DESCRIBE_GROUPS, version, REQUEST) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (
            1,
            replace(
                GROUP,
                error_message=None,
                members=(replace(MEMBER, instance_id=None),),
                authorized_operations=NO_OPERATIONS,
            ),
        ),
        (3, replace(GROUP, error_message=None, members=(replace(MEMBER, instance_id=None),))),
        (5, replace(GROUP, error_message=None)),
        (6, GROUP),
    ],
)
def test_reply_of_version_says_what_it_can(version: int, expected: DescribedGroup) -> None:
    """A tool of any age reads the same group."""
    reply = DescribeGroupsReply(groups=(GROUP,), throttle_time_ms=1)
    assert reply_trip(ApiKey.DESCRIBE_GROUPS, version, reply) == replace(reply, groups=(expected,))


def test_refusal_repeats_the_code_for_every_group() -> None:
    """In the order asked."""
    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert DESCRIBE_GROUPS.refuse(REQUEST, code) == DescribeGroupsReply(
        groups=(DescribedGroup(error=code, group_id=GroupId("g")), DescribedGroup(error=code, group_id=GroupId("h")))
    )
    assert DESCRIBE_GROUPS.groups(REQUEST) == (GroupId("g"), GroupId("h"))
