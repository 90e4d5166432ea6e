"""What a revision changes in small groups, and when it passes.

Even shares for equal subscriptions, by value; it must not know mixed ones.
"""

from collections.abc import Mapping

from bridge.engine.assignors.interface import Assignment, AssignmentSpec, LoadOrder, Seat, seat_of
from bridge.engine.assignors.subscriber_sets import Claims
from bridge.engine.assignors.uniform import MOST_CHAINS, deal, revise, set_quotas, share_evenly
from tests.support.assignments import index_of, parts, shares, spec
from translators.dialects.ids import MemberId


def revised(question: AssignmentSpec) -> Assignment | None:
    """The new shares."""
    return revise(index_of(question), question.previous)


def test_balanced_group_is_left_alone() -> None:
    """No share, no record."""
    assert revised(spec({"a": 3}, {"m1": "a", "m2": "a"}, {"m1": "a0 a1", "m2": "a2"})) == {}


def test_newcomer_takes_from_those_with_most_only() -> None:
    """Nobody else is named."""
    question = spec({"a": 5}, {"m1": "a", "m2": "a", "m3": "a"}, {"m1": "a0 a1", "m2": "a2 a3 a4"})
    assert revised(question) == shares({"m2": "a3 a4", "m3": "a2"})


def test_newcomer_for_whom_nothing_is_left_gets_an_empty_share() -> None:
    """It has no target yet (K2.29)."""
    assert revised(spec({"a": 1}, {"m1": "a", "m2": "a"}, {"m1": "a0"})) == shares({"m2": ""})


def test_share_of_partitions_that_are_gone_is_told_anew() -> None:
    """Though nothing moves."""
    question = spec({"a": 2}, {"m1": "a", "m2": "a"}, {"m1": "a0 b0", "m2": "a1"})
    assert revised(question) == shares({"m1": "a0"})


def test_members_without_topics_have_nothing() -> None:
    """Also if all of them want nothing."""
    assert revised(spec({}, {"m1": "", "m2": "x"}, {"m1": "", "m2": "x0"})) == shares({"m2": ""})


def test_mixed_group_moves_along_a_chain() -> None:
    """m3 wants only what m2 has, who gets what m1 has too much of; m2's other partition stays."""
    question = spec({"a": 3, "b": 2}, {"m1": "a", "m2": "ab", "m3": "b"}, {"m1": "a0 a1 a2", "m2": "b0 b1", "m3": ""})
    assert revised(question) == shares({"m1": "a0 a1", "m2": "a2 b0", "m3": "b1"})


def test_mixed_group_with_very_much_to_do_is_computed_in_full() -> None:
    """One search per move would cost more."""
    few = spec({"a": MOST_CHAINS - 1, "b": 1}, {"m1": "a", "m2": "ab"}, {"m1": "", "m2": "b0"})
    many = spec({"a": MOST_CHAINS + 1, "b": 1}, {"m1": "a", "m2": "ab"}, {"m1": "", "m2": "b0"})
    assert (revised(few) is None, revised(many) is None) == (False, True)


def test_mixed_group_with_too_many_moves_is_computed_in_full() -> None:
    """Nothing is free, but half of all must move."""
    every = " ".join(f"a{number}" for number in range(2 * MOST_CHAINS + 2))
    question = spec({"a": 2 * MOST_CHAINS + 2, "b": 1}, {"m1": "a", "m2": "ab"}, {"m1": every, "m2": "b0"})
    assert revised(question) is None


def load_order(loads: Mapping[str, int]) -> LoadOrder:
    """Dynamic members with these loads."""
    filled = LoadOrder()
    filled.fill([(load, named(name)) for name, load in loads.items()])
    return filled


def named(name: str) -> Seat:
    """A dynamic member's seat."""
    return seat_of(MemberId(name), None)


def quotas(loads: Mapping[str, int], unclaimed: int) -> dict[str, int]:
    """The changes by name."""
    return {seat[2]: quota for seat, quota in set_quotas(load_order(loads), unclaimed).items()}


def evenly(claims: Claims) -> Assignment:
    """Shares of dynamic members."""
    return share_evenly(claims, {member_id: seat_of(member_id, None) for member_id in claims.held})


def test_surplus_stays_with_members_that_hold_it() -> None:
    """Kafka gives it to the first members in iteration order instead and moves partitions for it (K9.3)."""
    assert quotas({"m1": 2, "m2": 2, "m3": 3}, 0) == {}


def test_surplus_nobody_holds_goes_to_members_that_change_anyway() -> None:
    """A member at the floor is left alone as long as another one must gain."""
    assert quotas({"m1": 2, "m2": 1, "m3": 2}, 2) == {"m2": 3}


def test_equal_newcomers_share_by_seat() -> None:
    """No surplus, no choice; with one the first seat has it."""
    assert quotas({"m1": 0, "m2": 0}, 4) == {"m1": 2, "m2": 2}
    assert quotas({"m1": 0, "m2": 0}, 5) == {"m1": 3, "m2": 2}


def test_of_equal_members_the_last_seats_are_disturbed() -> None:
    """Static members sit first, so they keep what they have longest, and gain last."""
    assert quotas({"m1": 3, "m2": 3, "m3": 3, "m4": 0}, 0) == {"m2": 2, "m3": 2, "m4": 2}
    assert quotas({"m1": 2, "m2": 2, "m3": 2}, 1) == {"m3": 3}


def test_only_released_and_free_partitions_are_dealt() -> None:
    """Who has its quota is not asked."""
    held = shares({"m1": "a0 a1", "m2": ""})
    assert deal({named("m1"): 1, named("m2"): 2}, held, sorted(parts("b0"))) == shares({"m1": "a0", "m2": "a1 b0"})


def test_new_group_is_dealt_in_turn_so_each_topic_spreads() -> None:
    """A busy topic does not end on one member."""
    claims = Claims(shares({"m1": "", "m2": ""}), tuple(sorted(parts("a0 a1 b0 b1"))))
    assert evenly(claims) == shares({"m1": "a0 b0", "m2": "a1 b1"})


def test_donors_release_only_the_excess() -> None:
    """Two of six move when a third member joins two with three each."""
    held = shares({"m1": "a0 a1 a2", "m2": "b0 b1 b2", "m3": ""})
    target = evenly(Claims(held, ()))
    assert target == shares({"m1": "a1 a2", "m2": "b0 b2", "m3": "a0 b1"})


def test_pool_is_dealt_one_each_per_round() -> None:
    """By whole rounds at once where nobody has enough yet: m3 has after one, m1 after three."""
    missing = {named("m1"): 3, named("m2"): 5, named("m3"): 1, named("m4"): 0}
    dealt = deal(missing, shares({"m1": "", "m2": "", "m3": "", "m4": ""}), sorted(parts("a0 a1 a2 a3 a4 a5 a6 a7 a8")))
    assert dealt == shares({"m1": "a0 a3 a5", "m2": "a1 a4 a6 a7 a8", "m3": "a2"})
