"""Partition counts out of a log."""

from bridge.telemetry.schema.facts import TopicsChanged, TopicsSeen
from bridge.whatif.history import follow_topics
from bridge.whatif.inputs import TopicsBecame
from bridge.whatif.timed_events import on_one_timeline
from tests.support.event_stories import MS_US, START_WALL_US, Story
from translators.dialects.ids import TopicName

ORDERS = TopicName("orders")


def seen(*counts: tuple[str, int]) -> TopicsSeen:
    """A first look."""
    return TopicsSeen(topics=tuple(name for name, _ in counts), partition_counts=tuple(count for _, count in counts))


def changed(*counts: tuple[str, int]) -> TopicsChanged:
    """A later one."""
    return TopicsChanged(topics=tuple(name for name, _ in counts), partition_counts=tuple(count for _, count in counts))


def test_topics_seen_late_were_there_before_and_changes_happen_when_they_do() -> None:
    """`orders` is wanted, `bills` is not."""
    story = Story()
    story.at(1).joined("c1")
    story.at(2).tell(seen(("orders", 6), ("bills", 3)))
    story.at(3).tell(changed(("orders", 9), ("bills", 4)))
    grown = TopicsBecame(at_us=START_WALL_US + 3 * MS_US, event_id="b1-3", counts={ORDERS: 9})
    assert follow_topics(on_one_timeline(story.events), 0) == ({"orders": 6}, [grown])


def test_what_changed_before_the_group_s_first_event_counts_as_there() -> None:
    """A topic is found because somebody asks for it."""
    story = Story()
    story.at(1).tell(seen(("bills", 3)))
    story.at(2).tell(changed(("orders", 6)))
    story.at(2).joined("c1")
    assert follow_topics(on_one_timeline(story.events), 2) == ({"orders": 6}, [])


def test_topic_that_nobody_counts_has_what_somebody_was_given() -> None:
    """At least; once it is counted, that holds."""
    story = Story()
    story.at(1).joined("c1")
    story.at(2).gets("c1", "orders-0", "orders-4")
    story.at(3).tell(changed(("orders", 8)))
    grown = TopicsBecame(at_us=START_WALL_US + 3 * MS_US, event_id="b1-3", counts={ORDERS: 8})
    assert follow_topics(on_one_timeline(story.events), 0) == ({"orders": 5}, [grown])


def test_topic_that_goes_is_told_of() -> None:
    """Its count is 0 then."""
    story = Story()
    story.at(1).tell(seen(("orders", 6)))
    story.at(2).joined("c1")
    story.at(3).tell(changed(("orders", 0)))
    gone = TopicsBecame(at_us=START_WALL_US + 3 * MS_US, event_id="b1-3", counts={ORDERS: 0})
    assert follow_topics(on_one_timeline(story.events), 1) == ({"orders": 6}, [gone])
