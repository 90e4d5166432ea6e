"""Stalls within a stretch."""

from dataclasses import replace

from bridge.analytics.stretches.holdings import holdings
from bridge.analytics.stretches.stalls import stalls_within
from bridge.telemetry.schema.facts import Fact
from bridge.telemetry.schema.terms import Protocol
from tests.support.fleet_words import MemberWords
from tests.support.spark import stamped
from tests.support.stretch_rows import stretch_of

ANNA, BEN = (MemberWords("g", "r1", 1, Protocol.CLASSIC, name) for name in ("anna", "ben"))
BEGIN: list[Fact | tuple[int, Fact]] = [(1, ANNA.assigned(["t-0"], 1)), (2, ANNA.fetched(["t-0"]))]


def test_stall_behind_a_fetch_that_is_sure_is_told() -> None:
    """From when the partition was free until it is fetched from; the fetch before that is left, and what it follows."""
    moved: list[Fact | tuple[int, Fact]] = [
        (5, ANNA.released(["t-0"])),
        (7, BEN.assigned(["t-0"], 1)),
        (9, BEN.fetched(["t-0"])),
    ]
    rows, left = stalls_within(holdings(*stretch_of(stamped([*BEGIN, *moved]))))
    (row,) = rows.to_pylist()
    assert (row["before"], row["after"], row["stall_us"], row["fetched_event"]) == ("anna", "ben", 4_000, "b1-5")
    assert [(one["event_id"], one["is_done"]) for one in left.to_pylist()] == [
        ("b1-1", False),
        ("b1-2", False),
        ("b1-4", True),
        ("b1-5", True),
    ]


def test_stall_that_may_have_begun_elsewhere_is_left() -> None:
    """Nobody knows who was told before."""
    rows, left = stalls_within(holdings(*stretch_of(stamped([ANNA.released(["t-0"]), BEN.fetched(["t-0"])]))))
    assert (len(rows), len(left)) == (0, 2)


def test_what_is_given_again_is_no_row() -> None:
    """It neither ends a stall nor begins one."""
    again = replace(ANNA.assigned(["t-0"], 1), is_again=True)
    rows, left = stalls_within(holdings(*stretch_of(stamped([again]))))
    assert (len(rows), len(left)) == (0, 0)
