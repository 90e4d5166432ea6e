"""Counts and costs of a mixed component by value; it must not know searches."""

from tests.support.assignments import flow, spec

QUESTION = spec({"a": 3, "b": 1}, {"m1": "a", "m2": "ab"}, {"m1": "a0 a1", "m2": "b0"})


def test_flow_starts_with_every_claim_kept() -> None:
    """Loads are what the members claim, and nobody is owed anything."""
    start = flow(QUESTION)
    assert (start.members, start.loads) == (["m1", "m2"], [2, 1])
    assert (start.units, start.owed) == ([{0: 2}, {1: 1}], [{}, {}])
    assert (start.topic_sets, start.set_topics) == ([[0, 1], [1]], [[0], [0, 1]])


def test_claimed_unit_costs_a_move_and_is_owed_until_it_is_back() -> None:
    """Movement counts claims not honoured."""
    counts = flow(QUESTION)
    assert counts.take_cost(0, 0) == 1
    counts.take(0, 0)
    assert (counts.units[0], counts.owed[0]) == ({0: 1}, {0: None})
    counts.give(0, 0)
    assert (counts.units[0], counts.owed[0]) == ({0: 2}, {})


def test_unit_beyond_the_claim_moves_on_for_nothing() -> None:
    """It had not arrived yet, so taking it back disturbs nobody."""
    counts = flow(QUESTION)
    counts.give(0, 1)
    assert (counts.take_cost(0, 1), list(counts.holders[0])) == (0, [0, 1])
    counts.take(0, 1)
    assert (counts.units[1], list(counts.holders[0]), counts.owed[0]) == ({1: 1}, [0], {})
