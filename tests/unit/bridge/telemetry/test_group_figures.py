"""What is counted for plans."""

import pytest

from bridge.telemetry import group_figures
from bridge.telemetry.event_log.sinks import Line
from bridge.telemetry.group_figures import GroupCounts, GroupFigures
from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.schema.facts import CommitPassed, Event, MemberLeft, MemberTold, Stamp
from bridge.telemetry.schema.terms import Carrier, Departure, News, Protocol, Road
from tests.support.event_stories import cooperative_handover, eager_meeting


def line(fact: CommitPassed | MemberLeft | MemberTold) -> Line:
    """A fact on its way to be written."""
    return Line(Event(Stamp("boot", 1, 0, 0), fact), b"")


def left(departure: Departure) -> Line:
    """A member goes."""
    return line(
        MemberLeft(group_id="g", road=Road.PASSING, member_id="m", protocol=Protocol.CLASSIC, departure=departure)
    )


def told(news: News) -> Line:
    """A member hears something."""
    fact = MemberTold(
        group_id="g",
        road=Road.PASSING,
        member_id="m",
        protocol=Protocol.CLASSIC,
        news=news,
        carrier=Carrier.HEARTBEAT,
    )
    return line(fact)


def committed(error: str) -> Line:
    """A member commits."""
    fact = CommitPassed(
        group_id="g",
        road=Road.PASSING,
        member_id="m",
        protocol=Protocol.CLASSIC,
        partitions=("t-0",),
        is_on_revoke=False,
        error=error,
    )
    return line(fact)


def test_rebalances_are_added_up() -> None:
    """With everybody who stood still or had to stop something."""
    figures = GroupFigures()
    for story in (cooperative_handover(), eager_meeting()):
        for rebalance in assemble(story.events):
            figures.take(rebalance)
    counts = figures.of("orders")
    assert (counts.rebalances, counts.disturbed >= 2, counts.stall_us > 2_200_000) == (2, True, True)
    assert figures.of("nobody") == GroupCounts()


def test_failures_and_losses_are_counted() -> None:
    """Who says that it leaves is not lost, and a commit without an error has not failed."""
    figures = GroupFigures()
    figures.write([left(departure) for departure in Departure])
    figures.write([committed("ILLEGAL_GENERATION"), committed(""), told(News.FENCED), told(News.REJOIN)])
    counts = figures.of("g")
    assert (counts.failed_commits, counts.lost, counts.errors) == (1, 7, 1)


def test_only_so_many_groups_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded; what is there nobody needs, nobody closes."""
    monkeypatch.setattr(group_figures, "GROUPS_MAX", 0)
    figures = GroupFigures()
    figures.write([committed("X")])
    for rebalance in assemble(eager_meeting().events):
        figures.take(rebalance)
    figures.tend()
    figures.close()
    assert figures.of("g") == figures.of("orders") == GroupCounts()
