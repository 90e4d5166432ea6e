"""Events by the partition that they name."""

from bridge.analytics.stretches.holdings import ASSIGNED, holdings
from bridge.telemetry.schema.terms import Protocol
from tests.support.fleet_words import MemberWords
from tests.support.spark import stamped
from tests.support.stretch_rows import stretch_of

ANNA, BEN = (MemberWords("g", "r1", 1, Protocol.CLASSIC, name) for name in ("anna", "ben"))


def test_rows_of_a_partition_follow_one_another() -> None:
    """Each in the order of its events."""
    held = holdings(
        *stretch_of(stamped([ANNA.assigned(["t-0", "t-1"], 2), ANNA.released(["t-0"]), BEN.fetched(["t-1"])]))
    )
    places = held.row.argsort()
    assert held.partition_names(places).to_pylist() == ["t-0", "t-1", "t-0", "t-1"]
    assert held.first.tolist() == [0, 0, 2, 2]
    assert held.is_kind(ASSIGNED).tolist() == [True, False, True, False]


def test_what_is_left_is_as_events_of_one_partition() -> None:
    """With what Spark asks of them."""
    held = holdings(*stretch_of(stamped([ANNA.assigned(["t-0", "t-1"], 2)])))
    left = held.left(held.is_kind(ASSIGNED), held.is_kind(ASSIGNED)).to_pylist()
    assert [(row["kind"], row["partitions"], row["is_done"]) for row in left] == [
        (ASSIGNED, ["t-0"], True),
        (ASSIGNED, ["t-1"], True),
    ]
