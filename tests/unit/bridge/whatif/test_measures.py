"""What rebalances came to."""

from bridge.telemetry.schema.terms import News, Phase
from bridge.whatif.measures import Measured, measure, summed
from bridge.whatif.timed_events import on_one_timeline
from tests.support.event_stories import MS_US, START_WALL_US, Story, cooperative_handover, eager_meeting


def measured(story: Story) -> tuple[Measured, ...]:
    """The rebalances of a story."""
    return measure(on_one_timeline(story.events))


def test_handover_stalls_one_partition_and_disturbs_nobody() -> None:
    """c1 is told at 900 ms, c4 fetches at 3,110 ms; giving up took 2,100 ms."""
    assert measured(cooperative_handover()) == (
        Measured(
            rebalance_id="orders@b1-r1",
            began_us=START_WALL_US + MS_US,
            duration_us=3_009 * MS_US,
            told=1,
            stalls=1,
            stall_us=2_210 * MS_US,
            busy_us=2_100 * MS_US,
        ),
    )


def test_member_that_gets_back_what_it_gave_up_is_disturbed() -> None:
    """c1 releases and gets orders-0; who is gone is not disturbed, whatever it has."""
    story = Story()
    story.at(0).began(2)
    for member in ("c1", "c2"):
        story.at(1).told(member, News.REVOKE).releases(member, "orders-0")
        story.at(2).gets(member, "orders-0")
    story.at(3).left("c2")
    story.at(4).ended()
    found = measured(story)[0]
    assert (found.told, found.disturbed) == (2, 1)


def test_rebalance_that_was_cut_short_is_judged_with_the_one_that_cut_it() -> None:
    """c1 gives up in the first and gets the same back in the second: both disturbed it, if both told it."""
    story = Story()
    story.at(0).began(2)
    first = story.rebalance_id
    story.at(1).told("c1", News.REJOIN).releases("c1", "orders-0")
    story.at(2).began(3, supersedes=first)
    story.at(3).gets("c1", "orders-0").ended()
    assert [(one.told, one.disturbed) for one in measured(story)] == [(1, 1), (0, 0)]


def test_stall_between_rebalances_belongs_to_none() -> None:
    """A member leaves before the others are called."""
    story = Story()
    story.at(1).releases("c1", "orders-0")
    story.at(5).fetches("c2", "orders-0")
    assert measured(story) == (Measured(rebalance_id="", began_us=START_WALL_US + MS_US, stalls=1, stall_us=4 * MS_US),)


def test_partition_that_is_taken_twice_stands_still_once() -> None:
    """Occurrence, then released: the stall began when it was told; a fetch that nothing preceded ends none."""
    story = Story()
    story.at(0).fetches("c1", "orders-0").began(2)
    story.at(1).loses("c1", "orders-0")
    story.at(4).releases("c1", "orders-0")
    story.at(9).fetches("c2", "orders-0").fetches("c2", "orders-0").ended()
    assert [(one.stalls, one.stall_us) for one in measured(story)] == [(1, 8 * MS_US)]


def test_eager_meeting_keeps_everybody_from_work() -> None:
    """Sum of joining, syncing and revoking of three members."""
    story = eager_meeting()
    spells = [
        (50, 1_460, 40),  # c1: revoking from 100 to 150, joining to 1,610, syncing to 1,650
        (200, 10, 40),
        (0, 1_560, 40),
    ]
    assert sum(one.busy_us for one in measured(story)) == sum(map(sum, spells)) * MS_US


def test_sum_has_everything_but_names() -> None:
    """And an empty one is nothing."""
    one = Measured(rebalance_id="a", began_us=9, duration_us=1, cause="join", told=2, disturbed=1, stalls=3, stall_us=4)
    other = Measured(rebalance_id="b", began_us=5, busy_us=6, told=1)
    total = Measured(rebalance_id="", began_us=5, duration_us=1, told=3, disturbed=1, stalls=3, stall_us=4, busy_us=6)
    assert (summed([one, other]), summed([])) == (total, Measured(rebalance_id="", began_us=0))


def test_open_phase_and_open_rebalance_count_nothing() -> None:
    """The log ends in the middle."""
    story = Story()
    story.at(0).began(2).enters("c1", Phase.JOINING)
    assert [(one.duration_us, one.busy_us) for one in measured(story)] == [(0, 0)]
