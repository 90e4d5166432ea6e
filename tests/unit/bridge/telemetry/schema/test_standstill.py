"""When partitions stand still."""

from collections.abc import Sequence
from dataclasses import replace

from bridge.telemetry.schema.facts import Event
from bridge.telemetry.schema.standstill import Stall, on_one_line, stalls_of
from tests.support.event_stories import MS_US, START_WALL_US, Story


def stalls(events: Sequence[Event]) -> list[Stall]:
    """Those of a story, with their places in its time."""
    return [*stalls_of((at_us, event.fact) for at_us, event in on_one_line(events))]


def test_partition_stands_still_from_its_last_owners_end_to_its_next_ones_first_fetch() -> None:
    """Who was told to give it up may read on until it has heard that."""
    story = Story()
    story.at(0).fetches("c1", "orders-0").began(2)
    story.at(1).loses("c1", "orders-0")
    story.at(3).fetches("c1", "orders-0")
    story.at(4).releases("c1", "orders-0").gets("c2", "orders-0")
    rebalance_id = story.rebalance_id
    story.at(9).fetches("c2", "orders-0").ended()
    assert stalls(story.events) == [Stall("orders-0", rebalance_id, START_WALL_US + 3 * MS_US, 6 * MS_US)]


def test_partition_that_comes_back_to_who_never_let_it_go_stands_still_for_nobody() -> None:
    """It is still read by the same member."""
    story = Story()
    story.at(0).fetches("c1", "orders-0", "orders-1")
    story.at(5).fetches("c1", "orders-0", "orders-1")
    assert stalls(story.events) == []


def test_time_goes_on_by_the_wall_clock_between_two_runs_and_never_back() -> None:
    """A wall clock that was set back by an hour makes no stall of negative length."""
    story = Story()
    story.at(1).releases("c1", "orders-0")
    story.at(2).fetches("c2", "orders-0")
    first, second = story.events
    later = replace(second.stamp, boot="next", wall_us=first.stamp.wall_us - 3_600_000_000, mono_us=7)
    (stall,) = stalls([first, Event(later, second.fact)])
    assert stall.lasted_us == 0
