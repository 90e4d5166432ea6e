"""Seats, sets and components by value; it must not know who gets what."""

from bridge.engine.assignors.subscriber_sets import SubscriberSet, form_subscriber_sets, link_components, seat, seated
from tests.support.assignments import spec, topic
from translators.dialects.ids import MemberId


def subscriber_set(topics: str, *members: str) -> SubscriberSet:
    """A set from letters and member ids."""
    return SubscriberSet(tuple(map(topic, topics)), tuple(map(MemberId, members)))


def test_static_member_sits_before_dynamic_ones_whatever_its_member_id() -> None:
    """Static first by instance id, then dynamic by member id (K9.2)."""
    question = spec({"a": 1}, {"m1": "a", "m2": "a", "z9": "a", "y8": "a"}, instances={"z9": "i1", "y8": "i2"})
    assert seated(question.members) == ("z9", "y8", "m1", "m2")
    assert seat(question.members[MemberId("z9")]) < seat(question.members[MemberId("m1")])


def test_members_with_equal_topics_form_one_subscriber_set_in_seat_order() -> None:
    """Topics without partitions, or unknown, don't tell members apart."""
    question = spec({"a": 1, "b": 2, "c": 0}, {"m3": "ab", "m1": "bac", "m2": "b", "m0": "abx"})
    assert form_subscriber_sets(question) == (subscriber_set("ab", "m0", "m1", "m3"), subscriber_set("b", "m2"))


def test_subscriber_sets_without_common_topic_stay_in_separate_components() -> None:
    """Links are transitive: ab and cd belong together because of bc."""
    ab, cd, ef, bc, none = (
        subscriber_set("ab", "1"),
        subscriber_set("cd", "2"),
        subscriber_set("ef", "3"),
        subscriber_set("bc", "4"),
        subscriber_set("", "5"),
    )
    assert {frozenset(part) for part in link_components((ab, cd, ef, bc, none))} == {
        frozenset({ab, cd, bc}),
        frozenset({ef}),
        frozenset({none}),
    }
