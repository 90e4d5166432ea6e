"""How a JoinGroup begins, wherever it comes from, above all that of a client of whom nothing is known."""

from dataclasses import replace
from typing import assert_never

from translators.classic_member.events import (
    ClientEvent,
    ConnectionLost,
    Effect,
    HeartbeatReceived,
    JoinReceived,
    LeaveReceived,
    SyncReceived,
)
from translators.classic_member.profile import Profile, check_protocols, read_profile
from translators.classic_member.states import (
    Absent,
    CompletingRebalance,
    Membership,
    MemberStep,
    Parked,
    PreparingRebalance,
    Seat,
    Silent,
    Stable,
    Talk,
)
from translators.classic_member.talking import inquire, prompt, refuse, refuse_join
from translators.classic_member.tenure import NO_PARTITIONS, Partitions, Tenure, Vacant
from translators.dialects.classic import read_claim
from translators.dialects.consumer_protocol import COOPERATIVE
from translators.dialects.errors import ErrorCode, Refusal
from translators.machine import Step

# ------------------------------------------------------------------------------------------ joining
# How a JoinGroup begins, wherever it comes from: what the client still uses, how long it may be held, and the first
# question.


def still_using(profile: Profile, held: Partitions) -> Partitions:
    """Decide what of `held` the joining client still uses (decision 6).

    An eager JoinGroup says that nothing is left; a missing list of a cooperative client says nothing at all.
    """
    if profile.is_eager:
        return NO_PARTITIONS
    return held if profile.owned is None else held & profile.owned


def hold_ms(profile: Profile, tenure: Tenure | Vacant, limit_ms: int) -> int:
    """Give how long the answer may wait for partitions to become free (decision 11).

    Only a client that uses nothing meanwhile is held: an eager one, or a newcomer that claims nothing.
    """
    idle = profile.is_eager or (isinstance(tenure, Vacant) and not profile.owned)
    return min(limit_ms, profile.rebalance_timeout_ms // 2) if idle else 0


def park(
    event: JoinReceived, membership: Membership, tenure: Tenure | Vacant, using: Partitions, now_ms: int
) -> PreparingRebalance:
    """Park a JoinGroup; the coordinator is still to be asked (`put_question`)."""
    profile = membership.profile
    return PreparingRebalance(
        membership=membership,
        parked=parked(event),
        tenure=tenure,
        using=using,
        talk=Silent(),
        hold_until_ms=now_ms + hold_ms(profile, tenure, membership.seat.limits.eager_join_hold_max_ms),
        give_up_at_ms=now_ms + profile.rebalance_timeout_ms,
    )


def park_again(
    state: CompletingRebalance | Stable, event: JoinReceived, profile: Profile, held: Partitions, now_ms: int
) -> MemberStep:
    """Park the JoinGroup of a client that has a generation and may use `held`, and ask on its behalf."""
    membership = replace(state.membership, profile=profile)
    preparing = park(event, membership, state.tenure, still_using(profile, held), now_ms)
    is_resubscribing = profile.topics != state.membership.profile.topics
    return put_question(replace(preparing, is_resubscribing=is_resubscribing), state.talk)


def parked(event: JoinReceived) -> Parked:
    """Name the parked request; a v0-v3 newcomer can't find its way back to its seat (decision 11)."""
    request = event.request
    anonymous = not request.member_id and request.instance_id is None and not request.needs_member_id
    return Parked(event.ref, not anonymous, read_claim(request), event.former_session_ms)


def put_question(state: PreparingRebalance, talk: Talk, first: tuple[Effect, ...] = ()) -> MemberStep:
    """Do `first`, then ask on behalf of the parked join, as soon as the conversation (`talk`) allows."""
    following, effects = prompt(talk, inquire(state.membership, state.using, state.parked.claim))
    return Step(replace(state, talk=following), (*first, *effects))


# ------------------------------------------------------------------------------------------- absent
# A client of whom nothing is known: its first JoinGroup, and everything else that comes without one.


def client_while_absent(state: Absent, event: ClientEvent, now_ms: int) -> MemberStep:
    """React to a client that is no member."""
    match event:
        case JoinReceived():
            return _join(state, event, now_ms)
        case HeartbeatReceived() | SyncReceived():
            return Step(state, (refuse(event, ErrorCode.UNKNOWN_MEMBER_ID),))
        case LeaveReceived() | ConnectionLost():
            return Step(state)
        case _:
            assert_never(event)


def _join(state: Absent, event: JoinReceived, now_ms: int) -> MemberStep:
    request = event.request
    refusal = check_protocols(request)
    if refusal is not None:
        return Step(state, (refuse(event, refusal.code),))
    if request.needs_member_id and request.instance_id is None and not request.member_id:
        return Step(state, (refuse_join(event.ref, ErrorCode.MEMBER_ID_REQUIRED, event.fresh_id),))
    profile = read_profile(request)
    if isinstance(profile, Refusal):
        return Step(state, (refuse(event, profile.code),))
    if profile.owned:
        if any(protocol.name == COOPERATIVE for protocol in request.protocols):
            # Its seat is lost and it goes on processing what others may own by now: it drops everything first.
            return Step(state, (refuse(event, ErrorCode.UNKNOWN_MEMBER_ID),))
        # By joining under eager assignors alone it has dropped everything, and would say the same list again.
        profile = replace(profile, owned=frozenset(), is_eager=True)
    seat = Seat(
        group_id=request.group_id,
        member_id=request.member_id or event.fresh_id,
        instance_id=request.instance_id,
        limits=state.limits,
    )
    joining = park(event, Membership(seat=seat, profile=profile), Vacant(), NO_PARTITIONS, now_ms)
    return put_question(joining, Silent())
