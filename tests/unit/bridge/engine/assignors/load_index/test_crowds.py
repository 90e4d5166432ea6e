"""Who wants the same, and what links whom."""

from bridge.engine.assignors.load_index import Crowd, Kind, form_crowds, link_regions, sort_topics
from bridge.engine.assignors.seats import seat_of
from tests.support.assignments import census_of, spec, topic
from translators.dialects.ids import MemberId

A, B, C = topic("a"), topic("b"), topic("c")


def peopled(*wanted: str) -> list[Crowd]:
    """Crowds of one member each."""
    crowds = [Crowd(number, frozenset(map(topic, letters))) for number, letters in enumerate(wanted)]
    for crowd in crowds:
        crowd.ladder.add(0, seat_of(MemberId(f"m{crowd.number}"), None))
    return crowds


def test_wishes_for_the_same_existing_topics_form_one_crowd() -> None:
    """Topics without partitions make no difference."""
    census = census_of(spec({"a": 1}, {"m1": "ax", "m2": "a", "m3": "x"}))
    crowds = form_crowds(census, {A: 1})
    assert sorted((crowd.number, sorted(crowd.topics)) for crowd in set(crowds.values())) == [(0, []), (1, [A])]
    assert len(crowds) == 3


def test_topics_wanted_by_the_same_crowds_are_of_one_kind() -> None:
    """A crowd with several kinds is not plain: a load doesn't say what is held."""
    narrow, wide = peopled("ab", "abc")
    kinds = sort_topics([narrow, wide])
    assert (kinds[A].topics, kinds[C].topics) == ({A, B}, {C})
    assert (kinds[A].crowds, kinds[C].crowds) == ((narrow, wide), (wide,))
    assert (narrow.is_plain, wide.is_plain) == (True, False)


def test_crowd_that_wants_a_kind_is_known_to_it() -> None:
    """Both ways, with a ladder for those who will hold some of it."""
    crowd, kind = Crowd(0, frozenset({A})), Kind(7, {A})
    crowd.want(kind)
    assert (crowd.kinds, list(crowd.holders), kind.crowds) == ((kind,), [7], (crowd,))


def test_regions_are_linked_by_topics_of_peopled_crowds() -> None:
    """Who left links nobody."""
    left, middle, right = crowds = peopled("a", "ab", "b")
    kinds = sort_topics(crowds)
    (region,) = link_regions(crowds)
    assert (region.crowds, region.is_mixed, region.kinds) == ((left, middle, right), True, (kinds[A], kinds[B]))
    middle.ladder.remove(0, seat_of(MemberId("m1"), None))
    assert [(one.crowds, one.is_mixed) for one in link_regions(crowds)] == [((left,), False), ((right,), False)]
