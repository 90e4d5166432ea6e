"""The table of this move, and its course."""

from typing import get_args

import pytest

from bridge.migration.moves.adopt import (
    TRANSITIONS,
    Adopted,
    AdoptEvent,
    AdoptState,
    GivenUp,
    GiveUp,
    LeaveSeats,
    LeavingRefused,
    LeavingSeats,
    LeavingUnanswered,
    SeatsLeft,
    TakeIn,
    TakenIn,
    begin,
    resume,
    step,
)
from bridge.migration.moves.rest import Compare, Compared, Gather, Gathered, Kept, Prove, Proved
from bridge.migration.orders import Obstacle
from translators.machine import UnexpectedEvent

WHY = Obstacle("EB-MOVE-000", "something was seen", "do something")
ASKS = (Gather(), Prove(), Compare(), TakeIn(), LeaveSeats())
HEARD: tuple[AdoptEvent, ...] = (Gathered(), Proved(), Compared(), TakenIn(), SeatsLeft())


def test_table_names_every_state_and_event() -> None:
    """Nothing follows the two ends."""
    assert {event for _, event in TRANSITIONS} == set(get_args(AdoptEvent))
    assert {state for state, _ in TRANSITIONS} == set(get_args(AdoptState)) - {Adopted, Kept}


def test_everything_is_proved_before_anything_changes() -> None:
    """One thing is asked after the other; the seats are left when the journal has the group."""
    taken = begin()
    for asked, heard in zip(ASKS, HEARD, strict=True):
        assert taken.effects == (asked,)
        taken = step(taken.state, heard, 0)
    assert (taken.state, taken.effects) == (Adopted(), ())


@pytest.mark.parametrize("place", range(4))
def test_obstacle_before_the_end_leaves_the_group_where_it_is(place: int) -> None:
    """Nothing was asked that would have to be undone."""
    taken = begin()
    for heard in HEARD[:place]:
        taken = step(taken.state, heard, 0)
    kind = type(HEARD[place])
    assert issubclass(kind, Gathered | Proved | Compared | TakenIn)
    taken = step(taken.state, kind(WHY), 0)
    assert (taken.state, taken.effects) == (Kept(WHY), ())


def test_unanswered_farewell_is_said_again() -> None:
    """Whether it was heard or not: who has left can't leave twice."""
    taken = step(LeavingSeats(2), LeavingUnanswered(), 1)
    assert (taken.state, taken.effects) == (LeavingSeats(2), (LeaveSeats(),))


def test_farewell_that_is_never_answered_gives_the_group_back() -> None:
    """Whom the broker has let go joins anew; nobody waits for ever, and nobody is coordinated twice."""
    taken = step(LeavingSeats(2), LeavingUnanswered(), 2)
    assert taken.effects == (GiveUp(),)
    kept = step(taken.state, GivenUp(), 2).state
    assert isinstance(kept, Kept)
    assert kept.reason.code == "EB-MOVE-250"


def test_refused_farewell_undoes_the_intake() -> None:
    """Two coordinators would own everything twice."""
    taken = step(LeavingSeats(1), LeavingRefused(WHY), 0)
    assert taken.effects == (GiveUp(),)
    assert step(taken.state, GivenUp(), 0).state == Kept(WHY)


def test_restart_goes_by_the_journal() -> None:
    """What was taken in is the bridge's, and its seats go; anything else is the broker's."""
    assert resume(0, was_taken_in=True).effects == (LeaveSeats(),)
    assert isinstance(resume(0, was_taken_in=False).state, Kept)


def test_unasked_event_is_a_bug() -> None:
    """It would move the group under everybody's feet."""
    with pytest.raises(UnexpectedEvent):
        step(begin().state, SeatsLeft(), 0)
