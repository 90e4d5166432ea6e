"""Settling a mixed component, by value; it must not know names of partitions."""

from bridge.engine.assignors.chains import apply_chain, settle
from tests.support.assignments import flow, spec

CHAINED = spec({"a": 4, "b": 2}, {"m1": "a", "m2": "ab", "m3": "b"}, {"m1": "a0 a1 a2 a3", "m2": "b0 b1"})


def test_chain_moves_one_unit_per_link_and_changes_only_the_ends() -> None:
    """m2 in the middle gains a and gives b."""
    counts = flow(CHAINED)
    apply_chain(counts, [2, 7, 4, 1, 6, 3, 0])
    assert (counts.loads, counts.units) == ([3, 2, 1], [{0: 3}, {1: 1, 0: 1}, {1: 1}])


def test_empty_chain_changes_nothing() -> None:
    """A receiver all of whose chains are taken waits for the next search."""
    counts = flow(CHAINED)
    apply_chain(counts, [])
    assert counts.loads == [4, 2, 0]


def test_settled_component_leaves_no_gap_a_chain_could_narrow() -> None:
    """4, 2, 0 becomes 2, 2, 2 by two chains."""
    counts = flow(CHAINED)
    settle(counts)
    assert counts.loads == [2, 2, 2]


def test_balanced_claims_are_left_alone() -> None:
    """No move without need."""
    counts = flow(spec({"a": 3, "b": 1}, {"m1": "a", "m2": "ab"}, {"m1": "a0 a1", "m2": "b0 a2"}))
    settle(counts)
    assert counts.units == counts.claimed
