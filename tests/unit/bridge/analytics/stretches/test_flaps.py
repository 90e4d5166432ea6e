"""Flaps within a stretch."""

from bridge.analytics.stretches.flaps import flaps_within
from bridge.analytics.stretches.holdings import holdings
from bridge.analytics.tables.definitions import FLAP_US
from bridge.telemetry.schema.terms import Protocol
from tests.support.fleet_words import MemberWords
from tests.support.spark import stamped
from tests.support.stretch_rows import stretch_of

ANNA, BEN = (MemberWords("g", "r1", 1, Protocol.CLASSIC, name).assigned(["t-0"], 1) for name in ("anna", "ben"))
WINDOW_MS = FLAP_US // 1_000


def test_return_is_told_from_the_third_change_on() -> None:
    """The first two may belong to what was before; that a partition is given twice is no change."""
    rows, left = flaps_within(holdings(*stretch_of(stamped([(1, ANNA), (2, BEN), (3, BEN), (5, ANNA), (9, BEN)]))))
    assert [(row["owner"], row["via"], row["away_us"]) for row in rows.to_pylist()] == [
        ("anna", "ben", 3_000),
        ("ben", "anna", 4_000),
    ]
    assert [(one["event_id"], one["is_done"]) for one in left.to_pylist()] == [
        ("b1-1", False),
        ("b1-2", False),
        ("b1-4", True),
        ("b1-5", True),
    ]


def test_return_behind_the_window_is_none() -> None:
    """The window counts from the loss; its end is in it."""
    for late, count in ((0, 1), (1, 0)):
        rows, _ = flaps_within(holdings(*stretch_of(stamped([(1, ANNA), (2, BEN), (2 + WINDOW_MS + late, ANNA)]))))
        assert len(rows) == count
