"""Ways out: a member that leaves, one that its coordinator dropped, and what both answer from then on."""

from typing import assert_never

from translators.classic_member.effects import Depart, Effect
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
from translators.classic_member.replies import refuse
from translators.classic_member.states import (
    Absent,
    Asked,
    CompletingRebalance,
    Fenced,
    Leaving,
    Membership,
    Overtaken,
    PreparingRebalance,
    Retrying,
    Seat,
    Silent,
    Stable,
    State,
    Talk,
)
from translators.classic_member.talking import expect_question, prompt, say_farewell
from translators.classic_member.tenure import Tenure, Vacant, generation_of
from translators.dialects.coordinator import CoordinatorCalled, DepartReason, FencedByCoordinator, Granted
from translators.dialects.errors import ErrorCode
from translators.machine import Step
from translators.reactions import REACTIONS, Fail, Fence, Retry

MemberStep = Step[State, Effect]


def leave(seat: Seat, talk: Talk, reason: DepartReason, now_ms: int, first: tuple[Effect, ...] = ()) -> MemberStep:
    """Give the seat up: do `first`, then tell the coordinator."""
    following, effects = prompt(talk, say_farewell(seat, reason))
    give_up_at_ms = now_ms + seat.limits.leave_wait_max_ms
    return Step(Leaving(seat=seat, reason=reason, talk=following, give_up_at_ms=give_up_at_ms), (*first, *effects))


def fence(membership: Membership, tenure: Tenure | Vacant, talk: Talk, code: ErrorCode, now_ms: int) -> Fenced:
    """Accept that the seat is lost: the generations told so far are used up (decision 15)."""
    return Fenced(
        seat=membership.seat,
        code=code,
        tenure=Vacant(generation_of(tenure)),
        talk=Asked() if isinstance(talk, (Asked, Overtaken)) else Silent(),
        session_deadline_ms=now_ms + membership.profile.session_timeout_ms,
    )


def fencing_code(code: ErrorCode) -> ErrorCode:
    """Translate the word with which a coordinator dropped a member unasked."""
    reaction = REACTIONS[code]
    return reaction.code if isinstance(reaction, (Fence, Fail)) else ErrorCode.ILLEGAL_GENERATION


def farewell_code(reason: DepartReason) -> ErrorCode:
    """Give what a client hears from a member that is leaving."""
    return ErrorCode.FENCED_INSTANCE_ID if reason is DepartReason.REPLACED else ErrorCode.UNKNOWN_MEMBER_ID


def judge_leave(state: State) -> ErrorCode:
    """Give the error of this member's entry in a LeaveGroupReply, asked before `LeaveReceived` is sent (K1.59,
    K4.40).
    """
    match state:
        case Absent():
            return ErrorCode.UNKNOWN_MEMBER_ID
        case Leaving():
            return farewell_code(state.reason)
        case Fenced() if state.code in {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID}:
            return state.code
        case Fenced() | PreparingRebalance() | CompletingRebalance() | Stable():
            return ErrorCode.NONE
        case _:
            assert_never(state)


def client_while_leaving(state: Leaving, event: ClientEvent) -> MemberStep:
    """React to the client of a member that is leaving: it is gone, whatever it says."""
    match event:
        case HeartbeatReceived() | SyncReceived() | JoinReceived():
            return Step(state, (refuse(event, farewell_code(state.reason)),))
        case LeaveReceived() | ConnectionLost():
            return Step(state)
        case _:
            assert_never(event)


def world_while_leaving(state: Leaving, event: WorldEvent, now_ms: int) -> MemberStep:
    """React to the coordinator and the clock while leaving."""
    match event:
        case Answered():
            return _farewell_answered(state, event, now_ms)
        case DeadlinePassed():
            return _still_leaving(state, now_ms)
        case CoordinatorCalled() | FencedByCoordinator() | Replaced():
            return Step(state)
        case _:
            assert_never(event)


def _farewell_answered(state: Leaving, event: Answered, now_ms: int) -> MemberStep:
    expect_question(state, state.talk, event)
    if isinstance(state.talk, Overtaken):
        return Step(_with_talk(state, Asked()), (say_farewell(state.seat, state.reason),))
    if isinstance(event.answer, Granted) or not isinstance(REACTIONS[event.answer.code], Retry):
        return _gone(state)
    return Step(_with_talk(state, Retrying(now_ms + state.seat.limits.retry_ms)))


def _still_leaving(state: Leaving, now_ms: int) -> MemberStep:
    if now_ms >= state.give_up_at_ms:
        return _gone(state)
    if isinstance(state.talk, Retrying) and now_ms >= state.talk.at_ms:
        return Step(_with_talk(state, Asked()), (say_farewell(state.seat, state.reason),))
    return Step(state)


def _gone(state: Leaving) -> MemberStep:
    return Step(Absent(state.seat.limits), (Depart(state.reason),))


def _with_talk(state: Leaving, talk: Talk) -> Leaving:
    return Leaving(seat=state.seat, reason=state.reason, talk=talk, give_up_at_ms=state.give_up_at_ms)
