"""What is told of a group's rebalances, and when."""

from bridge.analytics.shadow.live import Shadow, Side
from bridge.whatif.comparison import compare
from bridge.whatif.configuration import configure
from bridge.whatif.history import BEGINS_IN_THE_MIDDLE
from tests.support.event_stories import Story
from tests.support.whatif_log import of_group, one_run

CONSUMER = configure("consumer", None, ["group.consumer.heartbeat.interval.ms=1000"])
GROUP = "orders0"


def test_each_rebalance_is_told_once_when_it_is_over() -> None:
    """Look by look as the log grows: together they tell what one look at the whole log tells, in the order of time."""
    events = of_group(one_run(1), GROUP)
    whole = Shadow(GROUP, CONSUMER).look(events)
    assert (whole.open, whole.reason) == (0, "")
    growing, told = Shadow(GROUP, CONSUMER), list[str]()
    for count in range(len(events)):
        newest_us = events[count].stamp.wall_us
        told += [one.name for one in growing.look(events[: count + 1], newest_us - 15_000_000).new]
    last = growing.look(events)
    told += [one.name for one in last.new]
    assert sorted(told) == sorted(one.name for one in whole.new)
    assert (last.recorded, last.predicted) == (whole.recorded, whole.predicted)
    assert [one.began_us for one in whole.new] == sorted(one.began_us for one in whole.new)


def test_disturbance_of_a_stranger_would_not_have_been_one() -> None:
    """Eager members give everything up when it comes and when it goes; on the new protocol nobody does."""
    look = Shadow(GROUP, CONSUMER).look(of_group(one_run(1), GROUP))
    worst = [one for one in look.new if one.recorded.disturbed]
    assert [(one.recorded.disturbed, one.predicted.disturbed) for one in worst] == [(2, 0), (2, 0)]
    assert (look.recorded.disturbed, look.predicted.disturbed) == (4, 0)
    assert all(one.words.startswith("would have been one of ") for one in worst)


def test_sums_are_of_both_sides() -> None:
    """Also what belongs to no rebalance."""
    events = of_group(one_run(1), GROUP)
    found = compare(GROUP, events, CONSUMER)
    look = Shadow(GROUP, CONSUMER).look(events)
    recorded = [one.recorded for one in found.rows if one.recorded is not None]
    loose = [] if found.loose_recorded is None else [found.loose_recorded]
    assert look.recorded == Side(
        rebalances=len(recorded),
        duration_us=sum(one.duration_us for one in recorded),
        told=sum(one.told for one in recorded),
        disturbed=sum(one.disturbed for one in recorded),
        stalls=sum(one.stalls for one in [*recorded, *loose]),
        stall_us=sum(one.stall_us for one in [*recorded, *loose]),
    )


def test_group_of_which_too_little_is_known_says_why() -> None:
    """Nothing is told of it."""
    story = Story()
    story.at(1).began(2)
    story.at(2).left("c1")
    look = Shadow("orders", CONSUMER).look(story.events)
    assert (look.new, look.reason) == ((), BEGINS_IN_THE_MIDDLE)
