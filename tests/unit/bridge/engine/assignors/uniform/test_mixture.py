"""Mixed subscriptions from claims to partitions, by value; it must not know searches."""

from bridge.engine.assignors.interface import Assignment, AssignmentSpec
from bridge.engine.assignors.subscriber_sets import form_subscriber_sets, link_components, settle_claims
from bridge.engine.assignors.uniform import share_along_chains
from tests.support.assignments import shares, spec
from translators.dialects.ids import MemberId


def shared(question: AssignmentSpec) -> Assignment:
    """The target of a question with one component."""
    (component,) = link_components(form_subscriber_sets(question))
    return share_along_chains(component, settle_claims(question, component))


def test_topic_with_one_subscriber_is_handed_out_before_shared_ones() -> None:
    """Topics with fewest subscribers come first (K9.4): b has to go to m2, so a goes to m1."""
    assert shared(spec({"a": 2, "b": 2}, {"m1": "a", "m2": "ab"})) == shares({"m1": "a0 a1", "m2": "b0 b1"})


def test_newcomer_takes_only_what_balance_needs() -> None:
    """One partition moves, the highest of the loaded member; the other member keeps its very object."""
    question = spec({"a": 3, "b": 1}, {"m1": "a", "m2": "ab", "m3": "a"}, {"m1": "a0 a1 a2", "m2": "b0"})
    target = shared(question)
    assert target == shares({"m1": "a0 a1", "m2": "b0", "m3": "a2"})
    assert target[MemberId("m2")] is question.previous[MemberId("m2")]
