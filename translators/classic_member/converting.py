"""A member's way between a classic group, run by its own leader, and a translated one: nothing that its client was told
becomes untrue.

It must not know why a group changes its kind, nor who else is in it.
"""

from dataclasses import dataclass

from translators.classic_member.calling import review_call
from translators.classic_member.profile import Profile
from translators.classic_member.states import (
    CompletingRebalance,
    Membership,
    NotCalled,
    PreparingRebalance,
    Scheduled,
    Seat,
    Stable,
    State,
)
from translators.classic_member.tenure import Partitions, Tenure, generation_of, usable
from translators.dialects.ids import RequestRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Settler:
    """A member of a classic group that is translated from now on.

    `generation` is what its client was told last; `held` what it was handed out and still has, which its coordinator
    knows it by at `epoch`.
    """

    seat: Seat
    profile: Profile
    generation: int
    epoch: int
    held: Partitions
    session_deadline_ms: int


def begin_stable(settler: Settler, now_ms: int) -> Stable:
    """Go on as a member at work: its heartbeats and commits count as before.

    It asks its coordinator at once: send `DeadlinePassed` at `next_deadline`.
    """
    membership, tenure = _membership(settler), _tenure(settler)
    return Stable(
        membership=membership,
        tenure=tenure,
        call=review_call(NotCalled(), membership, tenure, None, now_ms),
        talk=Scheduled(now_ms),
        session_deadline_ms=settler.session_deadline_ms,
    )


def begin_completing(settler: Settler, sync_deadline_ms: int, now_ms: int) -> CompletingRebalance:
    """Go on as a member whose JoinGroup was answered and that may send SyncGroup until `sync_deadline_ms`.

    What it is handed out then may still change: an eager client holds nothing, a cooperative one what it kept.
    """
    return CompletingRebalance(
        membership=_membership(settler),
        tenure=_tenure(settler),
        using=settler.held,
        talk=Scheduled(now_ms),
        session_deadline_ms=settler.session_deadline_ms,
        sync_deadline_ms=sync_deadline_ms,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Returner:
    """A translated member whose group becomes classic.

    `generation` is what its client was shown last, 0 for one that was never answered; `using` what its client may be
    using, `handed` what it was handed out last. `joining` is an unanswered JoinGroup.
    """

    membership: Membership
    generation: int
    handed: Partitions
    using: Partitions
    joining: RequestRef | None
    session_deadline_ms: int

    @property
    def is_settled(self) -> bool:
        """Whether its client has exactly what its coordinator granted, and nobody waits for an answer."""
        return self.joining is None and self.handed == self.using == self.membership.granted


def take_leave(state: State, now_ms: int) -> Returner | None:
    """Say what a classic group goes on with; None for one that is no member any more as far as its client knows."""
    match state:
        case Stable() | CompletingRebalance():
            return Returner(
                membership=state.membership,
                generation=state.tenure.generation,
                handed=state.tenure.handed,
                using=usable(state.tenure),
                joining=None,
                session_deadline_ms=state.session_deadline_ms,
            )
        case PreparingRebalance():
            profile, tenure = state.membership.profile, state.tenure
            return Returner(
                membership=state.membership,
                generation=generation_of(tenure),
                handed=tenure.handed if isinstance(tenure, Tenure) else frozenset(),
                using=state.using,
                joining=state.parked.ref,
                session_deadline_ms=now_ms + profile.session_timeout_ms,
            )
        case _:
            return None


def _membership(settler: Settler) -> Membership:
    return Membership(seat=settler.seat, profile=settler.profile, epoch=settler.epoch, granted=settler.held)


def _tenure(settler: Settler) -> Tenure:
    return Tenure(
        generation=settler.generation,
        handed=settler.held,
        since=dict.fromkeys(settler.held, settler.generation),
    )
