"""Bets are fair where their hypothesis holds, and never ruin who makes them."""

from itertools import product
from random import Random
from statistics import fmean

import pytest

from bridge.migration.canary.betting import bet, bet_on_signs, unbeaten


def test_bet_never_loses_all_it_has() -> None:
    """A fortune stays above zero, so that it can recover."""
    wins = [0.0, 1.0] * 50 + [0.0] * 100
    for mean in (0.05, 0.5, 0.95):
        assert min(bet(wins, mean, upward=True)) > 0
        assert min(bet(wins, mean, upward=False)) > 0
    assert min(bet_on_signs([win - 1.0 for win in wins])) > 0


def test_bet_on_signs_gains_nothing_where_signs_are_a_coins() -> None:
    """On average over all signs of given sizes it is a fair game: its mean is 1 at every look."""
    sizes = (0.1, 0.0, 0.4, 0.05, 1.0, 0.2)
    rows = [
        bet_on_signs([size * sign for size, sign in zip(sizes, signs, strict=True)])
        for signs in product((-1, 1), repeat=len(sizes))
    ]
    assert [fmean(fortunes) for fortunes in zip(*rows, strict=True)] == pytest.approx([1.0] * len(sizes))


def test_bet_gains_nothing_against_what_is_true() -> None:
    """A coin's throws, all of six: a bet on their mean is fair at every look."""
    rows = [bet([float(throw) for throw in throws], 0.5, upward=True) for throws in product((0, 1), repeat=6)]
    assert [fmean(fortunes) for fortunes in zip(*rows, strict=True)] == pytest.approx([1.0] * 6)


def test_unbeaten_means_hold_the_truth() -> None:
    """Bounds at every look, that grow narrow."""
    random = Random(5)
    found = unbeaten([float(random.random() < 0.7) for _ in range(500)], 0.05)
    assert min(found) < 0.7 < max(found)
    assert max(found) - min(found) < 0.2
