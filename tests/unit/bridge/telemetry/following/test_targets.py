"""How many partitions a target moves, and how many it had to."""

import pytest

from bridge.telemetry.following.targets import Moves, TargetBook, compare_shares, forced_minimum
from translators.dialects.ids import MemberId

A, B = MemberId("a"), MemberId("b")


def _book(**shares: str) -> TargetBook[str]:
    book: TargetBook[str] = TargetBook()
    for member, share in shares.items():
        book.assign(MemberId(member), frozenset(share))
    book.turn("".join(shares.values()), len("".join(shares.values())), is_alike=True)
    return book


@pytest.mark.parametrize(
    ("counts", "left", "partitions", "forced"),
    [
        ({}, 0, 0, 0),
        ({6: 1}, 0, 6, 0),
        ({6: 1, 0: 1}, 0, 6, 3),
        ({3: 2, 0: 1}, 0, 6, 2),
        ({2: 2}, 2, 6, 2),
        ({2: 1, 1: 2}, 0, 4, 0),
        ({4: 1, 0: 1}, 0, 7, 0),
    ],
)
def test_forced_minimum_is_what_balance_and_departures_ask_for(
    counts: dict[int, int], left: int, partitions: int, forced: int
) -> None:
    """Shares differ by one at most; who has more keeps the larger share."""
    assert forced_minimum(counts, left, partitions) == forced


def test_newcomer_moves_its_share_and_no_more() -> None:
    """Others' partitions stay."""
    book = _book(a="012345")
    book.join(MemberId("b"))
    book.assign(MemberId("a"), frozenset("012"))
    book.assign(MemberId("b"), frozenset("345"))
    assert book.turn("012345", 6, is_alike=True) == Moves(3, 3)


def test_swap_moves_what_need_not_move() -> None:
    """Moved beyond the minimum shows."""
    book = _book(a="01", b="23")
    book.assign(MemberId("a"), frozenset("23"))
    book.assign(MemberId("b"), frozenset("01"))
    assert book.turn("0123", 4, is_alike=True) == Moves(4, 0)


def test_partitions_of_who_left_move_and_new_ones_do_not() -> None:
    """A partition that nobody had has no other owner than before."""
    book = _book(a="01", b="23")
    book.leave(MemberId("b"))
    book.assign(MemberId("a"), frozenset("01234"))
    assert book.turn("01234", 5, is_alike=True) == Moves(2, 2)


def test_different_wishes_force_only_what_lost_its_owner() -> None:
    """Balance is no law where not everybody wants everything."""
    book = _book(a="0123")
    book.join(MemberId("b"))
    book.assign(MemberId("a"), frozenset("01"))
    book.assign(MemberId("b"), frozenset("23"))
    assert book.turn("0123", 4, is_alike=False) == Moves(2, 0)


def test_shares_are_compared_with_who_had_each_partition_last() -> None:
    """Kept, moved, new, and left behind by a member that is gone."""
    held = {"p0": A, "p1": A, "p2": B, "p3": MemberId("gone")}
    shares = {A: frozenset({"p0", "p2"}), B: frozenset({"p3", "p4"})}
    assert compare_shares(held, shares, is_alike=True) == Moves(moved=2, forced_minimum=1)
    assert compare_shares(held, shares, is_alike=False) == Moves(moved=2, forced_minimum=1)


def test_cooperative_leader_moves_a_partition_when_it_gives_it_away() -> None:
    """KIP-429: first nobody gets it, then the newcomer; it had to move, and moves once."""
    held = {"p0": A, "p1": A}
    assert compare_shares(held, {A: frozenset({"p0"}), B: frozenset()}, is_alike=True) == Moves(0, 0)
    assert compare_shares(held, {A: frozenset({"p0"}), B: frozenset({"p1"})}, is_alike=True) == Moves(1, 1)
    assert compare_shares({}, {A: frozenset({"p0"})}, is_alike=True) == Moves(0, 0)


def test_seat_that_is_taken_over_moves_nothing() -> None:
    """The newcomer has what the last holder had, and the next target counts from there."""
    book = _book(a="01", b="23")
    book.turn("0123", 4, is_alike=True)
    book.leave(A)
    book.seat(MemberId("c"), frozenset("01"))
    book.seat(MemberId("c"), frozenset("01"))
    book.assign(MemberId("c"), frozenset("0"))
    book.assign(B, frozenset("123"))
    assert book.turn("0123", 4, is_alike=True) == Moves(moved=1, forced_minimum=0)
    assert book.counts == {1: 1, 3: 1}
