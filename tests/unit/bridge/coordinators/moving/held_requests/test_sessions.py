"""Until when seats at brokers are certain."""

from dataclasses import dataclass

from bridge.coordinators.moving.held_requests import CONSUMER_SESSION_MS, Sessions
from bridge.migration.moves.members import ClassicMember
from tests.support.owned_group import CLIENT
from translators.dialects.ids import MemberId, Via

A, SESSION_MS = MemberId("a"), 30_000
ONE, OTHER = Via(0, 1), Via(0, 2)


@dataclass(slots=True)
class Time:
    """It goes on when the test says so."""

    now_ms: int = 5_000

    def sessions(self, session_ms: int = SESSION_MS) -> Sessions:
        """Of one member, which is there now."""
        member = ClassicMember(
            member_id=A,
            instance_id=None,
            client=CLIENT,
            protocols=(),
            protocol_name="range",
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=SESSION_MS,
            generation=1,
            using=frozenset(),
        )
        return Sessions(lambda: self.now_ms, {A: member})


def test_seat_is_certain_for_a_session_from_the_last_answer() -> None:
    """What was asked earlier and answered later takes nothing away."""
    time = Time()
    sessions = time.sessions()
    sessions.answered(A, 6_000)
    sessions.answered(A, 5_500)
    time.now_ms = 6_000 + SESSION_MS - 1
    assert not sessions.may_have_ended(A)
    time.now_ms += 1
    assert sessions.may_have_ended(A)


def test_seat_is_certain_no_longer_than_a_consumer_member_is_kept() -> None:
    """As soon as it is one, its broker goes by its own session, whatever the classic client asked for."""
    time = Time(now_ms=0)
    sessions = time.sessions(10 * CONSUMER_SESSION_MS)
    time.now_ms = CONSUMER_SESSION_MS - 1
    assert not sessions.may_have_ended(A)
    time.now_ms += 1
    assert sessions.may_have_ended(A)


def test_heartbeat_tells_that_the_one_before_was_answered() -> None:
    """By the same connection, and of those that went to the broker."""
    time = Time()
    sessions = time.sessions()
    for via, at_ms, is_passed_on in (
        (ONE, 8_000, True),
        (ONE, 11_000, False),
        (ONE, 14_000, True),
        (OTHER, 17_000, True),
    ):
        time.now_ms = at_ms
        sessions.beats(A, via, is_passed_on=is_passed_on)
    time.now_ms = 8_000 + SESSION_MS - 1
    assert not sessions.may_have_ended(A)
    time.now_ms += 1
    assert sessions.may_have_ended(A)


def test_of_others_nothing_is_said() -> None:
    """They are no part of the move."""
    time = Time()
    sessions = time.sessions()
    time.now_ms += 10 * SESSION_MS
    other = MemberId("other")
    sessions.answered(other, time.now_ms)
    sessions.beats(other, ONE, is_passed_on=False)
    assert not sessions.may_have_ended(other)
