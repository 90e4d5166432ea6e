"""DeleteGroups: the same in all its versions."""

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.admin import DELETE_GROUPS
from tests.support.codec_trips import reply_trip, request_trip
from translators.dialects.admin import DeletedGroup, DeleteGroups, DeleteGroupsReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId

REQUEST = DeleteGroups((GroupId("g"), GroupId("h")))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_request_and_reply_arrive_whole(version: int) -> None:
    """In the order asked."""
    reply = DeleteGroupsReply(
        groups=(
            DeletedGroup(GroupId("g"), ErrorCode.NON_EMPTY_GROUP),
            DeletedGroup(GroupId("h"), ErrorCode.GROUP_ID_NOT_FOUND),
        ),
        throttle_time_ms=5,
    )
    assert request_trip(ApiKey.DELETE_GROUPS, version, REQUEST) == REQUEST
    assert reply_trip(ApiKey.DELETE_GROUPS, version, reply) == reply


def test_refusal_repeats_the_code_for_every_group() -> None:
    """In the order asked."""
    assert DELETE_GROUPS.refuse(REQUEST, ErrorCode.NOT_COORDINATOR) == DeleteGroupsReply(
        groups=(
            DeletedGroup(GroupId("g"), ErrorCode.NOT_COORDINATOR),
            DeletedGroup(GroupId("h"), ErrorCode.NOT_COORDINATOR),
        )
    )
