"""The door of an API refuses values of another one."""

import pytest

from bridge.wire.codec.classic import HEARTBEAT
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.offsets import OffsetCommitReply

REQUEST = Heartbeat(GroupId("g"), 1, MemberId("m"), None)


def test_door_takes_its_own_values() -> None:
    """And hands them to the typed functions."""
    assert HEARTBEAT.request_fields(REQUEST, 4)["group_id"] == "g"
    assert HEARTBEAT.reply_fields(HeartbeatReply(ErrorCode.NONE), 4)["error_code"] is ErrorCode.NONE
    assert HEARTBEAT.refusal(REQUEST, ErrorCode.UNKNOWN_MEMBER_ID) == HeartbeatReply(ErrorCode.UNKNOWN_MEMBER_ID)
    assert HEARTBEAT.group_ids(REQUEST) == (GroupId("g"),)


def test_door_refuses_values_of_another_api() -> None:
    """A mix-up of api keys is a bug that must show."""
    with pytest.raises(TypeError, match="OffsetCommitReply is not a HeartbeatReply"):
        HEARTBEAT.reply_fields(OffsetCommitReply(topics=()), 0)
    with pytest.raises(TypeError, match="HeartbeatReply is not a Heartbeat"):
        HEARTBEAT.request_fields(HeartbeatReply(ErrorCode.NONE), 0)
