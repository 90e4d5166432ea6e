"""The front door of a classic join."""

from dataclasses import replace

from bridge.coordinators.admission import STRING_BYTES_MAX, SessionBounds, check_join, check_name, refuse_join
from tests.support.embedded_world import join_request
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import GroupId, MemberId

BOUNDS = SessionBounds(6_000, 10_000)


def code(request_timeout_ms: int, group_id: str = "g") -> ErrorCode:
    """Why a join is refused."""
    request = replace(join_request("a", session_timeout_ms=request_timeout_ms), group_id=GroupId(group_id))
    refused = check_join(request, BOUNDS)
    return refused.code if isinstance(refused, Refusal) else ErrorCode.NONE


def test_bounds_of_the_session_are_included() -> None:
    """Outside of them INVALID_SESSION_TIMEOUT, but the group's id is looked at first (K1.6)."""
    assert [code(timeout) for timeout in (6_000, 10_000)] == [ErrorCode.NONE] * 2
    assert [code(timeout) for timeout in (5_999, 10_001)] == [ErrorCode.INVALID_SESSION_TIMEOUT] * 2
    assert code(0, "") is ErrorCode.INVALID_GROUP_ID


def test_only_the_front_door_echoes_the_member_id() -> None:
    """The bounds are checked before anybody asks for the group (K1.6); from there on the answer names nobody (K4.6)."""
    request = join_request("a")
    assert refuse_join(request, ErrorCode.INVALID_SESSION_TIMEOUT).member_id == "a"
    assert refuse_join(request, ErrorCode.UNKNOWN_MEMBER_ID).member_id == ""


def test_newcomer_whose_id_can_not_be_told_is_refused() -> None:
    """Kafka 4.3.1 answers -1: the id would not fit into the answer. Bytes count, and whoever has an id keeps it."""

    new = join_request("")
    sizes = (STRING_BYTES_MAX, STRING_BYTES_MAX + 1)
    assert [check_name(new, MemberId("x" * size)) is None for size in sizes] == [True, False]
    assert [check_name(new, MemberId("é" * (size // 2 + size % 2))) is None for size in (32_766, 32_767)] == [
        True,
        False,
    ]
    refused = check_name(new, MemberId("x" * sizes[1]))
    assert refused is not None
    assert refused.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert check_name(join_request("a"), MemberId("x" * sizes[1])) is None
