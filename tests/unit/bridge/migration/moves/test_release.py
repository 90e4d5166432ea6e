"""The table of this move, and its course."""

from typing import get_args

import pytest

from bridge.migration.moves.release import (
    TRANSITIONS,
    AwaitingLapse,
    AwaitLapse,
    AwaitRest,
    CameToRest,
    FirstSeatTaken,
    HandedOver,
    HandOver,
    Kept,
    Lapsed,
    PlayAll,
    Released,
    ReleaseEvent,
    ReleaseState,
    RoundEnded,
    TakeFirstSeat,
    Withdraw,
    WithdrawalUnanswered,
    Withdrawing,
    Withdrawn,
    begin,
    resume,
    step,
)
from bridge.migration.orders import Obstacle
from translators.machine import UnexpectedEvent

WHY = Obstacle("EB-MOVE-000", "something was seen", "do something")
ASKS = (AwaitRest(holds_all=False), TakeFirstSeat(), AwaitRest(holds_all=True), PlayAll(), HandOver())
HEARD: tuple[ReleaseEvent, ...] = (CameToRest(), FirstSeatTaken(), CameToRest(), RoundEnded(), HandedOver())


def test_table_names_every_state_and_event() -> None:
    """Nothing follows the two ends."""
    assert {event for _, event in TRANSITIONS} == set(get_args(ReleaseEvent))
    assert {state for state, _ in TRANSITIONS} == set(get_args(ReleaseState)) - {Released, Kept}


def test_everybody_is_seated_before_the_engine_forgets() -> None:
    """One thing is asked after the other."""
    taken = begin()
    for asked, heard in zip(ASKS, HEARD, strict=True):
        assert taken.effects == (asked,)
        taken = step(taken.state, heard, 0)
    assert (taken.state, taken.effects) == (Released(), ())


def test_group_that_does_not_rest_is_kept() -> None:
    """The broker was asked nothing."""
    taken = step(begin().state, CameToRest(WHY), 0)
    assert (taken.state, taken.effects) == (Kept(WHY), ())


@pytest.mark.parametrize("place", [1, 2, 3, 4])
def test_seats_are_given_up_again_if_anything_fails(place: int) -> None:
    """Simple commits count again in an empty group only."""
    taken = begin()
    for heard in HEARD[:place]:
        taken = step(taken.state, heard, 0)
    kind = type(HEARD[place])
    assert issubclass(kind, CameToRest | FirstSeatTaken | RoundEnded | HandedOver)
    taken = step(taken.state, kind(WHY), 0)
    assert taken.effects == (Withdraw(),)
    taken = step(taken.state, WithdrawalUnanswered(), 0)
    assert taken.effects == (Withdraw(),)
    assert step(taken.state, Withdrawn(), 0).state == Kept(WHY)


def test_withdrawal_that_is_never_taken_ends() -> None:
    """The broker ends by their sessions the seats for which nobody beats."""
    kept = step(Withdrawing(WHY, 5), WithdrawalUnanswered(), 5).state
    assert isinstance(kept, Kept)
    assert kept.reason.code == "EB-MOVE-251"
    assert kept.reason.sentence.startswith(WHY.sentence)


@pytest.mark.parametrize("place", [1, 3], ids=["first seat", "round"])
def test_move_that_is_held_up_begins_anew_once(place: int) -> None:
    """Behind that whoever holds it up is no id that the broker forgets."""
    taken = begin()
    for course in range(2):
        for heard in HEARD[:place]:
            taken = step(taken.state, heard, 0)
        taken = step(taken.state, FirstSeatTaken(WHY, 45_000) if place == 1 else RoundEnded(WHY, 45_000), 0)
        assert taken.effects == (Withdraw(),)
        taken = step(taken.state, Withdrawn(), 0)
        if course == 0:
            assert (taken.state, taken.effects) == (AwaitingLapse(), (AwaitLapse(45_000),))
            taken = step(taken.state, Lapsed(), 45_000)
            assert taken.effects == begin().effects
    assert taken.state == Kept(WHY)


def test_move_that_is_stopped_while_it_waits_ends() -> None:
    """The broker has nobody, and nothing is held."""
    assert step(AwaitingLapse(), Lapsed(WHY), 0).state == Kept(WHY)


def test_restart_before_the_end_gives_the_seats_up() -> None:
    """The journal has the group here."""
    taken = resume(0)
    assert isinstance(taken.state, Withdrawing)
    assert taken.effects == (Withdraw(),)


def test_unasked_event_is_a_bug() -> None:
    """The round would be played without the members at rest."""
    with pytest.raises(UnexpectedEvent):
        step(begin().state, RoundEnded(), 0)
