"""How long partitions stood still by the clients' diaries, and when that and the log's account are equal."""

from bridge.demo.events import Assigned, Mode, Partition, Revoked
from bridge.demo.judge_evidence import ClientLog
from tests.support.causes.diaries import Accounts, Standstill, felt

ONE, TWO = Partition("t", 0), Partition("t", 1)
S = 1_000_000_000


def diary(seat: str, number: int, *events: Assigned | Revoked, died_s: int | None = None) -> ClientLog:
    """What one process wrote down."""
    return ClientLog(seat=seat, number=number, events=events, died_ns=None if died_s is None else died_s * S)


def assigned(at_s: int, *partitions: Partition) -> Assigned:
    """An assigned callback has ended."""
    return Assigned(at_ns=at_s * S, partitions=partitions, mode=Mode.INCREMENTAL)


def revoked(at_s: int, *partitions: Partition) -> Revoked:
    """A revoked callback begins."""
    return Revoked(at_ns=at_s * S, partitions=partitions, mode=Mode.INCREMENTAL)


def test_partition_stands_still_between_two_owners() -> None:
    """From the revoked callback, or from death, to the next assigned one; what was before the event does not count."""
    diaries = [
        diary("a", 1, assigned(1, ONE), revoked(10, ONE)),
        diary("b", 2, assigned(2, TWO), died_s=10),
        diary("c", 3, assigned(12, ONE), assigned(15, TWO)),
    ]
    assert felt(diaries, {}, 5 * S) == Standstill(2, 7_000_000)
    assert felt(diaries, {}, 13 * S) == Standstill(1, 5_000_000)


def test_frozen_owner_uses_nothing_from_that_moment_on() -> None:
    """However late it hears that others have what it had; what it is given afterwards it uses."""
    diaries = [
        diary("a", 1, assigned(1, ONE), revoked(20, ONE), assigned(22, ONE)),
        diary("b", 2, assigned(12, ONE), revoked(21, ONE)),
    ]
    assert felt(diaries, {"a": 6 * S}, 5 * S) == Standstill(2, 7_000_000)


def test_accounts_are_equal_within_what_a_proxy_can_not_see() -> None:
    """Never where one of them counts a partition more."""
    told = Standstill(2, 7_000_000)
    assert Accounts(Standstill(2, 9_000_000), told).is_equal
    assert not Accounts(Standstill(2, 12_000_000), told).is_equal
    assert not Accounts(Standstill(3, 7_000_000), told).is_equal
    assert str(Accounts(told, told)) == "2 for 7.0 s, told 2 for 7.0 s"
