"""What came of members, added up."""

import pyarrow as pa
import pyarrow.compute as pc

from bridge.analytics.stretches.shares import BALANCE, shares_of
from bridge.telemetry.schema.facts import Event, Fact
from bridge.telemetry.schema.terms import News, Protocol
from tests.support.fleet_words import MemberWords
from tests.support.spark import stamped
from tests.support.stretch_rows import stretch_of

ANNA, BEN = (MemberWords("g", "r1", 1, Protocol.CLASSIC, name) for name in ("anna", "ben"))


def shares(events: list[Event]) -> list[dict[str, object]]:
    """The rows of events, by member."""
    batch, _ = stretch_of(events)
    is_on_partitions = pc.starts_with(batch["kind"], "partitions-")
    found = shares_of(batch.filter(is_on_partitions), batch.filter(pc.invert(is_on_partitions)))
    return sorted(found.to_pylist(), key=lambda row: str(row["member_id"]))


def test_what_is_given_back_leaves_nothing() -> None:
    """The same partitions, in whatever pieces; who was told is told, and nobody else."""
    given: list[Fact] = [
        ANNA.told(News.REJOIN),
        ANNA.released(["t-0", "t-1"]),
        ANNA.assigned(["t-1"], 1),
        ANNA.assigned(["t-0"], 2),
    ]
    anna, ben = shares(stamped([*given, BEN.assigned(["t-2"], 1)]))
    assert [anna[name] for name in ("is_told", "is_touched", "is_gone", "lost", *BALANCE)] == [
        True,
        True,
        False,
        2,
        0,
        0,
        0,
    ]
    assert [ben[name] for name in ("is_told", "is_touched", "lost", "count")] == [False, False, 0, -1]
    assert ben["low"] != 0


def test_what_names_no_rebalance_is_nothing() -> None:
    """Nor is what only phases tell."""
    outside = MemberWords("g", "", 1, Protocol.CLASSIC, "anna")
    assert shares(stamped([outside.told(News.REVOKE), outside.released(["t-0"])])) == []
    assert shares_of(None, None) == pa.table({})
