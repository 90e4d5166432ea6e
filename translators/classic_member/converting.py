"""A member's way between a classic group, run by its own leader, and a translated one: nothing that its client was told
becomes untrue.
"""

from dataclasses import dataclass
from typing import assert_never

from translators.classic_member.calling import first_call, review_call
from translators.classic_member.profile import Profile
from translators.classic_member.states import (
    Absent,
    CompletingRebalance,
    Fenced,
    Leaving,
    Membership,
    PreparingRebalance,
    Scheduled,
    Seat,
    Silent,
    Stable,
    State,
)
from translators.classic_member.tenure import Partitions, Tenure, generation_of, usable
from translators.dialects.classic import JoinGroup
from translators.dialects.consumer_protocol import CONSUMER


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedMember:
    """A member of a classic group that is translated from now on.

    `generation` is what its client was told last, `handed` what it was handed out in it, and `using` what it has
    (decision 7): less than that, or what a cooperative client has yet to let go of. At `epoch` its coordinator knows
    just this.
    """

    seat: Seat
    profile: Profile
    generation: int
    epoch: int
    handed: Partitions
    using: Partitions
    session_deadline_ms: int


def begin_stable(converted: ConvertedMember, now_ms: int) -> Stable:
    """Go on as a member at work: its heartbeats and commits count as before.

    Its coordinator knows all of it, and calls when there is news.
    """
    membership, tenure = _membership(converted), _tenure(converted, converted.handed)
    return Stable(
        membership=membership,
        tenure=tenure,
        call=review_call(first_call(tenure, converted.seat.limits, now_ms), membership, tenure, None, now_ms),
        talk=Silent(),
        session_deadline_ms=converted.session_deadline_ms,
    )


def begin_completing(converted: ConvertedMember, sync_deadline_ms: int, now_ms: int) -> CompletingRebalance:
    """Go on as a member whose JoinGroup was answered and that may send SyncGroup until `sync_deadline_ms`.

    What it is handed out then may still change: an eager client holds nothing, a cooperative one what it kept.
    """
    return CompletingRebalance(
        membership=_membership(converted),
        tenure=_tenure(converted, converted.using),
        using=converted.using,
        talk=Scheduled(now_ms),
        session_deadline_ms=converted.session_deadline_ms,
        sync_deadline_ms=sync_deadline_ms,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Returner:
    """A translated member whose group becomes classic.

    `generation` is what its client was shown last, 0 for one that was never answered; `using` what its client may be
    using. `is_settled` if its client has exactly what its coordinator granted, and nobody waits for an answer.
    """

    membership: Membership
    generation: int
    using: Partitions
    is_settled: bool
    session_deadline_ms: int


def take_leave(state: State, now_ms: int) -> Returner | None:
    """Say what a classic group goes on with; None for one that is no member any more as far as its client knows."""
    match state:
        case Stable() | CompletingRebalance():
            tenure = state.tenure
            using = usable(tenure)
            has_it_all = tenure.handed == using == state.membership.granted
            return Returner(
                membership=state.membership,
                generation=tenure.generation,
                using=using,
                is_settled=has_it_all and isinstance(state, Stable),
                session_deadline_ms=state.session_deadline_ms,
            )
        case PreparingRebalance():
            return Returner(
                membership=state.membership,
                generation=generation_of(state.tenure),
                using=state.using,
                is_settled=False,
                session_deadline_ms=now_ms + state.membership.profile.session_timeout_ms,
            )
        case Absent() | Leaving() | Fenced():
            return None
        case _:
            assert_never(state)


def last_join(membership: Membership) -> JoinGroup:
    """The JoinGroup that says of the client what is known of it."""
    seat, profile = membership.seat, membership.profile
    return JoinGroup(
        group_id=seat.group_id,
        member_id=seat.member_id,
        instance_id=seat.instance_id,
        protocol_type=CONSUMER,
        protocols=profile.protocols,
        session_timeout_ms=profile.session_timeout_ms,
        rebalance_timeout_ms=profile.rebalance_timeout_ms,
    )


def _membership(converted: ConvertedMember) -> Membership:
    return Membership(seat=converted.seat, profile=converted.profile, epoch=converted.epoch, granted=converted.using)


def _tenure(converted: ConvertedMember, handed: Partitions) -> Tenure:
    return Tenure(
        generation=converted.generation,
        handed=handed,
        since=dict.fromkeys(converted.using, converted.generation),
        released=handed - converted.using,
    )
