"""When a fleet has settled, from hand-written logs. It must not start any process."""

from collections.abc import Sequence

import pytest

from bridge.demo.events import Failed
from bridge.demo.fleet import last_failures, uncommitted, unconfirmed, unread, unsettled
from bridge.demo.judge_evidence import ClientLog
from tests.support.fleet import MS, assigned, committed, consumed, log, partition, produced, revoked

PARTITIONS = (partition(0), partition(1))


def judged(*members: ClientLog) -> str | None:
    """Asked at 100 ms about the time since 80 ms."""
    return unsettled(members, PARTITIONS, 80 * MS, 100 * MS)


def test_every_partition_owned_once_and_quiet_is_settled() -> None:
    """Each partition has exactly one live owner and nothing moved."""
    assert judged(log("a", assigned(10, 0)), log("b", assigned(20, 1), number=2)) is None


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ((log("a", assigned(10, 0)),), "orders-1 has 0 owners"),
        ((log("a", assigned(10, 0, 1)), log("b", assigned(20, 1))), "orders-1 has 2 owners"),
        ((log("a", assigned(10, 0, 1)), log("b", number=2)), "b#2 owns nothing yet"),
        ((log("a", assigned(81, 0, 1)),), "a#1 still changes"),
        ((log("a", assigned(10, 0, 1), revoked(85, 5)),), "a#1 still changes"),
        ((), "orders-0 has 0 owners; orders-1 has 0 owners"),
    ],
)
def test_fleet_not_settled_says_why(members: Sequence[ClientLog], why: str) -> None:
    """The reason goes into the error when time is up."""
    assert judged(*members) == why


def test_idle_member_is_settled_when_partitions_are_too_few() -> None:
    """More members than partitions: someone must be idle."""
    assert judged(log("a", assigned(10, 0)), log("b", assigned(20, 1)), log("c", number=3)) is None


def test_unread_names_partitions_that_are_behind() -> None:
    """Read = some member came to the last acknowledged offset."""
    producers = [log("p", produced(0, 0, 4), produced(0, 5, 9), produced(1, 0, 3))]
    assert unread(producers, [log("a", consumed(1, 0, 0, 9)), log("b", consumed(1, 1, 0, 3))]) is None
    assert unread(producers, [log("a", consumed(1, 0, 0, 8))]) == (
        "orders-0: read up to 8 of 9; orders-1: read up to -1 of 3"
    )


def test_member_is_confirmed_by_a_commit_of_its_own_after_the_instant() -> None:
    """Neither an earlier commit nor another member's counts."""
    members = [log("a", committed(79, [(0, 5)]), committed(81, [(0, 6)])), log("b", committed(79, [(1, 3)]), number=2)]
    assert unconfirmed(members, 80 * MS) == "b#2 had no commit taken since"
    assert unconfirmed(members, 78 * MS) is None


def test_last_failures_names_the_last_of_each_member() -> None:
    """Error messages carry what the clients reported."""
    member = log("a", Failed(at_ns=1, reason="first"), Failed(at_ns=2, reason="second"))
    assert last_failures([member, log("b", assigned(1, 0))]) == "a#1: second"
    assert last_failures([]) == "no member reported a failure"


def test_uncommitted_names_partitions_that_were_read_farther() -> None:
    """Whoever committed, and whoever read."""
    members = [log("a", consumed(1, 0, 0, 9), committed(2, [(0, 10)])), log("b", consumed(3, 1, 0, 4), number=2)]
    assert uncommitted(members) == "orders-1: committed 0 of 5"
    assert uncommitted([*members, log("c", committed(4, [(1, 5)]), number=3)]) is None
