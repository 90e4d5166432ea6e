"""What a revision changes in small groups, and when it passes."""

from bridge.engine.assignors.interface import Assignment, AssignmentSpec
from bridge.engine.assignors.revision import MOST_CHAINS, revise
from tests.support.assignments import index_of, shares, spec


def revised(question: AssignmentSpec) -> Assignment | None:
    """The new shares."""
    return revise(index_of(question), question.previous)


def test_balanced_group_is_left_alone() -> None:
    """No share, no record."""
    assert revised(spec({"a": 3}, {"m1": "a", "m2": "a"}, {"m1": "a0 a1", "m2": "a2"})) == {}


def test_newcomer_takes_from_those_with_most_only() -> None:
    """Nobody else is named."""
    question = spec({"a": 5}, {"m1": "a", "m2": "a", "m3": "a"}, {"m1": "a0 a1", "m2": "a2 a3 a4"})
    assert revised(question) == shares({"m2": "a3 a4", "m3": "a2"})


def test_newcomer_for_whom_nothing_is_left_gets_an_empty_share() -> None:
    """K2.29: it has no target yet."""
    assert revised(spec({"a": 1}, {"m1": "a", "m2": "a"}, {"m1": "a0"})) == shares({"m2": ""})


def test_share_of_partitions_that_are_gone_is_told_anew() -> None:
    """Though nothing moves."""
    question = spec({"a": 2}, {"m1": "a", "m2": "a"}, {"m1": "a0 b0", "m2": "a1"})
    assert revised(question) == shares({"m1": "a0"})


def test_members_without_topics_have_nothing() -> None:
    """Also if all of them want nothing."""
    assert revised(spec({}, {"m1": "", "m2": "x"}, {"m1": "", "m2": "x0"})) == shares({"m2": ""})


def test_mixed_group_moves_along_a_chain() -> None:
    """m3 wants only what m2 has, who gets what m1 has too much of; m2's other partition stays."""
    question = spec({"a": 3, "b": 2}, {"m1": "a", "m2": "ab", "m3": "b"}, {"m1": "a0 a1 a2", "m2": "b0 b1", "m3": ""})
    assert revised(question) == shares({"m1": "a0 a1", "m2": "a2 b0", "m3": "b1"})


def test_mixed_group_with_very_much_to_do_is_computed_in_full() -> None:
    """One search per move would cost more."""
    few = spec({"a": MOST_CHAINS - 1, "b": 1}, {"m1": "a", "m2": "ab"}, {"m1": "", "m2": "b0"})
    many = spec({"a": MOST_CHAINS + 1, "b": 1}, {"m1": "a", "m2": "ab"}, {"m1": "", "m2": "b0"})
    assert (revised(few) is None, revised(many) is None) == (False, True)


def test_mixed_group_with_too_many_moves_is_computed_in_full() -> None:
    """Nothing is free, but half of all must move."""
    every = " ".join(f"a{number}" for number in range(2 * MOST_CHAINS + 2))
    question = spec({"a": 2 * MOST_CHAINS + 2, "b": 1}, {"m1": "a", "m2": "ab"}, {"m1": every, "m2": "b0"})
    assert revised(question) is None
