"""Who wants the same, and what links whom."""

from bridge.engine.assignors.interface import seat_of
from bridge.engine.assignors.load_index import IndexedSubscribers, Kind, form_indexed_sets, link_regions, sort_topics
from tests.support.assignments import source_of, spec, topic
from translators.dialects.ids import MemberId

A, B, C = topic("a"), topic("b"), topic("c")


def occupied(*wanted: str) -> list[IndexedSubscribers]:
    """Sets of subscribers of one member each."""
    subscriber_sets = [
        IndexedSubscribers(number, frozenset(map(topic, letters))) for number, letters in enumerate(wanted)
    ]
    for subscriber_set in subscriber_sets:
        subscriber_set.load_order.add(0, seat_of(MemberId(f"m{subscriber_set.number}"), None))
    return subscriber_sets


def test_interests_for_the_same_existing_topics_form_one_subscriber_set() -> None:
    """Topics without partitions make no difference."""
    source = source_of(spec({"a": 1}, {"m1": "ax", "m2": "a", "m3": "x"}))
    subscriber_sets = form_indexed_sets(source, {A: 1})
    assert sorted(
        (subscriber_set.number, sorted(subscriber_set.topics)) for subscriber_set in set(subscriber_sets.values())
    ) == [(0, []), (1, [A])]
    assert len(subscriber_sets) == 3


def test_topics_wanted_by_the_same_subscriber_sets_are_of_one_kind() -> None:
    """A set with several kinds is not plain: a load doesn't say what is held."""
    narrow, wide = occupied("ab", "abc")
    kinds = sort_topics([narrow, wide])
    assert (kinds[A].topics, kinds[C].topics) == ({A, B}, {C})
    assert (kinds[A].subscriber_sets, kinds[C].subscriber_sets) == ((narrow, wide), (wide,))
    assert (narrow.is_plain, wide.is_plain) == (True, False)


def test_subscriber_set_that_wants_a_kind_is_known_to_it() -> None:
    """Both ways, with a load order for those who will hold some of it."""
    subscriber_set, kind = IndexedSubscribers(0, frozenset({A})), Kind(7, {A})
    subscriber_set.want(kind)
    assert (subscriber_set.kinds, list(subscriber_set.holders), kind.subscriber_sets) == (
        (kind,),
        [7],
        (subscriber_set,),
    )


def test_regions_are_linked_by_topics_of_occupied_subscriber_sets() -> None:
    """Who left links nobody."""
    left, middle, right = subscriber_sets = occupied("a", "ab", "b")
    kinds = sort_topics(subscriber_sets)
    (region,) = link_regions(subscriber_sets)
    assert (region.subscriber_sets, region.is_mixed, region.kinds) == (
        (left, middle, right),
        True,
        (kinds[A], kinds[B]),
    )
    middle.load_order.remove(0, seat_of(MemberId("m1"), None))
    assert [(one.subscriber_sets, one.is_mixed) for one in link_regions(subscriber_sets)] == [
        ((left,), False),
        ((right,), False),
    ]
