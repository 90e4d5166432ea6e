"""Seats by load; it must not know targets."""

import pytest

from bridge.engine.assignors.seats import LoadOrder, seat_of
from translators.dialects.ids import InstanceId, MemberId

STATIC = seat_of(MemberId("z"), InstanceId("i"))
FIRST, SECOND = seat_of(MemberId("a"), None), seat_of(MemberId("b"), None)


def test_static_seats_come_before_dynamic_ones() -> None:
    """K9.2, KIP-345: the instance id keeps a seat through restarts, whatever the member id."""
    assert sorted([SECOND, FIRST, STATIC]) == [STATIC, FIRST, SECOND]


def test_load_order_filled_at_once_is_the_one_filled_seat_by_seat() -> None:
    """Levels hold seats in seat order, whatever the order of coming."""
    slow, fast = LoadOrder(), LoadOrder()
    for load, seat in ((2, SECOND), (2, STATIC), (0, FIRST)):
        slow.add(load, seat)
    fast.fill([(0, FIRST), (2, STATIC), (2, SECOND)])
    assert slow == fast == LoadOrder({2: [STATIC, SECOND], 0: [FIRST]}, size=3, total=4)


def test_empty_level_is_taken_away() -> None:
    """So the least and the most load are those of somebody."""
    load_order = LoadOrder()
    load_order.add(1, FIRST)
    load_order.add(3, SECOND)
    load_order.remove(1, FIRST)
    assert load_order == LoadOrder({3: [SECOND]}, size=1, total=3)


def test_seat_that_is_not_there_can_not_be_removed() -> None:
    """The index would be wrong from then on."""
    load_order = LoadOrder()
    load_order.add(1, FIRST)
    with pytest.raises(ValueError, match="EB-ENGINE-009"):
        load_order.remove(1, SECOND)
