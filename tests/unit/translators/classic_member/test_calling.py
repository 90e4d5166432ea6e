"""When a member is called for a rejoin (decisions 10, 12, 17)."""

from tests.support.classic_members import LIMITS, NOW, A, B, C, membership, parts, tenure
from translators.classic_member.calling import expire_call, first_call, review_call
from translators.classic_member.states import CallDue, Called, GainAwaited, NotCalled, ReleaseAwaited
from translators.classic_member.tenure import Tenure

RELEASING = Tenure(generation=4, handed=parts(A), since={A: 3, B: 3})
LATEST = NOW + LIMITS.gain_wait_max_ms


def test_unchanged_assignment_calls_nobody() -> None:
    """The epoch may move as it likes."""
    assert review_call(CallDue(), membership(parts(A)), tenure(A), None, NOW) == NotCalled()


def test_loser_is_called_at_once() -> None:
    """A loss is told at the next heartbeat, whatever else is to come."""
    assert review_call(NotCalled(), membership(parts(A), parts(C)), tenure(A, B), None, NOW) == CallDue()


def test_gainer_is_called_when_all_is_free() -> None:
    """One call for everything (K4.32)."""
    assert review_call(NotCalled(), membership(parts(A, B)), tenure(A), 1, NOW) == CallDue()


def test_gainer_waits_for_the_rest_within_bounds() -> None:
    """Something free and something not: wait, counted from the first gain."""
    waiting = review_call(NotCalled(), membership(parts(A, B), parts(C)), tenure(A), 1, NOW)
    assert waiting == GainAwaited(LATEST, LATEST)
    later = review_call(waiting, membership(parts(A, B), parts(C)), tenure(A), 1, NOW + 100)
    assert later == waiting


def test_unknown_pending_waits_one_interval_after_the_last_grant() -> None:
    """On road upstream silence for one interval is the sign (decision 17), within the same bound."""
    first = review_call(NotCalled(), membership(parts(A, B), None), tenure(A), 2_000, NOW)
    assert first == GainAwaited(NOW + 2_000, LATEST)
    quiet = review_call(first, membership(parts(A, B), None), tenure(A), None, NOW + 1_500)
    assert quiet == first
    more = review_call(first, membership(parts(A, B, C), None), tenure(A), 2_000, NOW + 1_500)
    assert more == GainAwaited(NOW + 3_500, LATEST)
    last = review_call(more, membership(parts(A, B, C), None), tenure(A), 2_000, NOW + 3_400)
    assert last == GainAwaited(LATEST, LATEST)


def test_due_call_for_a_gain_stays_due() -> None:
    """A wait that has expired does not begin anew."""
    assert review_call(CallDue(), membership(parts(A, B), parts(C)), tenure(A), 1, NOW) == CallDue()


def test_called_stays_called() -> None:
    """The deadline counts from the first notice (K4.31)."""
    assert review_call(Called(5), membership(parts(A)), tenure(A), None, NOW) == Called(5)


def test_releasing_client_comes_by_itself() -> None:
    """A cooperative client that must let go joins unasked, and is called only if it does not."""
    first = first_call(RELEASING, LIMITS, NOW)
    assert first == ReleaseAwaited(NOW + LIMITS.release_wait_ms)
    assert review_call(first, membership(parts(A, C)), RELEASING, 1, NOW) == first
    assert first_call(tenure(A), LIMITS, NOW) == NotCalled()


def test_waits_expire() -> None:
    """Both waits end in a call, neither before its time."""
    assert expire_call(GainAwaited(10, 20), 9) == GainAwaited(10, 20)
    assert expire_call(GainAwaited(10, 20), 10) == CallDue()
    assert expire_call(ReleaseAwaited(10), 10) == CallDue()
    assert expire_call(NotCalled(), 10) == NotCalled()
