"""The contract of an assignor as a plug-in author sees it; it must not know how the built-in ones compute.

Seats by load; it must not know targets.
"""

import pytest

from bridge.engine.assignors.interface import Assignment, AssignmentSpec, Assignor, LoadOrder, seat_of
from tests.support.assignments import shares, spec
from translators.dialects.ids import InstanceId, MemberId, TopicIdPartition


class FirstTakesAll:
    """The smallest possible plug-in."""

    name: str = "first-takes-all"

    def assign(self, spec: AssignmentSpec) -> Assignment:
        first = min(spec.members)
        every = {
            TopicIdPartition(topic, number)
            for topic in spec.members[first].topics
            for number in range(spec.partition_counts[topic])
        }
        return {member_id: frozenset(every) if member_id == first else frozenset() for member_id in spec.members}


def test_plugin_class_is_an_assignor_without_inheriting() -> None:
    """In goes a spec, out come all members, also those with nothing (K9.1)."""
    plugin: Assignor = FirstTakesAll()
    assert plugin.assign(spec({"a": 2}, {"m1": "a", "m2": "a"})) == shares({"m1": "a0 a1", "m2": ""})


STATIC = seat_of(MemberId("z"), InstanceId("i"))
FIRST, SECOND = seat_of(MemberId("a"), None), seat_of(MemberId("b"), None)


def test_static_seats_come_before_dynamic_ones() -> None:
    """The instance id keeps a seat through restarts, whatever the member id (K9.2, KIP-345)."""
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
