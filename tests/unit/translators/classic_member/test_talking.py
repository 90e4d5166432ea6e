"""The conversation with the coordinator: one question at a time."""

from dataclasses import replace

import pytest

from tests.support.classic_members import (
    EPOCH,
    FAREWELL,
    GROUP,
    INSTANCE,
    MEMBER,
    NOW,
    SEAT,
    A,
    B,
    farewell,
    inquiry,
    membership,
    parts,
)
from translators.classic_member.effects import Ask
from translators.classic_member.states import Asked, Overtaken, Retrying, Scheduled, Silent, Talk
from translators.classic_member.talking import expect_question, inquire, learn, prompt, rest, say_farewell
from translators.dialects.claims import Claim
from translators.dialects.coordinator import CoordinatorCalled, DepartReason, Farewell, Granted
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
