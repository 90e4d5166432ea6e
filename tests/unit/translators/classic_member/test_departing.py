"""Ways out of the group, and what a member on its way answers."""

from dataclasses import replace

import pytest

from tests.support.classic_members import (
    FAREWELL,
    LIMITS,
    MEMBER,
    NOBODY,
    NOW,
    SEAT,
    A,
    beat,
    beat_reply,
    fenced,
    granted,
    join_error,
    joined,
    leaving,
    membership,
    parts,
    ref,
    refused,
    stable,
    sync_error,
    synced,
    tenure,
)
from translators.classic_member.departing import (
    client_while_leaving,
    farewell_code,
    fence,
    fencing_code,
    judge_leave,
    leave,
    world_while_leaving,
)
from translators.classic_member.effects import Depart, Effect
from translators.classic_member.events import ConnectionLost, DeadlinePassed, LeaveReceived, Replaced, WorldEvent
from translators.classic_member.states import Absent, Asked, Overtaken, Retrying, Silent, State
from translators.dialects.coordinator import CoordinatorCalled, DepartReason, FencedByCoordinator
from translators.dialects.errors import ErrorCode
from translators.machine import Step, UnexpectedEvent

LEFT = DepartReason.LEFT
GONE: Step[State, Effect] = Step(Absent(LIMITS), (Depart(LEFT),))


def test_leave_says_farewell_at_once_or_after_the_answer() -> None:
    """One question at a time also on the way out."""
    assert leave(SEAT, Silent(), LEFT, NOW) == Step(leaving(LEFT, Asked()), (FAREWELL,))
    assert leave(SEAT, Asked(), LEFT, NOW) == Step(leaving(LEFT, Overtaken()))


def test_fence_uses_generations_up() -> None:
    """The last generation stays known, so that it is never handed out again (decision 15)."""
    code = ErrorCode.ILLEGAL_GENERATION
    assert fence(membership(parts(A)), tenure(A), Silent(), code, NOW) == fenced(code)
    assert fence(membership(parts(A)), tenure(A), Overtaken(), code, NOW) == fenced(code, Asked())


def test_fencing_code_is_never_rebalance() -> None:
    """Whatever word the coordinator used, its client hears 22 or 25 (decision 15)."""
    assert fencing_code(ErrorCode.FENCED_MEMBER_EPOCH) is ErrorCode.ILLEGAL_GENERATION
    assert fencing_code(ErrorCode.UNKNOWN_MEMBER_ID) is ErrorCode.UNKNOWN_MEMBER_ID
    assert fencing_code(ErrorCode.STALE_MEMBER_EPOCH) is ErrorCode.ILLEGAL_GENERATION


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (DepartReason.REPLACED, ErrorCode.FENCED_INSTANCE_ID),
        (DepartReason.SESSION_EXPIRED, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_leaving_member_is_gone_for_its_client(reason: DepartReason, code: ErrorCode) -> None:
    """82 only for a real duplicate, 25 for every other way."""
    state = leaving(reason, Asked())
    told = NOBODY if code is ErrorCode.UNKNOWN_MEMBER_ID else MEMBER
    assert farewell_code(reason) is code
    assert client_while_leaving(state, beat()) == Step(state, (beat_reply(code),))
    assert client_while_leaving(state, synced()) == Step(state, (sync_error(code),))
    assert client_while_leaving(state, joined()) == Step(state, (join_error(code, told),))
    assert client_while_leaving(state, LeaveReceived()) == Step(state)
    assert client_while_leaving(state, ConnectionLost(ref())) == Step(state)


def test_leaving_departs_when_the_coordinator_knows() -> None:
    """Both a yes and "no such member" end it."""
    state = leaving(LEFT, Asked())
    assert world_while_leaving(state, granted(None), NOW) == GONE
    assert world_while_leaving(state, refused(ErrorCode.UNKNOWN_MEMBER_ID), NOW) == GONE


def test_leaving_says_farewell_after_an_outdated_answer() -> None:
    """The answer to what was asked before is not the answer to the farewell."""
    step = world_while_leaving(leaving(LEFT, Overtaken()), granted(parts(A)), NOW)
    assert step == Step(leaving(LEFT, Asked()), (FAREWELL,))


def test_leaving_tries_again_until_it_gives_up() -> None:
    """A coordinator that can't be reached is asked again, not for ever."""
    trying = leaving(LEFT, Retrying(NOW + LIMITS.retry_ms))
    asked = leaving(LEFT, Asked())
    assert world_while_leaving(asked, refused(ErrorCode.NOT_COORDINATOR), NOW) == Step(trying)
    assert world_while_leaving(trying, DeadlinePassed(), NOW) == Step(trying)
    assert world_while_leaving(trying, DeadlinePassed(), NOW + LIMITS.retry_ms) == Step(asked, (FAREWELL,))
    assert world_while_leaving(asked, DeadlinePassed(), NOW + LIMITS.leave_wait_max_ms) == GONE


@pytest.mark.parametrize(
    "event", [CoordinatorCalled(), FencedByCoordinator(ErrorCode.UNKNOWN_MEMBER_ID), Replaced(MEMBER)]
)
def test_leaving_ignores_news(event: WorldEvent) -> None:
    """Its fate is sealed."""
    state = leaving(LEFT, Asked())
    assert world_while_leaving(state, event, NOW) == Step(state)


def test_leaving_expects_no_second_answer() -> None:
    """One question, one answer."""
    with pytest.raises(UnexpectedEvent):
        world_while_leaving(leaving(LEFT, Retrying(NOW)), granted(None), NOW)


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (stable(A), ErrorCode.NONE),
        (fenced(ErrorCode.ILLEGAL_GENERATION), ErrorCode.NONE),
        (fenced(ErrorCode.UNKNOWN_MEMBER_ID), ErrorCode.UNKNOWN_MEMBER_ID),
        (leaving(LEFT, Asked()), ErrorCode.UNKNOWN_MEMBER_ID),
        (leaving(DepartReason.REPLACED, Asked()), ErrorCode.FENCED_INSTANCE_ID),
        (Absent(LIMITS), ErrorCode.UNKNOWN_MEMBER_ID),
        (replace(fenced(ErrorCode.GROUP_AUTHORIZATION_FAILED)), ErrorCode.NONE),
    ],
)
def test_leave_is_judged(state: State, code: ErrorCode) -> None:
    """Who is a member may leave, who is gone is told so (K1.59)."""
    assert judge_leave(state) is code
