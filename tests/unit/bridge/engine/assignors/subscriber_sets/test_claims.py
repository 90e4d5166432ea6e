"""What of a previous target stands, by value; it must not know balance."""

from bridge.engine.assignors.interface import AssignmentSpec
from bridge.engine.assignors.subscriber_sets import Claims, form_subscriber_sets, link_components, settle_claims
from tests.support.assignments import parts, shares, spec
from translators.dialects.ids import MemberId


def settled(question: AssignmentSpec) -> Claims:
    """The claims of a question with one component."""
    (component,) = link_components(form_subscriber_sets(question))
    return settle_claims(question, component)


def test_claims_that_went_away_are_dropped_and_the_rest_is_unclaimed() -> None:
    """A shrunk topic, an unsubscribed one and a departed member leave nothing behind (K9.3)."""
    question = spec({"a": 3, "b": 1}, {"m1": "a", "m2": "a"}, {"m1": "a0 a7 b0", "gone": "a1"})
    assert settled(question) == Claims(shares({"m1": "a0", "m2": ""}), tuple(sorted(parts("a1 a2"))))


def test_two_claims_to_one_partition_leave_it_with_the_earlier_seat() -> None:
    """Never two owners, and the same one each time."""
    question = spec({"a": 2}, {"m2": "a", "m1": "a"}, {"m2": "a0 a1", "m1": "a0"})
    assert settled(question).held == shares({"m1": "a0", "m2": "a1"})


def test_claims_that_stand_are_the_previous_object() -> None:
    """An untouched member costs nothing to compare."""
    question = spec({"a": 2}, {"m1": "a", "m2": "a"}, {"m1": "a0", "m2": "a1"})
    claims = settled(question)
    assert claims.unclaimed == ()
    assert all(claims.held[member_id] is question.previous[member_id] for member_id in map(MemberId, ("m1", "m2")))
