"""Ways out: a member that leaves, one that its coordinator dropped or fenced, and what each answers from then on."""

from typing import assert_never

from translators.classic_member.events import (
    Answered,
    ClientEvent,
    ConnectionLost,
    DeadlinePassed,
    Depart,
    Effect,
    HeartbeatReceived,
    JoinReceived,
    LeaveReceived,
    Replaced,
    SyncReceived,
    WorldEvent,
)
from translators.classic_member.joining import park, put_question
from translators.classic_member.profile import read_profile
from translators.classic_member.states import (
    Absent,
    Asked,
    CompletingRebalance,
    Fenced,
    Leaving,
    Membership,
    MemberStep,
    Overtaken,
    PreparingRebalance,
    Retrying,
    Seat,
    Silent,
    Stable,
    State,
    Talk,
)
from translators.classic_member.talking import expect_question, prompt, refuse, say_farewell
from translators.classic_member.tenure import NO_PARTITIONS, Tenure, Vacant, generation_of
from translators.dialects.coordinator import CoordinatorCalled, DepartReason, FencedByCoordinator, Granted
from translators.dialects.errors import ErrorCode, Refusal
from translators.machine import Step
from translators.reactions import REACTIONS, Fail, Fence, Retry

# ---------------------------------------------------------------------------------------- departing
# Ways out: a member that leaves, one that its coordinator dropped, and what both answer from then on.


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


def waits_for_farewell(state: State | None) -> bool:
    """Whether a member is leaving and its coordinator, as far as it can be reached, has not said a word to that."""
    return isinstance(state, Leaving) and not isinstance(state.talk, Retrying)


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
        return Step(_with_talk_on_leaving(state, Asked()), (say_farewell(state.seat, state.reason),))
    if isinstance(event.answer, Granted) or not isinstance(REACTIONS[event.answer.code], Retry):
        return _gone(state)
    return Step(_with_talk_on_leaving(state, Retrying(now_ms + state.seat.limits.retry_ms)))


def _still_leaving(state: Leaving, now_ms: int) -> MemberStep:
    if now_ms >= state.give_up_at_ms:
        return _gone(state)
    if isinstance(state.talk, Retrying) and now_ms >= state.talk.at_ms:
        return Step(_with_talk_on_leaving(state, Asked()), (say_farewell(state.seat, state.reason),))
    return Step(state)


def _gone(state: Leaving) -> MemberStep:
    return Step(Absent(state.seat.limits), (Depart(state.reason),))


def _with_talk_on_leaving(state: Leaving, talk: Talk) -> Leaving:
    return Leaving(seat=state.seat, reason=state.reason, talk=talk, give_up_at_ms=state.give_up_at_ms)


# ------------------------------------------------------------------------------------------- fenced
# A member whose seat its coordinator gave away: its client must hear so until it joins again.


def client_while_fenced(state: Fenced, event: ClientEvent, now_ms: int) -> MemberStep:
    """React to the client of a fenced member."""
    match event:
        case JoinReceived():
            return _join(state, event, now_ms)
        case HeartbeatReceived() | SyncReceived():
            return Step(state, (refuse(event, state.code),))
        case LeaveReceived():
            return leave(state.seat, state.talk, DepartReason.LEFT, now_ms)
        case ConnectionLost():
            return Step(state)
        case _:
            assert_never(event)


def world_while_fenced(state: Fenced, event: WorldEvent, now_ms: int) -> MemberStep:
    """React to the coordinator and the clock while fenced; an answer that still comes belongs to the lost seat."""
    match event:
        case Answered():
            expect_question(state, state.talk, event)
            return Step(_with_talk_while_fenced(state, Silent()))
        case Replaced():
            return leave(state.seat, state.talk, DepartReason.REPLACED, now_ms)
        case DeadlinePassed() if now_ms >= state.session_deadline_ms:
            return leave(state.seat, state.talk, DepartReason.FENCED, now_ms)
        case DeadlinePassed() | CoordinatorCalled() | FencedByCoordinator():
            return Step(state)
        case _:
            assert_never(event)


def _join(state: Fenced, event: JoinReceived, now_ms: int) -> MemberStep:
    profile = read_profile(event.request)
    if isinstance(profile, Refusal):
        return Step(state, (refuse(event, profile.code),))
    if profile.owned:
        # It has not heard of the fence and goes on processing: without its id it drops everything first.
        return Step(state, (refuse(event, ErrorCode.UNKNOWN_MEMBER_ID),))
    if isinstance(state.talk, Asked):
        return Step(state, (refuse(event, ErrorCode.REBALANCE_IN_PROGRESS),))
    joining = park(event, Membership(seat=state.seat, profile=profile), state.tenure, NO_PARTITIONS, now_ms)
    return put_question(joining, Silent())


def _with_talk_while_fenced(state: Fenced, talk: Talk) -> Fenced:
    return Fenced(
        seat=state.seat,
        code=state.code,
        tenure=state.tenure,
        talk=talk,
        session_deadline_ms=state.session_deadline_ms,
    )
