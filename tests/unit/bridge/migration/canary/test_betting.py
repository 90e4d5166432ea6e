"""Bets are fair where their hypothesis holds, and never ruin who makes them."""

from itertools import product
from random import Random
from statistics import fmean

import pytest

from bridge.migration.canary.betting import EVEN, GRID, Style, bet, bet_on_signs, mean_bounds, unbeaten

STYLES = (Style(), Style(boldness=0.95, variance=0.01), Style(believed=EVEN))


@pytest.mark.parametrize("style", STYLES, ids=str)
def test_bet_never_loses_all_it_has(style: Style) -> None:
    """A fortune stays above zero, so that it can recover."""
    wins = [0.0, 1.0] * 50 + [0.0] * 100
    for mean in (0.05, 0.5, 0.95):
        assert min(bet(wins, mean, upward=True, style=style)) > 0
        assert min(bet(wins, mean, upward=False, style=style)) > 0
    assert min(bet_on_signs([win - 1.0 for win in wins])) > 0


def test_bet_on_signs_gains_nothing_where_signs_are_a_coins() -> None:
    """On average over all signs of given sizes it is a fair game: its mean is 1 at every look."""
    sizes = (0.1, 0.0, 0.4, 0.05, 1.0, 0.2)
    rows = [
        bet_on_signs([size * sign for size, sign in zip(sizes, signs, strict=True)])
        for signs in product((-1, 1), repeat=len(sizes))
    ]
    assert [fmean(fortunes) for fortunes in zip(*rows, strict=True)] == pytest.approx([1.0] * len(sizes))


@pytest.mark.parametrize("style", [*STYLES, Style(believed=0.9)], ids=str)
def test_bet_gains_nothing_against_what_is_true(style: Style) -> None:
    """A coin's throws, all of six: a bet on their mean is fair at every look, whatever is believed."""
    throws = [[float(throw) for throw in one] for one in product((0, 1), repeat=6)]
    rows = [bet(one, 0.5, upward=True, style=style) for one in throws]
    assert [fmean(fortunes) for fortunes in zip(*rows, strict=True)] == pytest.approx([1.0] * 6)


def test_bet_that_believes_the_truth_wins_sooner() -> None:
    """Of a hundred coins, against such as show heads in six of ten throws: what was seen of one leads astray early."""
    random = Random(11)
    coins = [[float(random.random() < EVEN) for _ in range(300)] for _ in range(100)]
    won = [
        sum(max(bet(coin, 0.6, upward=False, style=style)) >= 20 for coin in coins)
        for style in (Style(), Style(believed=EVEN))
    ]
    assert won[1] > won[0] + 5


def test_unbeaten_means_hold_the_truth() -> None:
    """Bounds at every look, that grow narrow."""
    random = Random(5)
    found = unbeaten([float(random.random() < 0.7) for _ in range(500)], 0.05)
    assert min(found) < 0.7 < max(found)
    assert max(found) - min(found) < 0.2


@pytest.mark.parametrize("sign", [1, -1])
def test_bounds_hold_a_mean_that_is_beyond_the_grid(sign: int) -> None:
    """A treatment that never wins, or always: nobody bets against 0 or 1, so they are in."""
    never = [0.0] * 100 if sign > 0 else [1.0] * 100
    low, high = mean_bounds(never, 0.05)
    assert low <= never[0] <= high
    assert high - low < 0.1


def test_bounds_hold_a_mean_between_two_of_the_grid() -> None:
    """After very many values all of the grid are beaten: the truth is between two of them, not what was seen last."""
    random = Random(3)
    low, high = mean_bounds([0.505 + random.choice((-0.05, 0.05)) for _ in range(20_000)], 0.05)
    assert (low, high) == (0.5, 0.51)


@pytest.mark.parametrize("mean", [0.0, 0.004, 0.25, 0.335, 0.996, 1.0])
def test_bounds_hold_the_truth_at_every_look(mean: float) -> None:
    """Of 40 runs, at most a few are outside at any of their looks, wherever the truth lies."""
    random, misses = Random(29), 0
    for _ in range(40):
        throws = [float(random.random() < mean) for _ in range(120)]
        looks = (mean_bounds(throws[:count], 0.05) for count in range(20, 121, 20))
        misses += any(not low <= mean <= high for low, high in looks)
    assert misses <= 5


def test_bounds_are_of_the_grid_or_all_there_is() -> None:
    """One value says nothing yet."""
    assert mean_bounds([0.5], 0.05) == (0.0, 1.0)
    assert set(mean_bounds([0.5] * 400, 0.05)) <= set(GRID)
