"""Rebalances given out when everything about them has happened. Rebalances handed to several takers."""

from dataclasses import replace
from itertools import pairwise

import pytest

from bridge.telemetry.cause.explain import explain
from bridge.telemetry.event_log.codec import encode_event
from bridge.telemetry.event_log.sinks import Line
from bridge.telemetry.rebalances import gathering
from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.rebalances.gathering import LINGER_US, OPEN_MAX, Gatherer, RebalanceSink
from bridge.telemetry.rebalances.rebalance import Rebalance
from bridge.telemetry.schema.facts import Event, GroupDeleted, Stamp
from bridge.telemetry.schema.lean import LIST_CHARS_MAX
from bridge.telemetry.schema.terms import Cause, News, Outcome, Phase
from tests.support.event_stories import Story, cooperative_handover
from tests.support.kept_text import kept_chars


def explained_handover() -> list[Event]:
    """A handover with what the bridge says at its end, and the first commit."""
    story = cooperative_handover()
    place = next(number for number, event in enumerate(story.events) if event.fact.kind == "rebalance-ended")
    del story.events[place + 1 :]
    said = explain(story.events)
    assert said is not None
    story.rebalance_id = said.rebalance_id
    story.at(3_011).tell(said)
    story.at(3_110).fetches("c4", "orders-4").leaves("c4", Phase.FETCHING)
    story.at(8_000).commits("c4", "orders-4")
    return story.events


def test_rebalance_given_out_after_first_fetch_and_commit() -> None:
    """Not before: they belong to it. It is the one that the whole log gives."""
    events = explained_handover()
    gatherer = Gatherer()
    for event in events[:-1]:
        gatherer.add(event)
        assert list(gatherer.settle(event.stamp.mono_us)) == []
    gatherer.add(events[-1])
    assert list(gatherer.settle(events[-1].stamp.mono_us)) == assemble(events)
    assert list(gatherer.flush()) == []


def test_members_that_are_gone_are_forgotten_beyond_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that come and go for years cost nothing; who is back is a member as any other."""
    monkeypatch.setattr(gathering, "DEPARTED_MAX", 2)
    story, gatherer = Story(), Gatherer()
    for name in ("a", "b", "c", "d"):
        story.at(0).joined(name)
        story.left(name)
    story.joined("c")
    story.left("e")
    for event in story.events:
        gatherer.add(event)
    assert gatherer.known == {"c", "d"}


def test_member_that_left_in_a_rebalance_is_told_of_though_it_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebalance under way keeps what its members told, however many have left since."""
    monkeypatch.setattr(gathering, "DEPARTED_MAX", 1)
    story, gatherer = Story().at(0), Gatherer()
    story.joined("a")
    for number in range(600):
        story.left(f"x{number}")
    story.at(9_000).began(1)
    for name in ("a", "b"):
        story.left(name)
    story.ended()
    for event in story.events:
        gatherer.add(event)
    said = explain(story.events)
    assert said is not None
    gatherer.add(Event(Stamp("b1", 2_000, 0, 9_001_000), said))
    (rebalance,) = gatherer.flush()
    assert {(member.member_id, member.library) for member in rebalance.members} >= {("a", "kafka-python")}


def test_events_before_rebalances_have_a_limit_over_all_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that come and go under ever new names cost nothing once there have been many; a rebalance goes on."""
    monkeypatch.setattr(gathering, "PAST_EVENTS_MAX", 300)
    handover, gatherer = explained_handover(), Gatherer()
    for event in handover[:-1]:
        gatherer.add(event)
    sizes: list[int] = []
    for number in range(200):
        story = Story(group=f"g{number}").at(0)
        story.joined("m")
        story.left("m")
        for event in story.began(1).ended().events:
            gatherer.add(replace(event, stamp=replace(event.stamp, number=1_000)))
        sizes.append(gatherer.kept)
    growth = [after - before for before, after in pairwise(sizes[100:])]
    assert growth == [2] * len(growth), "more stays than the events of open rebalances"
    gatherer.add(handover[-1])
    assert [one.group_id for one in gatherer.settle(8_000_000)] == ["orders"]


def test_events_of_rebalances_that_never_end_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand of them, each with all that may be told of it, would be more than there is room for."""
    monkeypatch.setattr(gathering, "OPEN_EVENTS_MAX", 10)
    monkeypatch.setattr(gathering, "PAST_EVENTS_MAX", 256)
    gatherer = Gatherer()
    for number in range(40):
        for event in Story(group=f"g{number}").at(0).began(1).told("m", News.REJOIN).events:
            gatherer.add(event)
    assert gatherer.kept == 10 + 80


def test_long_names_are_not_kept_for_rebalances_to_come() -> None:
    """Events name their group: of 10,000 that had a rebalance once 320 MB were kept. It is told as any other."""
    gatherer = Gatherer()
    for number in range(3):
        story = Story(group=f"{'x' * 32_000}{number}").at(0)
        story.joined("m")
        story.left("m")
        for event in story.began(1).target(1).explained().events:
            gatherer.add(event)
        assert [one.group_id[-1] for one in gatherer.flush()] == [str(number)]
        del story, event
    assert kept_chars(gatherer) < 32_000


def test_what_members_say_at_length_is_not_kept() -> None:
    """Who comes and goes, and says something else each time: a megabyte, for each of 20,000 events."""
    story, gatherer = Story(), Gatherer()
    count, topics, name = 50, 10_000, "n" * 32_000
    for number in range(count):
        story.at(number).rejoined(f"m{number}", topics=tuple(f"{number:06}-{place:06}" for place in range(topics)))
        story.left(f"m{number}")
        story.joined(f"{name}{number}")
        story.left(f"{name}{number}")
    for event in story.events:
        gatherer.add(event)
    del story, event
    assert kept_chars(gatherer) < count * (LIST_CHARS_MAX + 1_000)


def test_rebalance_given_out_after_a_while_anyway() -> None:
    """A member that never commits keeps nothing back."""
    events = explained_handover()[:-1]
    gatherer = Gatherer()
    for event in events:
        gatherer.add(event)
    ended_us = 3_011_000
    assert list(gatherer.settle(ended_us + LINGER_US)) == []
    assert [one.epoch for one in gatherer.settle(ended_us + LINGER_US + 1)] == [7]


def test_flush_gives_out_what_has_ended() -> None:
    """The bridge stops; a rebalance under way is nobody's result."""
    gatherer = Gatherer()
    for event in (*explained_handover()[:-1], *Story(group="b").at(0).began(1).events):
        gatherer.add(event)
    assert [one.group_id for one in gatherer.flush()] == ["orders"]


def test_member_introduced_long_ago_is_known() -> None:
    """Its library is told once, when it joins."""
    story = Story().at(0)
    story.joined("c1")
    for number in range(600):
        story.left(f"x{number}")
    introductions = story.events
    later = Story().at(90_000).began(3)
    later.told("c1", News.ASSIGN).ended()
    gatherer = Gatherer()
    for event in introductions:
        gatherer.add(event)
    for event in later.events:
        gatherer.add(replace(event, stamp=replace(event.stamp, number=event.stamp.number + 1_000)))
    said = explain(later.events)
    assert said is not None
    gatherer.add(Event(Stamp("b1", 2_000, 0, 90_001_000), said))
    (rebalance,) = gatherer.flush()
    assert [(member.member_id, member.library) for member in rebalance.members] == [("c1", "kafka-python")]


def test_rebalances_that_never_end_have_a_limit() -> None:
    """Beyond it they are counted."""
    gatherer = Gatherer()
    for number in range(OPEN_MAX + 3):
        for event in Story(group=f"g{number}").at(0).began(1).events:
            gatherer.add(event)
    assert gatherer.dropped == 3


def test_rebalance_whose_explanation_was_lost_is_given_out_all_the_same() -> None:
    """The log was full when it was told: what the log shows has to do, and it keeps nobody's place."""
    story = Story().at(0)
    story.left("c1")
    story.began(2).target(1).ended()
    gatherer = Gatherer()
    for event in story.events:
        gatherer.add(event)
    assert list(gatherer.settle(LINGER_US)) == []
    (found,) = gatherer.settle(LINGER_US + 1)
    assert (found.epoch, found.outcome, found.explained.cause) == (2, Outcome.COMPLETED, Cause.LEAVE)
    assert list(gatherer.flush()) == []


def test_rebalance_whose_end_was_lost_is_over_with_the_next_one_or_with_its_group() -> None:
    """Behind a thousand such nothing had a place any more, and metrics stood still for good."""
    gatherer = Gatherer()
    for number in range(20):
        again = Story(group=f"g{number}").at(0).began(1).at(1).began(2)
        if number % 2:
            again.tell(GroupDeleted(**again.about()))
        for event in again.events:
            gatherer.add(event)
        assert [one.epoch for one in gatherer.settle(2 * LINGER_US)] == ([1, 2] if number % 2 else [1])
    assert gatherer.dropped == 0


class Remembering:
    """Remembers what it takes."""

    def __init__(self) -> None:
        self.taken: list[Rebalance] = []
        self.is_closed = False

    def take(self, rebalance: Rebalance) -> None:
        self.taken.append(rebalance)

    def close(self) -> None:
        self.is_closed = True


class Failing(Remembering):
    """Fails every time."""

    def take(self, rebalance: Rebalance) -> None:
        raise RuntimeError(rebalance.rebalance_id)


def lines(events: list[Event]) -> list[Line]:
    """Events as the recorder hands them over."""
    return [Line(event, encode_event(event)) for event in events]


def test_failing_taker_costs_the_others_nothing() -> None:
    """It is counted and logged."""
    failing, remembering = Failing(), Remembering()
    sink = RebalanceSink([failing, remembering], lambda: 99_000_000)
    story = Story().at(0)
    story.left("c1")
    story.began(2).target(1).explained()
    sink.write(lines(story.events))
    assert [one.epoch for one in remembering.taken] == [2]
    assert (sink.fate.failures, sink.fate.written, sink.fate.lost) == (1, 0, 0)
    sink.close()
    assert failing.is_closed
    assert remembering.is_closed


def test_rebalance_that_owes_a_fetch_is_handed_out_in_time() -> None:
    """The recorder calls every second, though nothing comes."""
    now_us = 0
    remembering = Remembering()
    sink = RebalanceSink([remembering], lambda: now_us)
    story = Story().at(0)
    story.left("c1")
    story.began(2).gets("c2", "orders-0").explained()
    sink.write(lines(story.events))
    assert remembering.taken == []
    now_us = 60_000_000
    sink.tend()
    assert len(remembering.taken) == 1
