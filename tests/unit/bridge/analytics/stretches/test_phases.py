"""Phases within a stretch."""

from bridge.analytics.stretches.phases import phases_within
from bridge.telemetry.schema.terms import Phase, Protocol
from tests.support.fleet_words import MemberWords
from tests.support.spark import START_US, stamped
from tests.support.stretch_rows import stretch_of

BEGAN, ENDED = MemberWords("g", "r1", 1, Protocol.CLASSIC, "anna").phase(Phase.JOINING)
OTHER_BEGAN, _ = MemberWords("g", "r1", 1, Protocol.CLASSIC, "ben").phase(Phase.JOINING)


def test_phase_is_told_where_its_end_follows() -> None:
    """Another member's begin between the two is nothing; that one is left, as nothing follows it."""
    rows, left = phases_within(*stretch_of(stamped([(1, BEGAN), (2, OTHER_BEGAN), (5, ENDED)])))
    (row,) = rows.to_pylist()
    assert (row["member_id"], row["is_closed"], row["duration_us"], row["ended_event"]) == ("anna", True, 4_000, "b1-3")
    assert row["began_us"] - START_US == 1_000
    assert [one["event_id"] for one in left.to_pylist()] == ["b1-2"]


def test_begin_behind_a_begin_shows_no_end_of_the_first() -> None:
    """So both are told: the second by its end."""
    rows, left = phases_within(*stretch_of(stamped([BEGAN, BEGAN, ENDED])))
    assert [(row["began_event"], row["ended_event"], row["is_closed"]) for row in rows.to_pylist()] == [
        ("b1-1", None, False),
        ("b1-2", "b1-3", True),
    ]
    assert not len(left)


def test_end_that_follows_nothing_is_left() -> None:
    """Its begin may be elsewhere."""
    rows, left = phases_within(*stretch_of(stamped([ENDED])))
    assert (len(rows), left["kind"].to_pylist()) == (0, [ENDED.kind])
