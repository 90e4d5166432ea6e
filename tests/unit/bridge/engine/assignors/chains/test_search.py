"""Costs of cheapest chains by value; it must not know what is applied."""

from bridge.engine.assignors.chains import search
from tests.support.assignments import flow, spec


def test_chain_costs_are_load_then_moves_then_links() -> None:
    """m1 (4) reaches m3 over m2: two moves, two links; m2 is one of each away."""
    question = spec({"a": 4, "b": 2}, {"m1": "a", "m2": "ab", "m3": "b"}, {"m1": "a0 a1 a2 a3", "m2": "b0 b1"})
    reach = search(flow(question))
    giving, link = -4 * reach.load_price, reach.move_price + 1
    assert reach.costs[:3] == [giving, giving + link, giving + 2 * link]
    assert reach.load_price > 6 * reach.move_price


def test_member_nobody_can_feed_is_not_reached() -> None:
    """m1's topic has no other subscriber that holds enough to give."""
    question = spec({"a": 1, "b": 1}, {"m1": "a", "m2": "ab"}, {"m1": "a0", "m2": "b0"})
    reach = search(flow(question))
    assert reach.costs[0] == reach.costs[1] > reach.load_price


def test_giver_has_two_more_than_who_has_least() -> None:
    """With one more, giving would only turn the difference round."""
    two = search(flow(spec({"a": 2}, {"m1": "a", "m2": "a"}, {"m1": "a0 a1"})))
    assert two.costs[:2] == [-2 * two.load_price, -2 * two.load_price + two.move_price + 1]
    one = search(flow(spec({"a": 1}, {"m1": "a", "m2": "a"}, {"m1": "a0"})))
    assert one.costs[0] == one.costs[1] > one.load_price


def test_saved_move_is_worth_a_difference_of_one() -> None:
    """m1 had a0, and m2 holds it: at equal balance it comes back, which takes one move off."""
    counts = flow(spec({"a": 1}, {"m1": "a", "m2": "a"}, {"m1": "a0"}))
    counts.take(0, 0)
    counts.give(0, 1)
    counts.loads[:] = [0, 1]
    reach = search(counts)
    assert reach.costs[:2] == [-reach.load_price + 1 - reach.move_price, -reach.load_price]
