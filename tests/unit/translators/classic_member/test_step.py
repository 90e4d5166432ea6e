"""The machine as a whole: one member through its life, and its deadlines."""

from dataclasses import replace
from itertools import product

import pytest

from tests.support.classic_members import (
    FRESH,
    LIMITS,
    NOBODY,
    NOW,
    REBALANCE_MS,
    SESSION_MS,
    A,
    B,
    C,
    beat,
    beat_reply,
    completing,
    cooperative,
    farewell,
    fenced,
    granted,
    join_error,
    join_reply,
    joined,
    leaving,
    parts,
    preparing,
    stable,
    sync_reply,
    synced,
)
from translators.classic_member.events import (
    Answered,
    Ask,
    ConnectionLost,
    DeadlinePassed,
    Depart,
    Effect,
    Event,
    HeartbeatReceived,
    JoinReceived,
    LeaveReceived,
    Replaced,
    SyncReceived,
)
from translators.classic_member.states import (
    TRANSITIONS,
    Absent,
    Asked,
    CompletingRebalance,
    Fenced,
    Leaving,
    PreparingRebalance,
    Retrying,
    Silent,
    Stable,
    State,
)
from translators.classic_member.step import next_deadline, step
from translators.dialects.coordinator import CoordinatorCalled, DepartReason, FencedByCoordinator, Inquiry
from translators.dialects.errors import ErrorCode
from translators.machine import UnexpectedEvent

STATES = (Absent, PreparingRebalance, CompletingRebalance, Stable, Leaving, Fenced)
EVENTS = (
    JoinReceived,
    SyncReceived,
    HeartbeatReceived,
    LeaveReceived,
    ConnectionLost,
    Answered,
    CoordinatorCalled,
    FencedByCoordinator,
    Replaced,
    DeadlinePassed,
)


def live(state: State, *events: Event) -> tuple[State, tuple[Effect, ...]]:
    """Let events happen, all NOW; give the last state and all effects but questions."""
    done: list[Effect] = []
    for event in events:
        taken = step(state, event, NOW)
        state = taken.state
        done.extend(effect for effect in taken.effects if not isinstance(effect, Ask))
    return state, tuple(done)


def test_table_has_every_pair_but_one() -> None:
    """An absent member has asked nothing; everything else can happen."""
    assert set(TRANSITIONS) == set(product(STATES, EVENTS)) - {(Absent, Answered)}


def test_absent_answer_is_unexpected() -> None:
    """The one missing pair is a bug of the adapter."""
    with pytest.raises(UnexpectedEvent):
        step(Absent(LIMITS), granted(parts(A)), NOW)


def test_eager_member_lives_a_quiet_life() -> None:
    """Join, sync, heartbeat; one change: one call, one join, one sync; then it leaves."""
    state, done = live(
        Absent(LIMITS),
        joined(member_id=NOBODY),
        joined(),
        granted(parts(A, B)),
        synced(1),
        beat(1),
        CoordinatorCalled(),
        granted(parts(A, C)),
        beat(1),
        joined(),
        granted(parts(A, C), epoch=9),
        synced(2),
        beat(2),
        LeaveReceived(),
        granted(None),
    )
    assert (state, done) == (
        Absent(LIMITS),
        (
            join_error(ErrorCode.MEMBER_ID_REQUIRED, FRESH),
            join_reply(1),
            sync_reply(A, B),
            beat_reply(ErrorCode.NONE),
            beat_reply(ErrorCode.REBALANCE_IN_PROGRESS),
            join_reply(2),
            sync_reply(A, C),
            beat_reply(ErrorCode.NONE),
            Depart(DepartReason.LEFT),
        ),
    )


def test_cooperative_member_joins_twice_for_a_loss() -> None:
    """Called once; the follow-up of its own comes back in the same generation (decision 12)."""
    name = "cooperative-sticky"
    state, done = live(
        cooperative(stable(A, B)),
        CoordinatorCalled(),
        granted(parts(A)),
        beat(3),
        joined(name, owned=parts(A, B)),
        granted(parts(A)),
        synced(4),
        beat(4),
        joined(name, owned=parts(A)),
        granted(parts(A), epoch=9),
        synced(4),
        beat(4),
    )
    assert isinstance(state, Stable)
    assert done == (
        beat_reply(ErrorCode.REBALANCE_IN_PROGRESS),
        join_reply(4, name=name),
        sync_reply(A, name=name, version=1),
        beat_reply(ErrorCode.NONE),
        join_reply(4, name=name),
        sync_reply(A, name=name, version=1),
        beat_reply(ErrorCode.NONE),
    )


def test_growing_protocol_list_ends_well() -> None:
    """aiokafka joins once per assignor, one after the other (clients.md): same generation, same protocol."""
    _, done = live(
        Absent(LIMITS),
        joined("range"),
        granted(parts(A)),
        joined("range", "roundrobin"),
        granted(parts(A)),
        synced(1),
    )
    assert done == (join_reply(1), join_reply(1), sync_reply(A))


def test_eager_members_questions_let_go_at_the_join_and_not_before() -> None:
    """What it may use is reported as owned until its JoinGroup (decision 6)."""
    called = step(stable(A, B), CoordinatorCalled(), NOW)
    parked = step(stable(A, B), joined(), NOW)
    owned = [
        effect.inquiry.owned
        for effect in (*called.effects, *parked.effects)
        if isinstance(effect, Ask) and isinstance(effect.inquiry, Inquiry)
    ]
    assert owned == [parts(A, B), parts()]


@pytest.mark.parametrize(
    ("state", "deadline_ms"),
    [
        (Absent(LIMITS), None),
        (preparing(Asked()), NOW + REBALANCE_MS),
        (completing(A), NOW + SESSION_MS),
        (stable(A), NOW + SESSION_MS),
        (leaving(DepartReason.LEFT, Asked()), NOW + LIMITS.leave_wait_max_ms),
        (leaving(DepartReason.LEFT, Retrying(NOW + 3)), NOW + 3),
        (fenced(ErrorCode.ILLEGAL_GENERATION), NOW + SESSION_MS),
    ],
)
def test_every_state_names_its_deadline(state: State, deadline_ms: int | None) -> None:
    """The shell reads it and owns the only wait."""
    assert next_deadline(state) == deadline_ms


def test_deadlines_lead_out_by_themselves() -> None:
    """A member whose client and coordinator are both silent comes to an end."""
    state: State = replace(stable(A), talk=Silent())
    seen: list[Effect] = []
    while (due := next_deadline(state)) is not None:
        taken = step(state, DeadlinePassed(), due)
        state = taken.state
        seen.extend(taken.effects)
    assert seen == [farewell(DepartReason.SESSION_EXPIRED), Depart(DepartReason.SESSION_EXPIRED)]
