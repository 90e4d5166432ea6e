"""What a group that stands at its broker goes through before anything of it is changed."""

import pytest

from bridge.migration.moves.rest import (
    Compare,
    Compared,
    Comparing,
    Gather,
    Gathered,
    Gathering,
    Kept,
    Prove,
    Proved,
    Proving,
    RestEvent,
    after_rest,
    find_rest,
    rest_transitions,
)
from bridge.migration.orders import Obstacle
from translators.machine import Step

WHY = Obstacle("EB-MOVE-000", "something was seen", "do something")


def test_members_are_heard_then_proved_then_compared() -> None:
    """One thing is asked after the other; behind them the move has its own way."""
    assert find_rest() == Step(Gathering(), (Gather(),))
    assert after_rest(Gathered()) == Step(Proving(), (Prove(),))
    assert after_rest(Proved()) == Step(Comparing(), (Compare(),))
    assert after_rest(Compared()) is None


@pytest.mark.parametrize("event", [Gathered(WHY), Proved(WHY), Compared(WHY)])
def test_whatever_stands_in_the_way_keeps_the_group(event: RestEvent) -> None:
    """Nothing was changed."""
    assert after_rest(event) == Step(Kept(WHY))


def test_rows_lead_on_or_to_the_group_as_it_was() -> None:
    """Each move adds its own."""
    assert rest_transitions(Step) == {
        (Gathering, Gathered): frozenset({Proving, Kept}),
        (Proving, Proved): frozenset({Comparing, Kept}),
        (Comparing, Compared): frozenset({Step, Kept}),
    }
