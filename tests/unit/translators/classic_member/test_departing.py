"""Ways out of the group, and what a member on its way answers.

A member whose seat its coordinator gave away (decision 15).
"""

from dataclasses import replace

import pytest

from tests.support.classic_members import (
    FAREWELL,
    LIMITS,
    MEMBER,
    NOBODY,
    NOW,
    SEAT,
    SESSION_MS,
    A,
    beat,
    beat_reply,
    farewell,
    fenced,
    granted,
    inquiry,
    join_error,
    joined,
    leaving,
    membership,
    parts,
    preparing,
    ref,
    refused,
    stable,
    sync_error,
    synced,
    tenure,
)
from translators.classic_member.departing import (
    client_while_fenced,
    client_while_leaving,
    farewell_code,
    fence,
    fencing_code,
    judge_leave,
    leave,
    world_while_fenced,
    world_while_leaving,
)
from translators.classic_member.events import (
    ConnectionLost,
    DeadlinePassed,
    Depart,
    Effect,
    LeaveReceived,
    Replaced,
    WorldEvent,
)
from translators.classic_member.states import Absent, Asked, Overtaken, Retrying, Silent, State
from translators.classic_member.tenure import Vacant
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


STALE = ErrorCode.ILLEGAL_GENERATION
FENCED = fenced(STALE)


def test_fenced_client_hears_it_until_it_joins() -> None:
    """Never 27: the client would go on processing."""
    assert client_while_fenced(FENCED, beat(), NOW) == Step(FENCED, (beat_reply(STALE),))
    assert client_while_fenced(FENCED, synced(), NOW) == Step(FENCED, (sync_error(STALE),))
    assert client_while_fenced(FENCED, ConnectionLost(ref()), NOW) == Step(FENCED)


def test_fenced_client_joins_anew_with_the_same_id() -> None:
    """It comes back with epoch 0, and its old generations stay used up."""
    step = client_while_fenced(FENCED, joined(), NOW)
    assert step == Step(preparing(Asked(), Vacant(3), epoch=0), (inquiry(epoch=0),))


def test_fenced_client_that_still_owns_is_made_to_drop_it() -> None:
    """It has not heard of the fence; losing its id, it drops its partitions before it joins."""
    event = joined("cooperative-sticky", owned=parts(A))
    assert client_while_fenced(FENCED, event, NOW) == Step(FENCED, (join_error(ErrorCode.UNKNOWN_MEMBER_ID, NOBODY),))


def test_fenced_join_of_untranslatable_client_is_refused() -> None:
    """The protocol list is read before all else."""
    refused = join_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, NOBODY)
    assert client_while_fenced(FENCED, joined("faust"), NOW) == Step(FENCED, (refused,))


def test_fenced_join_waits_for_the_outstanding_answer() -> None:
    """An answer for the lost seat must not be taken for the new one: the client tries again."""
    state = fenced(STALE, Asked())
    assert client_while_fenced(state, joined(), NOW) == Step(state, (join_error(ErrorCode.REBALANCE_IN_PROGRESS),))
    assert world_while_fenced(state, granted(parts(A)), NOW) == Step(FENCED)


@pytest.mark.parametrize(
    "event", [CoordinatorCalled(), FencedByCoordinator(ErrorCode.UNKNOWN_MEMBER_ID), DeadlinePassed()]
)
def test_fenced_ignores_news(event: WorldEvent) -> None:
    """There is no seat that news could be about."""
    assert world_while_fenced(FENCED, event, NOW) == Step(FENCED)


def test_fenced_leaves_when_asked_replaced_or_silent() -> None:
    """The broker may still have the seat (K2.19), so it is told in every case."""
    expired = NOW + SESSION_MS
    out = leaving(DepartReason.FENCED, Asked())
    late = replace(out, give_up_at_ms=out.give_up_at_ms + SESSION_MS)
    assert world_while_fenced(FENCED, DeadlinePassed(), expired) == Step(late, (farewell(late.reason),))
    left = leaving(DepartReason.LEFT, Asked())
    assert client_while_fenced(FENCED, LeaveReceived(), NOW) == Step(left, (FAREWELL,))
    replaced = leaving(DepartReason.REPLACED, Asked())
    assert world_while_fenced(FENCED, Replaced(MEMBER), NOW) == Step(replaced, (farewell(replaced.reason),))
