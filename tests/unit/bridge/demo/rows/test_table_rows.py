"""Rows and totals from hand-written logs. It must not know how they are drawn."""

import pytest

from bridge.demo.events import Ended, Event, Failed, Protocol
from bridge.demo.rows import MemberView, SeatRow, Totals, doing_of, rows_of, totals_of
from tests.support.fleet import MS, assigned, consumed, log, lost, partition, produced, revoked, started

VIEW = MemberView(client_id="a", protocol="consumer", state="Stable", generation=None, member_epoch=4)


def test_row_shows_the_latest_process_of_a_seat_and_counts_all_it_read() -> None:
    """The bridge's view is joined by seat and protocol, so a leaving classic process shows nothing of its successor."""
    old = log("a", started("a"), assigned(5, 0), consumed(6, 0, 0, 9), Ended(at_ns=8 * MS), died_ms=9)
    new = log("a", started("a", 10, Protocol.CONSUMER), assigned(20, 1, 0), consumed(21, 0, 10, 14), number=2)
    (row,) = rows_of([old, new], {("a", "consumer"): VIEW}, 9000 * MS)
    assert row == SeatRow(
        seat="a",
        library="confluent-kafka",
        protocol="consumer",
        state="Stable",
        generation="-",
        epoch="4",
        partitions=(partition(0), partition(1)),
        doing="waiting for records",
        read=15,
        alive=True,
    )
    (gone,) = rows_of([old], {("a", "classic"): VIEW}, 10 * MS)
    assert (gone.state, gone.partitions, gone.doing, gone.alive) == ("gone", (), "left the group", False)


@pytest.mark.parametrize(
    ("events", "doing"),
    [
        ((started("a"),), "joining the group"),
        ((assigned(100, 2, 3),), "was given 2, 3"),
        ((assigned(100),), "has no partition"),
        ((assigned(50, 2, 3), revoked(90, 2), assigned(100)), "gives up 2"),
        ((assigned(50, 2), revoked(100, 2)), "gives up 2"),
        ((assigned(50, 2), lost(100, 2)), "lost 2"),
        ((assigned(50, 2), Failed(at_ns=100 * MS, reason="x" * 60)), "x" * 47 + "…"),
    ],
)
def test_doing_is_the_last_thing_that_happened(events: tuple[Event, ...], doing: str) -> None:
    """A rebalance or a failure is shown while it is fresh."""
    assert doing_of(log("a", *events), 200 * MS) == doing


def test_doing_turns_to_reading_once_the_last_change_is_old() -> None:
    """After three seconds what counts is whether records still come."""
    one = log("a", assigned(0, 1), consumed(4000, 1, 0, 5))
    assert doing_of(one, 4001 * MS) == "reading"
    assert doing_of(one, 8001 * MS) == "waiting for records"
    assert doing_of(log("a", number=2), 1) == "starting"
    assert doing_of(log("a", assigned(0, 1), died_ms=3), 4 * MS) == "killed"


def test_totals_count_a_record_read_twice_once() -> None:
    """By the highest offset of each partition."""
    members = [log("a", consumed(1, 0, 0, 5)), log("b", consumed(2, 0, 4, 7))]
    assert totals_of([log("p", produced(0, 0, 9), produced(1, 0, 4))], members) == Totals(produced=15, read=8)
