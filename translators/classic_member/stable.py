"""A member that works with its assignment, and hears of a change only if its own assignment changes."""

from dataclasses import replace
from typing import assert_never

from translators.classic_member.calling import expire_call, review_call
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
    Reply,
    SyncReceived,
    WorldEvent,
)
from translators.classic_member.joining import park_again
from translators.classic_member.profile import read_profile
from translators.classic_member.states import (
    Asked,
    Call,
    CallDue,
    Called,
    GainAwaited,
    Membership,
    MemberStep,
    NotCalled,
    Overtaken,
    ReleaseAwaited,
    Retrying,
    Scheduled,
    Silent,
    Stable,
    State,
    Talk,
)
from translators.classic_member.talking import (
    HEARTBEAT_REPLIES,
    answer_heartbeat,
    expect_question,
    give_assignment,
    inquire,
    inquiry_of,
    judge_sync,
    learn,
    prompt,
    refuse,
    refuse_sync,
    rest,
)
from translators.classic_member.tenure import usable
from translators.dialects.coordinator import (
    CoordinatorCalled,
    DepartReason,
    FencedByCoordinator,
    Granted,
    Inquiry,
    Refused,
)
from translators.dialects.errors import ErrorCode, Refusal
from translators.machine import Step
from translators.reactions import REACTIONS, Fail, Fence, Rejoin, Retry

_CALM = HEARTBEAT_REPLIES[ErrorCode.NONE]
_CALLED = HEARTBEAT_REPLIES[ErrorCode.REBALANCE_IN_PROGRESS]
_ASKED = Asked()


def client_while_stable(state: Stable, event: ClientEvent, now_ms: int) -> MemberStep:
    """React to the client of a member that works."""
    match event:
        case HeartbeatReceived():
            return _heartbeat(state, event, now_ms)
        case JoinReceived():
            return _join(state, event, now_ms)
        case SyncReceived():
            return _sync(state, event, now_ms)
        case LeaveReceived():
            return leave(state.membership.seat, state.talk, DepartReason.LEFT, now_ms)
        case ConnectionLost():
            return Step(state)
        case _:
            assert_never(event)


def world_while_stable(state: Stable, event: WorldEvent, now_ms: int) -> MemberStep:
    """React to the coordinator and the clock while the client works."""
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


def beat_calmly(state: State, generation: int, now_ms: int) -> Stable | None:
    """Give what a heartbeat makes of a member if its answer is NONE and nothing but its session goes on.

    For any other heartbeat None: it has to be stepped. Its client must be the member (`identity.identify_request`).
    """
    if not isinstance(state, Stable) or state.tenure.generation != generation:
        return None
    return None if isinstance(state.call, (CallDue, Called)) else _alive(state, state.call, now_ms)


def ask_calmly(state: State, now_ms: int) -> Stable | None:
    """Give what the clock makes of a member that its coordinator wants to hear of now, if nothing else is due; its only
    effect is to ask what `report` gives.

    For any other None: it has to be stepped.
    """
    if not isinstance(state, Stable) or not isinstance(state.call, NotCalled):
        return None
    talk = state.talk
    if not isinstance(talk, Scheduled) or not talk.at_ms <= now_ms < state.session_deadline_ms:
        return None
    return _talking(state, state.membership, state.call, _ASKED)


def report(state: Stable) -> Inquiry:
    """Give what such a member asks: the same as long as neither its membership nor its tenure is another."""
    return inquiry_of(state.membership, usable(state.tenure))


def hear_calmly(state: State, answer: Granted, now_ms: int) -> Stable | None:
    """Give what an answer makes of a member if it tells nothing new, so that nobody is to do anything but ask later.

    For any other None: it has to be stepped.
    """
    if not isinstance(state, Stable) or not isinstance(state.talk, Asked) or not isinstance(state.call, NotCalled):
        return None
    membership, handed = state.membership, state.tenure.handed
    is_news = (
        answer.assigned is not None
        or answer.member_epoch != membership.epoch
        or answer.pending != membership.pending
        # A client that has not been handed all of it waits for a call.
        or (membership.granted is not handed and membership.granted != handed)
    )
    return None if is_news else _talking(state, membership, state.call, rest(answer, now_ms))


def stable_deadline(state: Stable) -> int:
    """Give the time at which something is due."""
    earliest = state.session_deadline_ms
    call, talk = state.call, state.talk
    if isinstance(talk, (Scheduled, Retrying)) and talk.at_ms < earliest:
        earliest = talk.at_ms
    if isinstance(call, NotCalled):
        return earliest
    if isinstance(call, (GainAwaited, ReleaseAwaited)):
        return min(earliest, call.call_at_ms)
    return min(earliest, call.rejoin_deadline_ms) if isinstance(call, Called) else earliest


def _heartbeat(state: Stable, event: HeartbeatReceived, now_ms: int) -> MemberStep:
    if event.request.generation != state.tenure.generation:
        return Step(state, (answer_heartbeat(event.ref, ErrorCode.ILLEGAL_GENERATION),))
    call, message = state.call, _CALM
    if isinstance(call, CallDue):
        call, message = Called(now_ms + state.membership.profile.rebalance_timeout_ms), _CALLED
    elif isinstance(call, Called):
        message = _CALLED
    return Step(_alive(state, call, now_ms), (Reply(event.ref, message),))


def _alive(state: Stable, call: Call, now_ms: int) -> Stable:
    """The same member with a whole session before it."""
    return Stable(
        membership=state.membership,
        tenure=state.tenure,
        call=call,
        talk=state.talk,
        session_deadline_ms=now_ms + state.membership.profile.session_timeout_ms,
    )


def _join(state: Stable, event: JoinReceived, now_ms: int) -> MemberStep:
    profile = read_profile(event.request, state.membership.profile.protocol_name)
    if isinstance(profile, Refusal):
        return Step(state, (refuse(event, profile.code),))
    return park_again(state, event, profile, usable(state.tenure), now_ms)


def _sync(state: Stable, event: SyncReceived, now_ms: int) -> MemberStep:
    membership = state.membership
    code = judge_sync(event.request, membership, state.tenure.generation)
    if code is not ErrorCode.NONE:
        return Step(state, (refuse_sync(event.ref, code),))
    alive = replace(state, session_deadline_ms=now_ms + membership.profile.session_timeout_ms)
    return Step(alive, (give_assignment(event.ref, membership, state.tenure),))


def _ask(state: Stable) -> MemberStep:
    talk, effects = prompt(state.talk, inquire(state.membership, usable(state.tenure)))
    return Step(_talking(state, state.membership, state.call, talk), effects)


def _talking(state: Stable, membership: Membership, call: Call, talk: Talk) -> Stable:
    """The same member at another point of its conversation; made without `replace`, as this happens all the time."""
    return Stable(
        membership=membership,
        tenure=state.tenure,
        call=call,
        talk=talk,
        session_deadline_ms=state.session_deadline_ms,
    )


def _answered(state: Stable, event: Answered, now_ms: int) -> MemberStep:
    expect_question(state, state.talk, event)
    answer = event.answer
    if isinstance(answer, Refused):
        return _refused(state, answer, now_ms)
    membership = learn(state.membership, answer)
    has_gained = not membership.granted <= state.membership.granted
    interval = answer.heartbeat_interval_ms or membership.seat.limits.settle_ms
    call = review_call(state.call, membership, state.tenure, interval if has_gained else None, now_ms)
    heard = _talking(state, membership, call, rest(answer, now_ms))
    return _ask(heard) if isinstance(state.talk, Overtaken) else Step(heard)


def _refused(state: Stable, answer: Refused, now_ms: int) -> MemberStep:
    reaction = REACTIONS[answer.code]
    match reaction:
        case Retry() | Rejoin():
            call = CallDue() if isinstance(reaction, Rejoin) and not isinstance(state.call, Called) else state.call
            retry_at_ms = now_ms + state.membership.seat.limits.retry_ms
            return Step(replace(state, call=call, talk=Retrying(retry_at_ms)))
        case Fence(code) | Fail(code):
            return Step(fence(state.membership, state.tenure, Silent(), code, now_ms))
        case _:
            assert_never(reaction)


def _deadline_passed(state: Stable, now_ms: int) -> MemberStep:
    seat, call = state.membership.seat, state.call
    if now_ms >= state.session_deadline_ms:
        return leave(seat, state.talk, DepartReason.SESSION_EXPIRED, now_ms)
    if isinstance(call, Called) and now_ms >= call.rejoin_deadline_ms:
        return leave(seat, state.talk, DepartReason.REJOIN_EXPIRED, now_ms)
    expired = expire_call(call, now_ms)
    timely = state if expired is call else _talking(state, state.membership, expired, state.talk)
    if isinstance(state.talk, (Scheduled, Retrying)) and now_ms >= state.talk.at_ms:
        return _ask(timely)
    return Step(timely)
