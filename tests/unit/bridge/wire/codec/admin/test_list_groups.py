"""ListGroups: states from version 4 on, types from 5 on."""

from dataclasses import replace

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.admin import LIST_GROUPS
from tests.support.codec_trips import reply_trip, request_trip
from translators.dialects.admin import ListedGroup, ListGroups, ListGroupsReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId

REQUEST = ListGroups(states=("Stable", "Empty"), types=("consumer",))
GROUP = ListedGroup(group_id=GroupId("g"), protocol_type="consumer", group_state="Stable", group_type="consumer")
REPLY = ListGroupsReply(error=ErrorCode.NONE, groups=(GROUP,), throttle_time_ms=4)


@pytest.mark.parametrize(
    ("version", "expected"), [(0, ListGroups()), (3, ListGroups()), (4, replace(REQUEST, types=())), (5, REQUEST)]
)
def test_request_of_version_says_what_it_can(version: int, expected: ListGroups) -> None:
    """KIP-518 and KIP-848."""
    assert request_trip(ApiKey.LIST_GROUPS, version, REQUEST) == expected


@pytest.mark.parametrize(
    ("version", "group"),
    [(1, replace(GROUP, group_state="", group_type="")), (4, replace(GROUP, group_type="")), (5, GROUP)],
)
def test_reply_of_version_says_what_it_can(version: int, group: ListedGroup) -> None:
    """KIP-518 and KIP-848."""
    assert reply_trip(ApiKey.LIST_GROUPS, version, REPLY) == replace(REPLY, groups=(group,))


def test_refusal_lists_nothing() -> None:
    """And the request names no group."""
    assert LIST_GROUPS.refuse(REQUEST, ErrorCode.COORDINATOR_NOT_AVAILABLE) == ListGroupsReply(
        error=ErrorCode.COORDINATOR_NOT_AVAILABLE, groups=()
    )
    assert LIST_GROUPS.groups(REQUEST) == ()
