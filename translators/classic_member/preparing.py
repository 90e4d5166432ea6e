"""A member whose JoinGroup is parked until the coordinator answered, and for a while until all it waits for is free."""

from dataclasses import replace
from typing import assert_never

from translators.classic_member.departing import fence, leave
from translators.classic_member.events import (
    Answered,
    ClientEvent,
    ConnectionLost,
    DeadlinePassed,
    Depart,
    HeartbeatReceived,
    JoinReceived,
    LeaveReceived,
    Replaced,
    SyncReceived,
    WorldEvent,
)
from translators.classic_member.joining import parked, put_question, still_using
from translators.classic_member.profile import read_profile
from translators.classic_member.states import (
    Absent,
    Called,
    CompletingRebalance,
    Membership,
    MemberStep,
    Overtaken,
    PreparingRebalance,
    Retrying,
    Scheduled,
    Silent,
    Stable,
)
from translators.classic_member.talking import accept_join, expect_question, learn, refuse, refuse_join, rest
from translators.classic_member.tenure import Tenure, Vacant, generation_of, hand_over, prune
from translators.dialects.coordinator import CoordinatorCalled, DepartReason, FencedByCoordinator, Granted, Refused
from translators.dialects.errors import ErrorCode, Refusal
from translators.machine import Step
from translators.reactions import REACTIONS, Fail, Fence, Rejoin, Retry


def client_while_preparing(state: PreparingRebalance, event: ClientEvent, now_ms: int) -> MemberStep:
    """React to the client of a member whose JoinGroup is parked."""
    match event:
        case JoinReceived():
            return _join_again(state, event)
        case HeartbeatReceived() | SyncReceived():
            return Step(state, (refuse(event, _judge(state, event.request.generation)),))
        case LeaveReceived():
            return _leave(state, DepartReason.LEFT, ErrorCode.UNKNOWN_MEMBER_ID, now_ms)
        case ConnectionLost() if event.ref == state.parked.ref and not state.parked.knows_its_id:
            return _leave(state, DepartReason.CONNECTION_LOST, ErrorCode.UNKNOWN_MEMBER_ID, now_ms)
        case ConnectionLost():
            return Step(state)
        case _:
            assert_never(event)


def world_while_preparing(state: PreparingRebalance, event: WorldEvent, now_ms: int) -> MemberStep:
    """React to the coordinator and the clock while JoinGroup is parked."""
    match event:
        case Answered():
            return _answered(state, event, now_ms)
        case CoordinatorCalled():
            return put_question(state, state.talk)
        case FencedByCoordinator(ErrorCode.FENCED_INSTANCE_ID):
            return _leave(state, DepartReason.REPLACED, ErrorCode.FENCED_INSTANCE_ID, now_ms)
        case FencedByCoordinator():
            return Step(state) if state.membership.epoch == 0 else _seat_lost(state, now_ms)
        case Replaced():
            return _leave(state, DepartReason.REPLACED, ErrorCode.FENCED_INSTANCE_ID, now_ms)
        case DeadlinePassed():
            return _deadline_passed(state, now_ms)
        case _:
            assert_never(event)


def preparing_deadline(state: PreparingRebalance) -> int:
    """Give the time at which something is due."""
    match state.talk:
        case Silent():
            return min(state.hold_until_ms, state.give_up_at_ms)
        case Scheduled(at_ms):
            return min(state.hold_until_ms, at_ms, state.give_up_at_ms)
        case Retrying(at_ms):
            return min(at_ms, state.give_up_at_ms)
        case _:
            return state.give_up_at_ms


def _judge(state: PreparingRebalance, generation: int) -> ErrorCode:
    stale = isinstance(state.tenure, Tenure) and generation != state.tenure.generation
    return ErrorCode.ILLEGAL_GENERATION if stale else ErrorCode.REBALANCE_IN_PROGRESS


def _join_again(state: PreparingRebalance, event: JoinReceived) -> MemberStep:
    """Let the newer JoinGroup take the hold over; the older is answered, so that nobody waits for nothing (K1.52)."""
    profile = read_profile(event.request, state.membership.profile.protocol_name)
    if isinstance(profile, Refusal):
        return Step(state, (refuse(event, profile.code),))
    superseded = refuse_join(state.parked.ref, ErrorCode.REBALANCE_IN_PROGRESS, state.membership.seat.member_id)
    newer = replace(
        state,
        membership=replace(state.membership, profile=profile),
        parked=parked(event),
        using=still_using(profile, state.using),
        is_resubscribing=state.is_resubscribing or profile.topics != state.membership.profile.topics,
    )
    return put_question(newer, state.talk, (superseded,))


def _answered(state: PreparingRebalance, event: Answered, now_ms: int) -> MemberStep:
    expect_question(state, state.talk, event)
    answer = event.answer
    if isinstance(state.talk, Overtaken):
        known = learn(state.membership, answer) if isinstance(answer, Granted) else state.membership
        return put_question(replace(state, membership=known), Silent())
    if isinstance(answer, Refused):
        return _refused(state, answer, now_ms)
    membership = learn(state.membership, answer)
    heard = replace(
        state,
        membership=membership,
        tenure=prune(state.tenure, membership.granted | state.using),
        talk=rest(answer, now_ms),
    )
    is_for_more = bool(membership.pending) or answer.is_to_come
    return Step(heard) if is_for_more and now_ms < heard.hold_until_ms else _complete(heard, now_ms)


def _complete(state: PreparingRebalance, now_ms: int) -> MemberStep:
    membership, profile = state.membership, state.membership.profile
    tenure = hand_over(state.tenure, membership.granted, state.using, is_resubscribing=state.is_resubscribing)
    completing = CompletingRebalance(
        membership=membership,
        tenure=tenure,
        using=state.using,
        talk=state.talk,
        session_deadline_ms=now_ms + max(profile.session_timeout_ms, state.parked.former_session_ms),
        sync_deadline_ms=now_ms + profile.rebalance_timeout_ms,
        is_shown=tenure.generation == generation_of(state.tenure),
    )
    return Step(completing, (accept_join(state.parked.ref, membership, tenure),))


def _refused(state: PreparingRebalance, answer: Refused, now_ms: int) -> MemberStep:
    if answer.code is ErrorCode.NOT_COORDINATOR and (state.membership.epoch == 0 or isinstance(state.tenure, Tenure)):
        return _send_elsewhere(state, now_ms)
    reaction = REACTIONS[answer.code]
    match reaction:
        case Retry() | Rejoin():
            return Step(replace(state, talk=Retrying(now_ms + state.membership.seat.limits.retry_ms)))
        case Fence():
            return _seat_lost(replace(state, talk=Silent()), now_ms)
        case Fail(code):
            return _failed(replace(state, talk=Silent()), code, now_ms)
        case _:
            assert_never(reaction)


def _send_elsewhere(state: PreparingRebalance, now_ms: int) -> MemberStep:
    """The client asked a broker that does not coordinate its group any more: it looks for the one that does, and joins
    there. Seat and generation stay.
    """
    membership, profile = state.membership, state.membership.profile
    reply = refuse_join(state.parked.ref, ErrorCode.NOT_COORDINATOR, membership.seat.member_id)
    tenure = prune(state.tenure, state.using)
    if isinstance(tenure, Vacant):
        return Step(Absent(membership.seat.limits), (reply, Depart(DepartReason.REFUSED)))
    called = Stable(
        membership=membership,
        tenure=tenure,
        call=Called(now_ms + profile.rebalance_timeout_ms),
        talk=Retrying(now_ms + membership.seat.limits.retry_ms),
        session_deadline_ms=now_ms + profile.session_timeout_ms,
    )
    return Step(called, (reply,))


def _seat_lost(state: PreparingRebalance, now_ms: int) -> MemberStep:
    """Join anew with a client that uses nothing; one that does must drop its partitions first, so it loses its id."""
    membership = state.membership
    if membership.epoch > 0 and not state.using:
        fresh = Membership(seat=membership.seat, profile=membership.profile)
        return put_question(replace(state, membership=fresh, tenure=Vacant(generation_of(state.tenure))), state.talk)
    return _leave(state, DepartReason.FENCED, ErrorCode.UNKNOWN_MEMBER_ID, now_ms)


def _failed(state: PreparingRebalance, code: ErrorCode, now_ms: int) -> MemberStep:
    membership = state.membership
    reply = refuse_join(state.parked.ref, code, membership.seat.member_id)
    if membership.epoch == 0:
        return Step(Absent(membership.seat.limits), (reply, Depart(DepartReason.REFUSED)))
    return Step(fence(membership, state.tenure, state.talk, code, now_ms), (reply,))


def _leave(state: PreparingRebalance, reason: DepartReason, code: ErrorCode, now_ms: int) -> MemberStep:
    seat = state.membership.seat
    return leave(seat, state.talk, reason, now_ms, (refuse_join(state.parked.ref, code, seat.member_id),))


def _deadline_passed(state: PreparingRebalance, now_ms: int) -> MemberStep:
    if now_ms >= state.give_up_at_ms:
        return _leave(state, DepartReason.UNANSWERED, ErrorCode.COORDINATOR_NOT_AVAILABLE, now_ms)
    match state.talk:
        case Silent() | Scheduled() if now_ms >= state.hold_until_ms:
            return _complete(state, now_ms)
        case Scheduled(at_ms) | Retrying(at_ms) if now_ms >= at_ms:
            return put_question(state, state.talk)
        case _:
            return Step(state)
