"""Ownership rebuilt from callbacks. It must not know records or commits."""

from bridge.demo.events import Mode
from bridge.demo.judge_ownership import (
    Overlap,
    Ownership,
    Stall,
    by_partition,
    overlaps_in,
    owned_after,
    owned_at,
    ownerships_of,
    stalls_in,
)
from tests.support.fleet import MS, assigned, log, lost, partition, revoked


def ownership(who: str, index: int, began_ms: int, until_ms: int) -> Ownership:
    """A time of ownership, in milliseconds."""
    return Ownership(who=who, partition=partition(index), began_ns=began_ms * MS, until_ns=until_ms * MS)


def overlap(index: int, first: str, second: str, began_ms: int, until_ms: int) -> Overlap:
    """Two owners at once, in milliseconds."""
    return Overlap(
        partition=partition(index), first=first, second=second, began_ns=began_ms * MS, until_ns=until_ms * MS
    )


def test_owned_after_eager_assignment_is_the_whole_list() -> None:
    """Eager callbacks carry everything, incremental ones the difference (KIP-429)."""
    owned = frozenset({partition(0), partition(1)})
    assert owned_after(owned, assigned(1, 2, mode=Mode.EAGER)) == {partition(2)}
    assert owned_after(owned, assigned(1, 2)) == owned | {partition(2)}
    assert owned_after(owned, revoked(1, 1)) == {partition(0)}
    assert owned_after(owned, lost(1, 0, 1)) == frozenset()


def test_owned_at_counts_callbacks_up_to_the_instant_and_ends_with_death() -> None:
    """Owned = from the end of the assigned callback to the start of the revoked one or the death."""
    member = log("a", assigned(10, 0), assigned(20, 1), revoked(30, 0), died_ms=40)
    assert owned_at(member, 9 * MS) == frozenset()
    assert owned_at(member, 10 * MS) == {partition(0)}
    assert owned_at(member, 29 * MS) == {partition(0), partition(1)}
    assert owned_at(member, 30 * MS) == {partition(1)}
    assert owned_at(member, 40 * MS) == frozenset()


def test_stretches_end_at_revoke_lost_death_or_horizon() -> None:
    """Each way to stop owning ends an ownership."""
    dead = log("a", assigned(10, 0, 1, 2), revoked(20, 0), lost(30, 1), died_ms=40)
    assert set(ownerships_of(dead, 99 * MS)) == {
        ownership("a#1", 0, 10, 20),
        ownership("a#1", 1, 10, 30),
        ownership("a#1", 2, 10, 40),
    }
    assert ownerships_of(log("b", assigned(10, 0)), 99 * MS) == (ownership("b#1", 0, 10, 99),)


def test_stretch_of_a_partition_kept_by_an_eager_assignment_goes_on() -> None:
    """An eager assignment without a revoked callback before it does not interrupt what stays."""
    member = log("a", assigned(10, 0, 1, mode=Mode.EAGER), assigned(20, 0, mode=Mode.EAGER))
    assert set(ownerships_of(member, 30 * MS)) == {ownership("a#1", 1, 10, 20), ownership("a#1", 0, 10, 30)}


def test_by_partition_orders_by_begin() -> None:
    """The sweep for overlaps and stalls needs the order."""
    late, early, other = ownership("a", 0, 5, 6), ownership("b", 0, 1, 2), ownership("a", 1, 0, 9)
    assert dict(by_partition([late, other, early])) == {partition(0): [early, late], partition(1): [other]}


def test_overlap_of_one_millisecond_is_found_with_both_owners() -> None:
    """No partition is ever owned twice: who, where and when."""
    ownerships = [ownership("a", 0, 10, 21), ownership("b", 0, 20, 30), ownership("b", 1, 0, 30)]
    assert overlaps_in(ownerships) == (overlap(0, "a", "b", 20, 21),)


def test_handover_without_overlap_is_clean() -> None:
    """A new owner from the very instant of the revoke is no second owner, nor is one that owned for no time."""
    assert overlaps_in([ownership("a", 0, 10, 20), ownership("b", 0, 20, 30)]) == ()
    assert overlaps_in([ownership("a", 0, 10, 20), ownership("b", 0, 15, 15)]) == ()


def test_three_owners_at_once_are_three_pairs() -> None:
    """A long owner is compared with all that come within its time."""
    ownerships = [ownership("a", 0, 0, 50), ownership("b", 0, 10, 30), ownership("c", 0, 20, 40)]
    assert overlaps_in(ownerships) == (
        overlap(0, "a", "b", 10, 30),
        overlap(0, "a", "c", 20, 40),
        overlap(0, "b", "c", 20, 30),
    )


def test_stalls_are_gaps_between_first_owner_and_end() -> None:
    """A partition owned by nobody, in the middle and at the end, but not before its first owner."""
    ownerships = [ownership("a", 0, 10, 20), ownership("b", 0, 25, 40), ownership("a", 1, 0, 50)]
    assert stalls_in(ownerships, 50 * MS) == (
        Stall(partition=partition(0), began_ns=20 * MS, until_ns=25 * MS),
        Stall(partition=partition(0), began_ns=40 * MS, until_ns=50 * MS),
    )


def test_stall_is_cut_at_the_end_of_measuring() -> None:
    """What happens after the last step is not measured, also when an owner comes later."""
    (stall,) = stalls_in([ownership("a", 0, 10, 20), ownership("b", 0, 90, 95)], 50 * MS)
    assert stall.length_ms == 30
    assert stalls_in([ownership("a", 0, 60, 70), ownership("b", 0, 90, 95)], 50 * MS) == ()


def test_stall_inside_another_owners_time_is_none() -> None:
    """A short owner within a long one's time leaves no gap."""
    assert stalls_in([ownership("a", 0, 0, 50), ownership("b", 0, 10, 20)], 50 * MS) == ()
