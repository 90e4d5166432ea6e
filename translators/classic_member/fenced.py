"""A member whose seat its coordinator gave away: its client must hear so until it joins again."""

from typing import assert_never

from translators.classic_member.departing import leave
from translators.classic_member.effects import Effect
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
from translators.classic_member.joining import park, put_question
from translators.classic_member.profile import read_profile
from translators.classic_member.replies import refuse
from translators.classic_member.states import Asked, Fenced, Membership, Silent, State, Talk
from translators.classic_member.talking import expect_question
from translators.classic_member.tenure import NO_PARTITIONS
from translators.dialects.coordinator import CoordinatorCalled, DepartReason, FencedByCoordinator
from translators.dialects.errors import ErrorCode, Refusal
from translators.machine import Step

MemberStep = Step[State, Effect]


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
            return Step(_with_talk(state, Silent()))
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


def _with_talk(state: Fenced, talk: Talk) -> Fenced:
    return Fenced(
        seat=state.seat,
        code=state.code,
        tenure=state.tenure,
        talk=talk,
        session_deadline_ms=state.session_deadline_ms,
    )
