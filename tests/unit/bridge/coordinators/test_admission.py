"""The front door of a classic join."""

from dataclasses import replace

from bridge.coordinators.admission import SessionBounds, check_join, refuse_join
from tests.support.embedded_world import join_request
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import GroupId

BOUNDS = SessionBounds(6_000, 10_000)


def code(request_timeout_ms: int, group_id: str = "g") -> ErrorCode:
    """Why a join is refused."""
    request = replace(join_request("a", session_timeout_ms=request_timeout_ms), group_id=GroupId(group_id))
    refused = check_join(request, BOUNDS)
    return refused.code if isinstance(refused, Refusal) else ErrorCode.NONE


def test_bounds_of_the_session_are_included() -> None:
    """K1.6, and the group id comes first."""
    assert [code(timeout) for timeout in (6_000, 10_000)] == [ErrorCode.NONE] * 2
    assert [code(timeout) for timeout in (5_999, 10_001)] == [ErrorCode.INVALID_SESSION_TIMEOUT] * 2
    assert code(0, "") is ErrorCode.INVALID_GROUP_ID


def test_only_the_front_door_echoes_the_member_id() -> None:
    """K1.6 and K4.6."""
    request = join_request("a")
    assert refuse_join(request, ErrorCode.INVALID_SESSION_TIMEOUT).member_id == "a"
    assert refuse_join(request, ErrorCode.UNKNOWN_MEMBER_ID).member_id == ""
