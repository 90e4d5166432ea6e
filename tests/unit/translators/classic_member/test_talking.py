"""The conversation with the coordinator: one question at a time. The answers a classic client gets (clients.md)."""

from dataclasses import replace

import pytest

from tests.support.classic_members import (
    EPOCH,
    FAREWELL,
    GROUP,
    INSTANCE,
    MEMBER,
    NOBODY,
    NOW,
    SEAT,
    A,
    B,
    beat,
    beat_reply,
    farewell,
    inquiry,
    join_error,
    join_reply,
    joined,
    membership,
    parts,
    ref,
    sync_error,
    sync_reply,
    synced,
    tenure,
)
from translators.classic_member.events import Ask
from translators.classic_member.states import Asked, Overtaken, Retrying, Scheduled, Silent, Talk
from translators.classic_member.talking import (
    accept_join,
    answer_heartbeat,
    expect_question,
    give_assignment,
    inquire,
    judge_sync,
    learn,
    prompt,
    refuse,
    refuse_join,
    refuse_sync,
    rest,
    say_farewell,
)
from translators.dialects.classic import Claim, SyncGroup, SyncGroupReply
from translators.dialects.coordinator import CoordinatorCalled, DepartReason, Farewell, Granted
from translators.dialects.errors import ErrorCode
from translators.machine import UnexpectedEvent


def test_question_is_complete() -> None:
    """Every question carries subscription and owned partitions, so a lost answer costs nothing."""
    assert inquire(membership(), parts(A), Claim(parts(B))) == inquiry(parts(A), EPOCH, claimed=parts(B))


def test_farewell_is_for_good() -> None:
    """A member that leaves leaves its seat too, static or not (decision 16)."""
    assert say_farewell(SEAT, DepartReason.SESSION_EXPIRED) == farewell(DepartReason.SESSION_EXPIRED)
    static = replace(SEAT, instance_id=INSTANCE)
    for_good = Farewell(
        group_id=GROUP, member_id=MEMBER, member_epoch=-1, instance_id=INSTANCE, reason=DepartReason.LEFT
    )
    assert say_farewell(static, DepartReason.LEFT) == Ask(for_good)


def test_farewell_of_a_replaced_seat_keeps_the_seat() -> None:
    """The newcomer finds what its predecessor held (-2, decision 16)."""
    static = replace(SEAT, instance_id=INSTANCE)
    kept = Farewell(
        group_id=GROUP, member_id=MEMBER, member_epoch=-2, instance_id=INSTANCE, reason=DepartReason.REPLACED
    )
    assert say_farewell(static, DepartReason.REPLACED) == Ask(kept)


@pytest.mark.parametrize("talk", [Silent(), Scheduled(NOW), Retrying(NOW)])
def test_question_is_asked_when_none_is_outstanding(talk: Talk) -> None:
    """Whatever was planned, now is sooner."""
    assert prompt(talk, FAREWELL) == (Asked(), (FAREWELL,))


@pytest.mark.parametrize("talk", [Asked(), Overtaken()])
def test_question_waits_for_the_outstanding_answer(talk: Talk) -> None:
    """Only one question is outstanding, and its answer will be out of date."""
    assert prompt(talk, FAREWELL) == (Overtaken(), ())


def test_answer_says_when_to_ask_again() -> None:
    """A broker wants to hear of the member, the engine calls."""
    assert rest(Granted(member_epoch=1), NOW) == Silent()
    assert rest(Granted(member_epoch=1, heartbeat_interval_ms=5_000), NOW) == Scheduled(NOW + 5_000)


def test_members_that_answered_together_are_asked_for_together() -> None:
    """A turn for each costs more than its question; and never later than the broker wants to hear of them."""
    answer = Granted(member_epoch=1, heartbeat_interval_ms=5_000)
    assert {rest(answer, NOW + late_ms) for late_ms in range(100)} == {Scheduled(NOW + 5_000)}
    assert rest(answer, NOW + 100) == Scheduled(NOW + 5_100)
    assert rest(replace(answer, heartbeat_interval_ms=30), NOW + 7) == Scheduled(NOW + 37)


def test_answer_without_assignment_changes_none() -> None:
    """None is unchanged, which differs from empty."""
    before = membership(parts(A))
    assert learn(before, Granted(member_epoch=9, pending=parts(B))) == membership(parts(A), parts(B), epoch=9)
    assert learn(before, Granted(member_epoch=9, assigned=parts())) == membership(epoch=9)


def test_answer_to_nothing_is_unexpected() -> None:
    """An answer that nobody asked for is a bug of the adapter."""
    expect_question(None, Overtaken(), CoordinatorCalled())
    with pytest.raises(UnexpectedEvent, match="no question is outstanding"):
        expect_question(None, Silent(), CoordinatorCalled())


def test_join_names_no_leader() -> None:
    """Leader empty, no members, the member's own protocol (clients.md, 1 and 2)."""
    assert accept_join(ref(), membership(), tenure(A)) == join_reply(3)


def test_refused_join_tells_the_id_unless_it_is_unknown() -> None:
    """A refusal echoes the id (K1.6), unless it is unknown (K1.59) or a consumer group refuses (K4.6)."""
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
