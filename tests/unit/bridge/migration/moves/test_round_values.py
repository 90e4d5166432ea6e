"""The table of a round."""

from typing import get_args

from bridge.migration.moves.round_values import TRANSITIONS, Played, RoundEvent, RoundState


def test_table_names_every_state_and_event() -> None:
    """What can't happen is missing; no state and no event is forgotten."""
    states, events = set(get_args(RoundState)), set(get_args(RoundEvent))
    assert {event for _, event in TRANSITIONS} == events
    assert {state for state, _ in TRANSITIONS} == states - {Played}
    assert {following for row in TRANSITIONS.values() for following in row} == states
