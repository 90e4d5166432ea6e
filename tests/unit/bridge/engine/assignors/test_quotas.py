"""Even shares for equal subscriptions, by value; it must not know mixed ones."""

from bridge.engine.assignors.claims import Claims
from bridge.engine.assignors.quotas import set_quotas, share_evenly
from tests.support.assignments import parts, shares
from translators.dialects.ids import MemberId

M1, M2, M3 = MemberId("m1"), MemberId("m2"), MemberId("m3")


def test_surplus_stays_with_members_that_hold_it() -> None:
    """Kafka gives it to the first members in iteration order instead and moves partitions for it (K9.3)."""
    assert set_quotas({M1: 2, M2: 2, M3: 3}, 0) == {M1: 2, M2: 2, M3: 3}


def test_surplus_nobody_holds_goes_to_members_that_change_anyway() -> None:
    """A member at the floor is left alone as long as another one must gain."""
    assert set_quotas({M1: 2, M2: 1, M3: 2}, 2) == {M1: 2, M2: 3, M3: 2}


def test_equal_members_share_by_seat() -> None:
    """No surplus, no choice; with one the first seat has it."""
    assert set_quotas({M1: 0, M2: 0}, 4) == {M1: 2, M2: 2}
    assert set_quotas({M1: 0, M2: 0}, 5) == {M1: 3, M2: 2}


def test_new_group_is_dealt_in_turn_so_each_topic_spreads() -> None:
    """A busy topic does not end on one member."""
    claims = Claims(shares({"m1": "", "m2": ""}), tuple(sorted(parts("a0 a1 b0 b1"))))
    assert share_evenly(claims) == shares({"m1": "a0 b0", "m2": "a1 b1"})


def test_donors_release_only_the_excess() -> None:
    """Two of six move when a third member joins two with three each."""
    held = shares({"m1": "a0 a1 a2", "m2": "b0 b1 b2", "m3": ""})
    target = share_evenly(Claims(held, ()))
    assert target == shares({"m1": "a1 a2", "m2": "b0 b2", "m3": "a0 b1"})
