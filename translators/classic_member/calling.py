"""When a member is told to join again: at once when it loses, once and late when it gains, else never."""

from translators.classic_member.states import (
    Call,
    CallDue,
    Called,
    GainAwaited,
    MemberLimits,
    Membership,
    NotCalled,
    ReleaseAwaited,
)
from translators.classic_member.tenure import Tenure, still_releasing


def first_call(tenure: Tenure, limits: MemberLimits, now_ms: int) -> Call:
    """Give the call of a client that was just handed its assignment.

    What it has to let go stays its own until it joins without it, and others wait for that. Clients join by themselves,
    most of them at once; who doesn't is told at its next heartbeat, as a broker tells it.
    """
    return ReleaseAwaited(now_ms + limits.release_wait_ms) if still_releasing(tenure) else NotCalled()


def review_call(call: Call, membership: Membership, tenure: Tenure, settle_ms: int | None, now_ms: int) -> Call:
    """Give the call after the coordinator's answer (decisions 10, 12 and 17).

    `settle_ms` is None if the answer brought nothing new; else it is how long a gainer whose pending partitions are
    unknown waits for more.
    """
    if isinstance(call, Called) or still_releasing(tenure):
        return call
    if not tenure.handed <= membership.granted:
        return CallDue()
    if membership.granted == tenure.handed:
        return NotCalled()
    if isinstance(call, CallDue) or membership.pending == frozenset():
        return CallDue()
    return _await_gain(call, membership, settle_ms, now_ms)


def expire_call(call: Call, now_ms: int) -> Call:
    """Give the call when the clock moved: waiting for more, or for a release, has its bounds."""
    match call:
        case GainAwaited() | ReleaseAwaited() if now_ms >= call.call_at_ms:
            return CallDue()
        case _:
            return call


def _await_gain(call: Call, membership: Membership, settle_ms: int | None, now_ms: int) -> Call:
    latest_ms = call.latest_ms if isinstance(call, GainAwaited) else now_ms + membership.seat.limits.gain_wait_max_ms
    if membership.pending is not None:
        return GainAwaited(latest_ms, latest_ms)
    if settle_ms is None and isinstance(call, GainAwaited):
        return call
    settled_ms = now_ms + (membership.seat.limits.settle_ms if settle_ms is None else settle_ms)
    return GainAwaited(min(settled_ms, latest_ms), latest_ms)
