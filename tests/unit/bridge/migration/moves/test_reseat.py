"""The table of this move, and its course."""

from typing import get_args

import pytest

from bridge.migration.moves.reseat import (
    TRANSITIONS,
    Called,
    CallScoutBack,
    ComparedClassic,
    Look,
    Looked,
    PlayRound,
    Reseated,
    ReseatEvent,
    ReseatState,
    RoundEnded,
    ScoutGone,
    ScoutJoined,
    ScoutUnanswered,
    SendScout,
    begin,
    resume,
    step,
)
from bridge.migration.moves.rest import Compare, Compared, Gather, Gathered, Kept, Prove, Proved
from bridge.migration.orders import Obstacle
from translators.machine import UnexpectedEvent

WHY = Obstacle("EB-MOVE-000", "something was seen", "do something")
ASKS = (Look(), Gather(), Prove(), Compare(), SendScout(), CallScoutBack(), PlayRound())
HEARD: tuple[ReseatEvent, ...] = (
    Looked(is_classic=False),
    Gathered(),
    Proved(),
    Compared(),
    ScoutJoined(),
    ScoutGone(),
    RoundEnded(),
)
REFUSED: tuple[ReseatEvent, ...] = (
    Looked(is_classic=False, obstacle=WHY),
    Gathered(WHY),
    Proved(WHY),
    Compared(WHY),
    ScoutJoined(WHY),
)


def test_table_names_every_state_and_event() -> None:
    """Nothing follows the three ends."""
    assert {event for _, event in TRANSITIONS} == set(get_args(ReseatEvent))
    assert {state for state, _ in TRANSITIONS} == set(get_args(ReseatState)) - {Reseated, Kept, Called}


def test_scout_comes_and_goes_before_the_round() -> None:
    """One thing is asked after the other."""
    taken = begin()
    for asked, heard in zip(ASKS, HEARD, strict=True):
        assert taken.effects == (asked,)
        taken = step(taken.state, heard, 0)
    assert (taken.state, taken.effects) == (Reseated(), ())


def test_classic_group_is_cleared_by_a_round_alone() -> None:
    """Its assignments lose their user data; also behind a restart no scout is sent."""
    taken = begin()
    for heard in (Looked(is_classic=True, is_to_be_cleared=True), Gathered(), Proved(), ComparedClassic()):
        taken = step(taken.state, heard, 0)
    assert taken.effects == (PlayRound(),)
    assert step(taken.state, RoundEnded(), 0).state == Reseated()
    assert resume(is_to_be_cleared=True) == taken


@pytest.mark.parametrize("place", range(5))
def test_group_is_kept_if_anything_fails_before_the_scout_is_in(place: int) -> None:
    """The broker has changed nothing."""
    taken = begin()
    for heard in HEARD[:place]:
        taken = step(taken.state, heard, 0)
    assert step(taken.state, REFUSED[place], 0).state == Kept(WHY)


def test_scout_that_may_be_in_is_called_back() -> None:
    """Though it is refused later: an answer was lost, and its session would end in the middle of something else."""
    taken = begin()
    for heard in (*HEARD[:4], ScoutUnanswered(1)):
        taken = step(taken.state, heard, 0)
    assert taken.effects == (SendScout(),)
    taken = step(taken.state, ScoutJoined(WHY), 0)
    assert taken.effects == (CallScoutBack(),)
    assert step(taken.state, ScoutUnanswered(1), 0).effects == (CallScoutBack(),)


@pytest.mark.parametrize("place", [5, 6])
def test_members_are_called_if_it_fails_behind_the_scout(place: int) -> None:
    """The broker has everybody join."""
    taken = begin()
    for heard in HEARD[:place]:
        taken = step(taken.state, heard, 0)
    refused: tuple[ReseatEvent, ...] = (ScoutGone(WHY), RoundEnded(WHY))
    assert step(taken.state, refused[place - 5], 0).state == Called(WHY)


def test_classic_group_is_left_alone() -> None:
    """The last static member that came back made it one."""
    assert step(begin().state, Looked(is_classic=True), 0).state == Reseated()


def test_restart_begins_with_the_scout() -> None:
    """Wherever the move was: it is the only one who may be in."""
    taken = resume()
    for heard in HEARD[4:]:
        taken = step(taken.state, heard, 0)
    assert taken.state == Reseated()


def test_nothing_happens_unasked() -> None:
    """A round that nobody plays does not end."""
    with pytest.raises(UnexpectedEvent):
        step(begin().state, RoundEnded(), 0)
