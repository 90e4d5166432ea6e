"""How much moved is judged in every step, also where one rebalance cut another short."""

import pytest

from tests.support.two_accounts import Account, misjudged_moves


def account(moved: int, cut_short: int = 0) -> Account:
    """Of one step."""
    return Account(halts=(), disturbed={}, moved={"step": moved}, cut_short={"step": cut_short})


@pytest.mark.parametrize(
    ("moved", "cut_short", "seen", "is_right"),
    [
        (4, 0, 4, True),
        (4, 0, 3, False),
        (4, 0, 5, False),
        (6, 2, 6, True),
        (6, 2, 4, True),
        (6, 2, 2, True),
        (6, 2, 1, False),
        (6, 2, 7, False),
        (3, 3, 0, True),
    ],
)
def test_clients_saw_what_targets_moved_but_for_what_was_cut_short(
    moved: int, cut_short: int, seen: int, is_right: bool
) -> None:
    """Each move that was cut short is not seen, or undone by the next: two less at most, and never one more."""
    assert (misjudged_moves(account(moved, cut_short), account(seen)) == {}) is is_right
