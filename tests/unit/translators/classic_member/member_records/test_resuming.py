"""What of a member outlives a restart."""

from dataclasses import replace

from tests.support.classic_members import (
    LIMITS,
    NOW,
    SESSION_MS,
    A,
    B,
    completing,
    fenced,
    membership,
    parts,
    preparing,
    stable,
    tenure,
)
from translators.classic_member.member_records import DurableMember, durable_part, end_session, profile_of, resume
from translators.classic_member.states import Absent, Asked, CallDue, NotCalled, Scheduled, Stable
from translators.classic_member.tenure import Tenure, Vacant
from translators.dialects.errors import ErrorCode


def test_working_member_survives_whole() -> None:
    """Generation, epoch and assignment are the same after a restart."""
    assert durable_part(stable(A)) == DurableMember(membership(parts(A)), tenure(A))
    assert durable_part(completing(A)) == DurableMember(membership(parts(A)), tenure(A))


def test_parked_member_survives_with_what_is_confirmed() -> None:
    """What an eager member may have lost already is left out."""
    state = preparing(Asked(), tenure(A, B), assigned=parts(A))
    kept = Tenure(generation=3, handed=parts(A, B), since={A: 3}, released=parts(B))
    assert durable_part(state) == DurableMember(membership(parts(A)), kept)


def test_member_without_hand_out_is_forgotten() -> None:
    """Newcomers and fenced members join anew."""
    assert durable_part(Absent(LIMITS)) is None
    assert durable_part(preparing(Asked(), Vacant())) is None
    assert durable_part(fenced(ErrorCode.ILLEGAL_GENERATION)) is None


def test_resumed_member_has_a_full_session_and_asks() -> None:
    """Volatile state starts anew: a full session, no question outstanding."""
    assert resume(DurableMember(membership(parts(A)), tenure(A)), NOW) == Stable(
        membership=membership(parts(A)),
        tenure=tenure(A),
        call=NotCalled(),
        talk=Scheduled(NOW),
        session_deadline_ms=NOW + SESSION_MS,
    )


def test_resumed_loser_is_called() -> None:
    """A call that the restart interrupted is made again."""
    former = DurableMember(membership(parts(A)), tenure(A, B))
    assert resume(former, NOW) == replace(resume(former, NOW), call=CallDue())


def test_profile_is_that_of_a_member_at_work_or_on_its_way() -> None:
    """Who left or was fenced says nothing about itself any more."""
    assert profile_of(stable(A)) == profile_of(completing(A)) == membership(parts(A)).profile
    assert profile_of(preparing(Asked(), Vacant())) is not None
    gone = [profile_of(state) for state in (None, Absent(LIMITS), fenced(ErrorCode.ILLEGAL_GENERATION))]
    assert gone == [None] * 3


def test_session_that_ended_in_the_time_away_ends_soon() -> None:
    """One that is longer goes on, and so does a member that is not at work."""
    alive = stable(A)
    session_ms = alive.session_deadline_ms - NOW
    assert end_session(alive, NOW, session_ms - 1, NOW + 5) is alive
    assert end_session(alive, NOW, session_ms, NOW + 5) == replace(alive, session_deadline_ms=NOW + 5)
    absent = Absent(LIMITS)
    assert end_session(absent, NOW, session_ms, NOW + 5) is absent
