"""A group's events on one line of time."""

from dataclasses import replace

from bridge.telemetry.schema.facts import Event, MemberRevived
from bridge.telemetry.schema.terms import Phase
from bridge.whatif.timed_events import first_known, introductions, last_mentions, older_members, on_one_timeline
from tests.support.event_stories import MS_US, START_WALL_US, Story, renumbered

LATER_US = 3_600_000_000


def moved(events: list[Event], by_us: int) -> list[Event]:
    """The same events at another wall clock."""
    return [replace(one, stamp=replace(one.stamp, wall_us=one.stamp.wall_us + by_us)) for one in events]


def joining() -> Story:
    """Two members come, 5 ms apart."""
    story = Story()
    story.at(1).joined("c1")
    story.at(6).joined("c2")
    return story


def test_time_within_a_run_is_monotonic_whatever_the_wall_clock_does() -> None:
    """It jumps back by a minute between the two events."""
    story = Story()
    story.at(1).joined("c1")
    story.clock_jumps(-60_000).at(6).joined("c2")
    assert [one.at_us for one in on_one_timeline(story.events)] == [START_WALL_US + ms * MS_US for ms in (1, 6)]


def test_next_run_begins_by_the_wall_clock_and_never_before_the_last() -> None:
    """An hour later, or, as the clock says, an hour earlier."""
    first = joining().events
    later = on_one_timeline([*first, *moved(renumbered(first, "b2"), LATER_US)])
    earlier = on_one_timeline([*first, *moved(renumbered(first, "b2"), -LATER_US)])
    assert later[2].at_us - later[1].at_us == LATER_US - 5 * MS_US
    assert [one.at_us - earlier[1].at_us for one in earlier[2:]] == [0, 5 * MS_US]


def test_members_are_known_from_their_first_word_about_themselves() -> None:
    """c1 joins, c2 is only heard to join again: it is older than the log."""
    story = joining()
    story.at(9).rejoined("c3")
    moments = on_one_timeline(story.events)
    assert {*introductions(moments)} == {"c1", "c2", "c3"}
    assert [*older_members(moments)] == ["c3"]
    assert last_mentions(moments) == {"c1": 0, "c2": 1, "c3": 2}
    assert first_known(moments) == 0


def test_history_is_known_after_the_last_word_of_who_never_says_what_it_wants() -> None:
    """c0 is met by its heartbeat (it has no topics), and gone before c1 comes."""
    story = Story()
    story.at(1).joined("c0")
    met = story.events.pop().fact
    inputs = {name: getattr(met, name) for name in ("group_id", "road", "member_id", "protocol", "client_id")}
    story.tell(MemberRevived(**inputs, client_host="h", session_timeout_ms=-1, rebalance_timeout_ms=-1))
    story.at(2).enters("c0", Phase.STABLE)
    story.at(3).left("c0")
    story.at(4).joined("c1")
    assert first_known(on_one_timeline(story.events)) == 3
