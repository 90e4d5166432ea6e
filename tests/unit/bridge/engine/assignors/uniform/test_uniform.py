"""The uniform assignor by value; it must not know flows or quotas."""

from bridge.engine.assignors.subscriber_sets import form_subscriber_sets, link_components
from bridge.engine.assignors.uniform import Uniform, assign_component
from tests.support.assignments import parts, shares, spec
from translators.dialects.ids import MemberId, TopicIdPartition


def test_empty_group_gets_an_empty_target() -> None:
    """Nobody is there to own anything."""
    assert Uniform().assign(spec({"a": 3}, {})) == {}


def test_member_without_topics_is_named_with_nothing() -> None:
    """Every member is in the answer, and an unknown topic has no partitions (K9.1)."""
    assert Uniform().assign(spec({"a": 1}, {"m1": "a", "m2": "", "m3": "x"})) == shares(
        {"m1": "a0", "m2": "", "m3": ""}
    )


def test_newcomer_that_replaces_a_member_takes_over_what_it_left() -> None:
    """One left and one joined in the same batch: nobody else hears of it, and their frozensets are the same objects."""
    previous = {"m1": "a0 a3 a6", "m2": "a1 a4", "m3": "a2 a5"}
    for leaver, left in previous.items():
        members = {name: "a" for name in (*previous, "m9") if name != leaver}
        question = spec({"a": 7}, members, previous)
        target = Uniform().assign(question)
        assert target[MemberId("m9")] == parts(left)
        assert all(target[m] is question.previous[m] for m in map(MemberId, previous) if m != leaver)


def test_leaver_feeds_the_least_loaded_and_moves_nobody_else() -> None:
    """The survivor with fewer partitions gets the departed one's."""
    question = spec({"a": 5}, {"m1": "a", "m2": "a"}, {"m1": "a0 a1", "m2": "a2", "m3": "a3 a4"})
    assert Uniform().assign(question) == shares({"m1": "a0 a1", "m2": "a2 a3 a4"})


def test_components_do_not_touch_each_other() -> None:
    """A join among the subscribers of b leaves those of a as they are, and one component can be computed alone."""
    question = spec({"a": 2, "b": 2}, {"m1": "a", "m2": "b", "m3": "b"}, {"m1": "a0 a1", "m2": "b0 b1"})
    target = Uniform().assign(question)
    assert target == shares({"m1": "a0 a1", "m2": "b1", "m3": "b0"})
    merged: dict[MemberId, frozenset[TopicIdPartition]] = {}
    for component in link_components(form_subscriber_sets(question)):
        merged.update(assign_component(question, component))
    assert merged == target


def test_mixed_subscriptions_reach_the_balance_a_chain_allows() -> None:
    """m3 can only be fed through m2: b moves on, a follows."""
    question = spec({"a": 4, "b": 2}, {"m1": "a", "m2": "ab", "m3": "b"}, {"m1": "a0 a1 a2 a3", "m2": "b0 b1"})
    assert {name: len(share) for name, share in Uniform().assign(question).items()} == {"m1": 2, "m2": 2, "m3": 2}
