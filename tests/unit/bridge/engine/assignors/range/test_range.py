"""The range assignor by value; it must not know stickiness."""

from bridge.engine.assignors.range import Range
from tests.support.assignments import shares, spec
from translators.dialects.ids import MemberId


def test_topics_with_equal_counts_are_copartitioned() -> None:
    """floor(P/N) each, the first P mod N one more, contiguous, the same numbers of each topic (K9.2)."""
    assert Range().assign(spec({"a": 5, "b": 5}, {"m2": "ab", "m1": "ab"})) == shares(
        {"m1": "a0 a1 a2 b0 b1 b2", "m2": "a3 a4 b3 b4"}
    )


def test_static_member_has_the_first_range() -> None:
    """A static member keeps its range whatever member id it got after a restart (K9.2)."""
    for member_id in ("a1", "z1"):
        question = spec({"a": 3}, {member_id: "a", "m": "a"}, instances={member_id: "i"})
        assert Range().assign(question) == shares({member_id: "a0 a1", "m": "a2"})


def test_subscribers_of_each_topic_share_only_that_topic() -> None:
    """Mixed subscriptions: order among the subscribers of a topic is still seat order."""
    assert Range().assign(spec({"a": 2, "b": 3}, {"m1": "ab", "m2": "b", "m3": "ab"})) == shares(
        {"m1": "a0 b0", "m2": "b1", "m3": "a1 b2"}
    )


def test_more_members_than_partitions_leave_the_last_with_nothing() -> None:
    """Members may get nothing when P < N (K9.2)."""
    assert Range().assign(spec({"a": 1}, {"m1": "a", "m2": "a", "m3": ""})) == shares({"m1": "a0", "m2": "", "m3": ""})


def test_unchanged_range_is_the_previous_object() -> None:
    """An untouched member costs nothing to compare."""
    question = spec({"a": 2}, {"m1": "a", "m2": "a"}, {"m1": "a0", "m2": "a0"})
    target = Range().assign(question)
    assert target == shares({"m1": "a0", "m2": "a1"})
    assert target[MemberId("m1")] is question.previous[MemberId("m1")]
