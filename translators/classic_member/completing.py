"""A member that was told its generation and has yet to fetch its assignment."""

from dataclasses import replace
from typing import assert_never

from translators.classic_member.calling import first_call, review_call
from translators.classic_member.departing import fence, fencing_code, leave
from translators.classic_member.events import (
    Answered,
    ClientEvent,
    ConnectionLost,
    DeadlinePassed,
    HeartbeatReceived,
    JoinReceived,
    LeaveReceived,
    Replaced,
    SyncReceived,
    WorldEvent,
)
from translators.classic_member.joining import park_again
from translators.classic_member.profile import read_profile
from translators.classic_member.states import (
    CompletingRebalance,
    MemberStep,
    Overtaken,
    Retrying,
    Scheduled,
    Silent,
    Stable,
)
from translators.classic_member.talking import (
    accept_join,
    answer_heartbeat,
    expect_question,
    give_assignment,
    inquire,
    judge_sync,
    learn,
    prompt,
    refuse,
    refuse_sync,
    rest,
)
from translators.classic_member.tenure import amend, overtake, usable
from translators.dialects.coordinator import CoordinatorCalled, DepartReason, FencedByCoordinator, Refused
from translators.dialects.errors import ErrorCode, Refusal
from translators.machine import Step
from translators.reactions import REACTIONS, Fail, Fence, Rejoin, Retry


def client_while_completing(state: CompletingRebalance, event: ClientEvent, now_ms: int) -> MemberStep:
    """React to the client of a member that has its generation."""
    match event:
        case SyncReceived():
            return _sync(state, event, now_ms)
        case HeartbeatReceived():
            return _heartbeat(state, event, now_ms)
        case JoinReceived():
            return _join(state, event, now_ms)
        case LeaveReceived():
            return leave(state.membership.seat, state.talk, DepartReason.LEFT, now_ms)
        case ConnectionLost():
            return Step(state)
        case _:
            assert_never(event)


def world_while_completing(state: CompletingRebalance, event: WorldEvent, now_ms: int) -> MemberStep:
    """React to the coordinator and the clock before SyncGroup came."""
    match event:
        case Answered():
            return _answered(state, event, now_ms)
        case CoordinatorCalled():
            return _ask(state)
        case FencedByCoordinator(code):
            return Step(fence(state.membership, state.tenure, state.talk, fencing_code(code), now_ms))
        case Replaced():
            return leave(state.membership.seat, state.talk, DepartReason.REPLACED, now_ms)
        case DeadlinePassed():
            return _deadline_passed(state, now_ms)
        case _:
            assert_never(event)


def completing_deadline(state: CompletingRebalance) -> int:
    """Give the time at which something is due."""
    earliest = min(state.session_deadline_ms, state.sync_deadline_ms)
    return min(earliest, state.talk.at_ms) if isinstance(state.talk, (Scheduled, Retrying)) else earliest


def _sync(state: CompletingRebalance, event: SyncReceived, now_ms: int) -> MemberStep:
    membership, tenure = state.membership, state.tenure
    if _is_overtaken(state, event.request.generation):
        return Step(_alive(state, now_ms), (refuse_sync(event.ref, ErrorCode.REBALANCE_IN_PROGRESS),))
    code = judge_sync(event.request, membership, tenure.generation)
    if code is not ErrorCode.NONE:
        return Step(state, (refuse_sync(event.ref, code),))
    call = review_call(first_call(tenure, membership.seat.limits, now_ms), membership, tenure, None, now_ms)
    stable = Stable(
        membership=membership,
        tenure=tenure,
        call=call,
        talk=state.talk,
        session_deadline_ms=now_ms + membership.profile.session_timeout_ms,
    )
    return Step(stable, (give_assignment(event.ref, membership, tenure),))


def _heartbeat(state: CompletingRebalance, event: HeartbeatReceived, now_ms: int) -> MemberStep:
    if _is_overtaken(state, event.request.generation):
        return Step(_alive(state, now_ms), (answer_heartbeat(event.ref, ErrorCode.REBALANCE_IN_PROGRESS),))
    if event.request.generation != state.tenure.generation:
        return Step(state, (answer_heartbeat(event.ref, ErrorCode.ILLEGAL_GENERATION),))
    return Step(_alive(state, now_ms), (answer_heartbeat(event.ref, ErrorCode.NONE),))


def _is_overtaken(state: CompletingRebalance, generation: int) -> bool:
    """Tell whether this is the generation that the client was told last, and something was taken from it since.

    A broker calls its members to join again with the same code while they fetch their assignments (K1.50).
    """
    return state.is_overtaken and generation == state.tenure.generation - 1


def _alive(state: CompletingRebalance, now_ms: int) -> CompletingRebalance:
    """The same member with a whole session before it."""
    return replace(state, session_deadline_ms=now_ms + state.membership.profile.session_timeout_ms)


def _join(state: CompletingRebalance, event: JoinReceived, now_ms: int) -> MemberStep:
    profile = read_profile(event.request, state.membership.profile.protocol_name)
    if isinstance(profile, Refusal):
        return Step(state, (refuse(event, profile.code),))
    if profile.protocols != state.membership.profile.protocols:
        return park_again(state, event, profile, state.using, now_ms)
    membership = replace(state.membership, profile=profile)
    again = replace(
        state,
        membership=membership,
        session_deadline_ms=now_ms + profile.session_timeout_ms,
        sync_deadline_ms=now_ms + profile.rebalance_timeout_ms,
        is_overtaken=False,
    )
    return Step(again, (accept_join(event.ref, membership, state.tenure),))


def _ask(state: CompletingRebalance) -> MemberStep:
    talk, effects = prompt(state.talk, inquire(state.membership, usable(state.tenure)))
    return Step(replace(state, talk=talk), effects)


def _answered(state: CompletingRebalance, event: Answered, now_ms: int) -> MemberStep:
    expect_question(state, state.talk, event)
    answer = event.answer
    if isinstance(answer, Refused):
        return _refused(state, answer, now_ms)
    membership = learn(state.membership, answer)
    takes = state.is_shown and not state.tenure.handed <= membership.granted
    tenure = (overtake if takes else amend)(state.tenure, membership.granted, state.using)
    heard = replace(
        state,
        membership=membership,
        tenure=tenure,
        talk=rest(answer, now_ms),
        is_shown=state.is_shown and not takes,
        is_overtaken=state.is_overtaken or takes,
    )
    # What was promised but never used is let go by saying so.
    gave_up = not state.tenure.since.keys() <= tenure.since.keys()
    return _ask(heard) if gave_up or isinstance(state.talk, Overtaken) else Step(heard)


def _refused(state: CompletingRebalance, answer: Refused, now_ms: int) -> MemberStep:
    reaction = REACTIONS[answer.code]
    match reaction:
        case Retry() | Rejoin():
            return Step(replace(state, talk=Retrying(now_ms + state.membership.seat.limits.retry_ms)))
        case Fence(code) | Fail(code):
            return Step(fence(state.membership, state.tenure, Silent(), code, now_ms))
        case _:
            assert_never(reaction)


def _deadline_passed(state: CompletingRebalance, now_ms: int) -> MemberStep:
    seat = state.membership.seat
    if now_ms >= state.sync_deadline_ms:
        return leave(seat, state.talk, DepartReason.SYNC_EXPIRED, now_ms)
    if now_ms >= state.session_deadline_ms:
        return leave(seat, state.talk, DepartReason.SESSION_EXPIRED, now_ms)
    if isinstance(state.talk, (Scheduled, Retrying)) and now_ms >= state.talk.at_ms:
        return _ask(state)
    return Step(state)
