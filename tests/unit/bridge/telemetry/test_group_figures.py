"""What is counted for plans."""

from dataclasses import replace

import pytest

from bridge.telemetry import group_figures
from bridge.telemetry.event_log.sinks import Line
from bridge.telemetry.group_figures import GroupCounts, GroupFigures, GroupWaits
from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.rebalances.rebalance import Rebalance
from bridge.telemetry.schema.disturbance import IDLE
from bridge.telemetry.schema.facts import CommitPassed, Event, MemberLeft, MemberTold, Stamp
from bridge.telemetry.schema.terms import Carrier, Departure, News, Outcome, Protocol, Road
from tests.support.event_stories import cooperative_handover, eager_meeting
from tests.support.kept_text import kept_chars
from translators.dialects.kept_names import kept_name


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
    assert counts is not None
    assert (counts.rebalances, counts.disturbed >= 2, counts.stall_us > 2_200_000) == (2, True, True)
    assert figures.of("nobody") == GroupCounts()


def test_failures_and_losses_are_counted() -> None:
    """Who says that it leaves is not lost, and a commit without an error has not failed."""
    figures = GroupFigures()
    figures.write([left(departure) for departure in Departure])
    figures.write([committed("ILLEGAL_GENERATION"), committed(""), told(News.FENCED), told(News.REJOIN)])
    counts = figures.of("g")
    assert counts is not None
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
    assert figures.of("g") is figures.of("orders") is None


def waited(waits_max: int, *rebalances: Rebalance) -> list[GroupWaits]:
    """What is kept of them."""
    figures = GroupFigures(waits_max)
    for rebalance in rebalances:
        figures.take(rebalance)
    return list(figures.take_waits(waits_max))


def test_waits_of_members_are_kept_until_they_are_taken() -> None:
    """As much of them as every road shows; who did not wait is not named."""
    (handover,) = assemble(cooperative_handover().events)
    (waits,) = waited(10, handover)
    assert (waits.group_id, waits.began_wall_us) == ("orders", handover.began_wall_us)
    for member in handover.members:
        shown = sum(one.duration_us for one in member.stretches if one.phase not in IDLE)
        assert waits.waited_us.get(member.member_id, 0) == shown
    assert len(waits.waited_us) >= 1
    figures = GroupFigures(10)
    for _ in range(3):
        figures.take(handover)
    assert [len(figures.take_waits(2)) for _ in range(3)] == [2, 1, 0]


def test_rebalances_that_cut_one_another_short_are_one() -> None:
    """It began with the first, and each wait counts."""
    (first,) = assemble(cooperative_handover().events)
    cut = replace(first, outcome=Outcome.SUPERSEDED)
    second = replace(first, rebalance_id="second", supersedes=first.rebalance_id, began_wall_us=first.began_wall_us + 9)
    (alone,) = waited(10, first)
    (both,) = waited(10, cut, second)
    assert both.began_wall_us == first.began_wall_us
    assert both.waited_us == {member_id: 2 * wait for member_id, wait in alone.waited_us.items()}
    stranger = replace(second, supersedes="")
    assert [one.began_wall_us for one in waited(10, cut, stranger)] == [first.began_wall_us, second.began_wall_us]


def test_group_that_never_comes_to_rest_is_told_at_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts again and again has another id each time: what is kept of it must not grow with that."""
    (first,) = assemble(cooperative_handover().events)
    count = len(waited(1, first)[0].waited_us)
    monkeypatch.setattr(group_figures, "MEMBERS_MAX", 3 * count)
    chain = [
        replace(
            first,
            rebalance_id=f"r{number}",
            supersedes=f"r{number - 1}",
            outcome=Outcome.SUPERSEDED,
            members=tuple(replace(one, member_id=f"{one.member_id}-{number}") for one in first.members),
        )
        for number in range(7)
    ]
    assert [len(one.waited_us) for one in waited(10, *chain)] == [3 * count, 3 * count]


def test_only_so_many_waits_are_kept() -> None:
    """The newest; none at all where nobody asks for some."""
    (first,) = assemble(cooperative_handover().events)
    later = [replace(first, began_wall_us=number) for number in range(5)]
    assert [one.began_wall_us for one in waited(2, *later)] == [3, 4]
    assert waited(0, *later) == []


def test_long_names_are_not_kept_whole() -> None:
    """10,000 of them were 320 MB; each is still counted by itself, and so is what its members waited."""
    figures, names = GroupFigures(10), tuple("x" * 32_000 + end for end in "12")
    (told,) = assemble(cooperative_handover().events)
    for name in names:
        members = tuple(replace(one, member_id=f"{name}-{one.member_id}") for one in told.members)
        figures.take(replace(told, group_id=name, members=members, outcome=Outcome.SUPERSEDED))
        figures.take(replace(told, group_id=name, members=members))
    assert [counts.rebalances for name in names if (counts := figures.of(name)) is not None] == [2, 2]
    assert kept_chars(figures) < 32_000
    waits = figures.take_waits(10)
    assert [one.group_id for one in waits] == [kept_name(name) for name in names for _ in range(2)]
    assert len({frozenset(one.waited_us) for one in waits}) == 2
