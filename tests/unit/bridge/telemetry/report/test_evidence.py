"""What a log says of a group before and after its moves."""

from collections.abc import Sequence

import pytest

from bridge.telemetry.report.evidence import Chapter, Evidence, find_evidence
from bridge.telemetry.schema.facts import (
    BridgeStarted,
    BridgeStopped,
    CommitPassed,
    Event,
    Fact,
    GroupDeleted,
    MemberLeft,
    MoveEnded,
    PartitionsReleased,
    Stamp,
)
from bridge.telemetry.schema.terms import Protocol, Road
from tests.support.event_stories import cooperative_handover
from tests.support.moved_log import moved_log


def found(events: Sequence[Event], since_us: int | None = None, now_us: int | None = None) -> Evidence:
    """The evidence of the stories' group."""
    evidence = find_evidence(events, "orders", since_us, now_us)
    assert evidence is not None
    return evidence


def test_time_is_cut_at_the_moves() -> None:
    """Each rebalance counts where it began."""
    evidence = found(moved_log())
    before, after = evidence.chapters
    assert (before.title, after.title) == ("before the first move", "after move 1")
    assert (before.rebalances.total(), before.moved, before.forced) == (1, 1, 1)
    assert before.stall_s > 2
    assert (after.rebalances.total(), after.stall_s) == (0, 0)
    assert (after.failed_commits, after.lost, after.road) == (1, 1, "embedded")
    assert before.ended_us == after.began_us


def test_last_chapter_lasts_until_the_log_ends_whatever_group_it_tells_of() -> None:
    """What a move has done to a group that has been quiet since was said to have lasted 0 s."""
    events = moved_log()
    last = events[-1].stamp
    moved_us = events[-1].stamp.wall_us

    def later(step: int, fact: Fact) -> Event:
        return Event(Stamp(last.boot, last.number + step, moved_us + step * 10, last.mono_us + step * 10), fact)

    other = later(1, GroupDeleted(group_id="other", road=Road.EMBEDDED, rebalance_id="", group_epoch=0))
    stopped = later(2, BridgeStopped(reason="SIGTERM"))
    before = found(events).chapters[-1].duration_s
    assert found([*events, other]).chapters[-1].ended_us == moved_us + 10
    assert found([*events, other]).chapters[0] == found(events).chapters[0]
    assert found([*events, other, stopped], now_us=moved_us + 1_000).chapters[-1].ended_us == moved_us + 20
    assert found(events).chapters[-1].duration_s == before
    # No bridge has said that it stopped: it runs.
    assert found([*events, other], now_us=moved_us + 1_000).chapters[-1].ended_us == moved_us + 1_000
    assert found(events, now_us=0).chapters[-1].duration_s == before


def test_log_without_a_move_is_one_chapter() -> None:
    """And its last part can be asked for."""
    events = cooperative_handover().events
    assert [chapter.title for chapter in found(events).chapters] == ["all of the log"]
    assert found(events, since_us=0).chapters[0].rebalances.total() == 0
    assert find_evidence(events, "nobody") is None


def test_who_was_a_member_before_a_restart_is_one_no_more_unless_heard_again() -> None:
    """It may have gone while nobody listened."""
    events = cooperative_handover().events
    last = events[-1].stamp
    started = Event(Stamp("next", 1, last.wall_us, last.mono_us), BridgeStarted(bridge_version="1", is_revived=False))
    assert found(events).protocols
    assert not found([*events, started]).protocols


def test_member_that_left_is_none_although_what_it_gives_up_is_told_later() -> None:
    """A group all of whose members had left was said to need the bridge."""
    events = moved_log()
    last = events[-1].stamp
    assert isinstance(events[-1].fact, MemberLeft)
    released = PartitionsReleased(
        group_id="orders", road=Road.EMBEDDED, member_id="c1", protocol=Protocol.CONSUMER, partitions=("orders-1",)
    )
    later = Event(Stamp(last.boot, last.number + 1, last.wall_us, last.mono_us), released)
    assert found([*events, later]).protocols == found(events).protocols


def test_group_that_the_bridge_no_longer_has_is_not_said_to_be_on_its_road() -> None:
    """It went back to its broker, of which nothing was heard yet."""
    events = [event for event in moved_log() if not isinstance(event.fact, CommitPassed | MemberLeft)]
    last = events[-1].stamp
    deleted = GroupDeleted(group_id="orders", road=Road.EMBEDDED)
    evidence = found([*events, Event(Stamp(last.boot, last.number + 1, last.wall_us, last.mono_us), deleted)])
    assert evidence.chapters[-1].road == ""


def test_chapter_behind_a_move_has_the_road_that_it_left_the_group_on() -> None:
    """One that was stopped had tried another, and a group that rests says nothing afterwards."""
    events = [event for event in moved_log() if not isinstance(event.fact, MemberLeft)]
    last = events[-1].stamp
    ended = MoveEnded(group_id="orders", road=Road.PASSING)
    evidence = found([*events, Event(Stamp(last.boot, last.number + 1, last.wall_us, last.mono_us), ended)])
    assert found(events).chapters[-1].road == "embedded"
    assert evidence.chapters[-1].road == "pass"


@pytest.mark.parametrize(
    ("protocols", "road", "beginning"),
    [
        ({}, "pass", "The log does not say"),
        ({"classic": 2, "consumer": 1}, "upstream", "2 members speak the classic protocol, of 3 in all"),
        ({"consumer": 3}, "embedded", "The group (3 members) speaks the new protocol, but the bridge"),
        ({"consumer": 3}, "upstream", "This group no longer needs the bridge"),
        ({"consumer": 3}, "pass", "This group no longer needs the bridge"),
    ],
)
def test_verdict_says_whether_the_bridge_is_needed(protocols: dict[str, int], road: str, beginning: str) -> None:
    """By what members speak, and who coordinates them."""
    chapter = Chapter(title="t", began_us=0, road=road)
    assert Evidence("g", (chapter,), protocols).verdict.startswith(beginning)
