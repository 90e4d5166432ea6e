"""A member whose seat its coordinator gave away (decision 15)."""

from dataclasses import replace

import pytest

from tests.support.classic_members import (
    FAREWELL,
    MEMBER,
    NOBODY,
    NOW,
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
    parts,
    preparing,
    ref,
    sync_error,
    synced,
)
from translators.classic_member.events import ConnectionLost, DeadlinePassed, LeaveReceived, Replaced, WorldEvent
from translators.classic_member.fenced import client_while_fenced, world_while_fenced
from translators.classic_member.states import Asked
from translators.classic_member.tenure import Vacant
from translators.dialects.coordinator import CoordinatorCalled, DepartReason, FencedByCoordinator
from translators.dialects.errors import ErrorCode
from translators.machine import Step

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
