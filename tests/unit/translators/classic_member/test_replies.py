"""The answers a classic client gets (clients.md)."""

import pytest

from tests.support.classic_members import (
    GROUP,
    MEMBER,
    NOBODY,
    A,
    B,
    beat,
    beat_reply,
    join_error,
    join_reply,
    joined,
    membership,
    ref,
    sync_error,
    sync_reply,
    synced,
    tenure,
)
from translators.classic_member.replies import (
    accept_join,
    answer_heartbeat,
    give_assignment,
    judge_sync,
    refuse,
    refuse_join,
    refuse_sync,
)
from translators.dialects.classic import SyncGroup, SyncGroupReply
from translators.dialects.errors import ErrorCode


def test_join_names_no_leader() -> None:
    """Leader empty, no members, the member's own protocol (clients.md, 1 and 2)."""
    assert accept_join(ref(), membership(), tenure(A)) == join_reply(3)


def test_refused_join_tells_the_id_unless_it_is_unknown() -> None:
    """K1.6, K1.59 and K4.6."""
    assert refuse_join(ref(), ErrorCode.FENCED_INSTANCE_ID, MEMBER) == join_error(ErrorCode.FENCED_INSTANCE_ID)
    assert refuse_join(ref(), ErrorCode.UNKNOWN_MEMBER_ID, MEMBER) == join_error(ErrorCode.UNKNOWN_MEMBER_ID, NOBODY)
    full = ErrorCode.GROUP_MAX_SIZE_REACHED
    assert refuse_join(ref(), full, MEMBER) == join_error(full, NOBODY)


def test_assignment_is_never_zero_bytes() -> None:
    """The empty assignment is an envelope (clients.md, 3)."""
    assert give_assignment(ref(), membership(), tenure(A, B)) == sync_reply(A, B)
    empty = give_assignment(ref(), membership(), tenure()).message
    assert isinstance(empty, SyncGroupReply)
    assert empty.assignment == bytes(2 + 4) + b"\xff" * 4


def test_each_request_is_refused_in_its_own_words() -> None:
    """Codes are the same, messages are not."""
    code = ErrorCode.FENCED_INSTANCE_ID
    assert refuse(joined(), code) == join_error(code)
    assert refuse(synced(), code) == sync_error(code) == refuse_sync(ref(), code)
    assert refuse(beat(), code) == beat_reply(code) == answer_heartbeat(ref(), code)


@pytest.mark.parametrize(
    ("generation", "told", "names_protocol", "code"),
    [
        (3, (None, None), False, ErrorCode.NONE),
        (3, ("consumer", "range"), True, ErrorCode.NONE),
        (2, (None, None), False, ErrorCode.ILLEGAL_GENERATION),
        (4, ("connect", "range"), True, ErrorCode.ILLEGAL_GENERATION),
        (3, ("connect", "range"), False, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (3, ("consumer", "sticky"), False, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (3, (None, "range"), True, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_sync_is_judged(
    generation: int, told: tuple[str | None, str | None], names_protocol: bool, code: ErrorCode
) -> None:
    """Generation first, then type and name, which are mandatory from version 5 on (K4.20, K1.47)."""
    request = SyncGroup(
        group_id=GROUP,
        generation=generation,
        member_id=MEMBER,
        instance_id=None,
        protocol_type=told[0],
        protocol_name=told[1],
        names_protocol=names_protocol,
    )
    assert judge_sync(request, membership(), 3) is code
