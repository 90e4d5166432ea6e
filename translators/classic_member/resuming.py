"""What of a member outlives a restart or comes from another kind of group, and the state that begins with it."""

from dataclasses import dataclass

from translators.classic_member.calling import first_call, review_call
from translators.classic_member.profile import Profile
from translators.classic_member.states import (
    CompletingRebalance,
    Membership,
    PreparingRebalance,
    Scheduled,
    Stable,
    State,
)
from translators.classic_member.tenure import Tenure, prune


@dataclass(frozen=True, slots=True)
class DurableMember:
    """The durable part of a member: how its coordinator knows it, and what its client was handed out."""

    membership: Membership
    tenure: Tenure


def durable_part(state: State) -> DurableMember | None:
    """Give the durable part of a state, None where a restart may forget the member (its client will join anew).

    Partitions that a parked client may have lost already are left out.
    """
    match state:
        case Stable() | CompletingRebalance():
            return DurableMember(state.membership, state.tenure)
        case PreparingRebalance(tenure=Tenure()):
            tenure = prune(state.tenure, state.membership.granted | state.using)
            return DurableMember(state.membership, tenure) if isinstance(tenure, Tenure) else None
        case _:
            return None


def resume(former: DurableMember, now_ms: int) -> Stable:
    """Begin with a member that is already at work: after a restart, or converted from a classic group.

    It has a full session, and asks its coordinator at once: send `DeadlinePassed` at `next_deadline`.
    """
    membership, tenure = former.membership, former.tenure
    limits = membership.seat.limits
    return Stable(
        membership=membership,
        tenure=tenure,
        call=review_call(first_call(tenure, limits, now_ms), membership, tenure, None, now_ms),
        talk=Scheduled(now_ms),
        session_deadline_ms=now_ms + membership.profile.session_timeout_ms,
    )


def profile_of(state: State | None) -> Profile | None:
    """What a member's client said about itself; None for one that is no member for its client."""
    if isinstance(state, Stable | PreparingRebalance | CompletingRebalance):
        return state.membership.profile
    return None
