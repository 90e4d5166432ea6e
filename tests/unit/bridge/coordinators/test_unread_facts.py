"""Facts that this release can't read stand aside beside one another, so many and no more."""

from bridge.coordinators.unread_facts import ASIDE_MAX, put_aside
from tests.support.moving_world import FakeFacts


def test_each_fact_stands_aside_once() -> None:
    """Whatever stood there before it; a fact that comes again is not kept a second time."""
    facts = FakeFacts()
    for text in ("a", "b", "a", "c"):
        put_aside(facts, "plan:p", text)
    assert facts.kept == {"unread-plan:p": "a", "unread-2-plan:p": "b", "unread-3-plan:p": "c"}


def test_last_place_is_given_up_where_all_are_taken() -> None:
    """The journal does not grow with each turn that releases take."""
    facts = FakeFacts()
    for number in range(ASIDE_MAX + 3):
        put_aside(facts, "place:g", str(number))
    texts = [facts.kept["unread-place:g"], *(facts.kept[f"unread-{n}-place:g"] for n in range(2, ASIDE_MAX + 1))]
    assert texts == [*map(str, range(ASIDE_MAX - 1)), str(ASIDE_MAX + 2)]
    assert len(facts.kept) == ASIDE_MAX
