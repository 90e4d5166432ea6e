"""The member machine itself: one function that takes a step, and one that says when time alone will cause the next."""

from typing import assert_never

from translators.classic_member.completing import (
    client_while_completing,
    completing_deadline,
    world_while_completing,
)
from translators.classic_member.departing import (
    client_while_fenced,
    client_while_leaving,
    world_while_fenced,
    world_while_leaving,
)
from translators.classic_member.events import (
    ClientEvent,
    ConnectionLost,
    Event,
    HeartbeatReceived,
    JoinReceived,
    LeaveReceived,
    SyncReceived,
    WorldEvent,
)
from translators.classic_member.joining import client_while_absent
from translators.classic_member.preparing import client_while_preparing, preparing_deadline, world_while_preparing
from translators.classic_member.stable import client_while_stable, stable_deadline, world_while_stable
from translators.classic_member.states import (
    TRANSITIONS,
    Absent,
    CompletingRebalance,
    Fenced,
    Leaving,
    MemberStep,
    PreparingRebalance,
    Retrying,
    Stable,
    State,
)
from translators.machine import Step, checked_step


def next_deadline(state: State) -> int | None:
    """Give the time in ms at which `DeadlinePassed` is due, None for never."""
    match state:
        case Stable():
            return stable_deadline(state)
        case CompletingRebalance():
            return completing_deadline(state)
        case PreparingRebalance():
            return preparing_deadline(state)
        case Fenced():
            return state.session_deadline_ms
        case Leaving():
            return (
                min(state.talk.at_ms, state.give_up_at_ms) if isinstance(state.talk, Retrying) else state.give_up_at_ms
            )
        case Absent():
            return None
        case _:
            assert_never(state)


def _react(state: State, event: Event, now_ms: int) -> MemberStep:
    match event:
        case HeartbeatReceived() | JoinReceived() | SyncReceived() | LeaveReceived() | ConnectionLost():
            return _react_to_client(state, event, now_ms)
        case _:
            return _react_to_world(state, event, now_ms)


def _react_to_client(
    state: State,
    event: ClientEvent,
    now_ms: int,
) -> MemberStep:
    match state:
        case Stable():
            return client_while_stable(state, event, now_ms)
        case CompletingRebalance():
            return client_while_completing(state, event, now_ms)
        case PreparingRebalance():
            return client_while_preparing(state, event, now_ms)
        case Absent():
            return client_while_absent(state, event, now_ms)
        case Leaving():
            return client_while_leaving(state, event)
        case Fenced():
            return client_while_fenced(state, event, now_ms)
        case _:
            assert_never(state)


def _react_to_world(state: State, event: WorldEvent, now_ms: int) -> MemberStep:
    match state:
        case Stable():
            return world_while_stable(state, event, now_ms)
        case CompletingRebalance():
            return world_while_completing(state, event, now_ms)
        case PreparingRebalance():
            return world_while_preparing(state, event, now_ms)
        case Leaving():
            return world_while_leaving(state, event, now_ms)
        case Fenced():
            return world_while_fenced(state, event, now_ms)
        case Absent():
            return Step(state)
        case _:
            assert_never(state)


step = checked_step(TRANSITIONS, _react)
"""Let one event happen: raises UnexpectedEvent only for an answer to a question that was not asked."""
