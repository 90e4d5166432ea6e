"""Chains read back from one search, by value; it must not know how they are applied."""

from bridge.engine.assignors.chains import Retracing, search
from tests.support.assignments import flow, spec


def test_chain_is_read_from_the_gaining_to_the_giving_member() -> None:
    """Members are 0-2, topics 3-4, sets 5-7: m3, its set, topic b, m2, its set, topic a, m1."""
    question = spec({"a": 4, "b": 2}, {"m1": "a", "m2": "ab", "m3": "b"}, {"m1": "a0 a1 a2 a3", "m2": "b0 b1"})
    counts = flow(question)
    assert Retracing(counts, search(counts)).trace(2) == [2, 7, 4, 1, 6, 3, 0]


def test_second_chain_avoids_members_of_the_first() -> None:
    """With one giving member only one chain is found; asked again, none is."""
    question = spec({"a": 4, "b": 1}, {"m1": "a", "m2": "a", "m3": "ab"}, {"m1": "a0 a1 a2 a3"})
    counts = flow(question)
    retracing = Retracing(counts, search(counts))
    assert retracing.trace(1) == [1, 5, 3, 0]
    assert retracing.trace(2) == []
    assert retracing.trace(1) == []
