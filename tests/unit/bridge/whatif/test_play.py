"""A whole play: what it brings forth, and what made it."""

from dataclasses import replace

import pytest

from bridge.telemetry.schema.facts import (
    GroupCreated,
    MemberJoined,
    MemberLeft,
    PartitionsReleased,
    RebalanceBegan,
    TopicsSeen,
)
from bridge.telemetry.schema.terms import Departure, Protocol, Road
from bridge.whatif.configuration import configure
from bridge.whatif.history import read_history
from bridge.whatif.inputs import History
from bridge.whatif.play import Prediction, Trigger, predict
from tests.support.event_stories import MS_US, START_WALL_US, Story
from tests.support.whatif_history import BEGINS_US, SECOND_US, at, came, client, grown, history, left, silent

OWN = configure(None, None, ["group.consumer.session.timeout.ms=8000"])


def kind(found: Prediction) -> Protocol:
    """What the group of a play is."""
    return next(event.fact.group_type for event in found.events if isinstance(event.fact, GroupCreated))


def test_group_is_what_it_was_unless_another_protocol_is_asked_for() -> None:
    """Without a wish the record decides."""
    one = history(came(0, "a"))
    classic = replace(one, is_classic=True)
    assert [kind(predict(each, OWN)) for each in (one, classic)] == [Protocol.CONSUMER, Protocol.CLASSIC]
    assert kind(predict(classic, configure("consumer", None, ()))) is Protocol.CONSUMER


def test_each_rebalance_names_the_input_that_made_it() -> None:
    """A death makes one when the session is over, though another input has come since."""
    inputs = (came(0, "a"), came(1, "b"), silent(10, "a"), grown(12, 9), left(30, "b"))
    found = predict(history(*inputs), OWN).triggers
    assert [one.event_id for one in found] == ["a came", "b came", "orders grew", "a fell silent", "b left"]


def test_founders_join_before_and_nothing_of_that_is_told() -> None:
    """But what topics there are, without which the play would be no record; their rebalance is nobody's."""
    one = history(came(5, "b"), founders=(client("a"),))
    found = predict(one, OWN)
    assert isinstance(found.events[0].fact, TopicsSeen)
    began = [event for event in found.events if isinstance(event.fact, RebalanceBegan)]
    assert [event.stamp.wall_us for event in began] == [at(5)]
    assert all(event.stamp.wall_us >= BEGINS_US for event in found.events[1:])
    assert [one.event_id for one in found.triggers] == ["", "b came"]


@pytest.mark.parametrize(("session_ms", "gone_s"), [(15_000, [45]), (60_000, [])])
def test_process_that_was_frozen_is_out_for_as_long_as_its_session_says(session_ms: int, gone_s: list[int]) -> None:
    """It joined 25 s before it was put out: by the session that most have it would have fallen silent before that."""
    story = Story(road=Road.PASSING, protocol=Protocol.CONSUMER)
    for member in ("c1", "c2"):
        joins(story.at(20_000), member)
    story.at(45_000).left("c1", Departure.SESSION_EXPIRED)
    released = story.releases("c1", "orders-0").events.pop()
    assert isinstance(released.fact, PartitionsReleased)
    story.events.append(replace(released, fact=replace(released.fact, idle_us=15_000 * MS_US)))
    joins(story.at(46_300), "c1")
    story.gets("c1", "orders-0").gets("c2", "orders-1")
    history = read_history("orders", story.events)
    assert isinstance(history, History)
    wanted = configure("consumer", None, (f"group.consumer.session.timeout.ms={session_ms}",))
    told = [event for event in predict(history, wanted).events if isinstance(event.fact, MemberLeft)]
    assert [(event.stamp.wall_us - START_WALL_US) // SECOND_US for event in told] == gone_s


def joins(story: Story, member: str) -> None:
    """A member of the new protocol comes, and does not say for how long its session is."""
    joined = story.joined(member)
    assert isinstance(joined.fact, MemberJoined)
    story.events[-1] = replace(joined, fact=replace(joined.fact, session_timeout_ms=-1))


def test_history_without_anything_is_no_play() -> None:
    """It ends at once."""
    empty: History = history()
    found = predict(empty, OWN)
    assert (len(found.events), found.triggers) == (1, ())


def test_trigger_is_a_value() -> None:
    """So that links can be compared."""
    assert Trigger("e", "r") == Trigger("e", "r")
