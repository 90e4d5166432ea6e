"""Who is a member for its client, and who waits for the answer to a JoinGroup."""

from tests.support.classic_members import LIMITS, A, completing, fenced, leaving, preparing, stable, tenure
from translators.classic_member.states import Absent, Asked, parked_join, seated
from translators.dialects.coordinator import DepartReason
from translators.dialects.errors import ErrorCode

JOINING = preparing(Asked(), tenure(A))
SEATED = (stable(A), completing(A), JOINING)
GONE = (None, Absent(LIMITS), leaving(DepartReason.LEFT, Asked()), fenced(ErrorCode.ILLEGAL_GENERATION))


def test_member_is_seated_until_it_leaves_or_is_fenced() -> None:
    """Its client takes it for a member: the state itself is given, to be asked for more."""
    assert [seated(state) for state in SEATED] == list(SEATED)
    assert [seated(state) for state in GONE] == [None] * len(GONE)


def test_only_a_preparing_member_has_an_unanswered_join() -> None:
    """All others were answered, or never asked."""
    assert parked_join(JOINING) is JOINING
    assert [parked_join(state) for state in (*SEATED[:2], *GONE)] == [None] * (2 + len(GONE))
