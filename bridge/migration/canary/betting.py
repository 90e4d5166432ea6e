"""Bets against a hypothesis that run along with values: a fortune of 1/alpha is as rare as alpha where it holds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

EVEN = 0.5
BOLDNESS = 0.5
"""No bet against a mean risks more than this part of what it could lose at most."""
SIGN_STAKES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7)
"""Bets on signs stake these parts of their fortunes; which one is right depends on how rare the slow ones are."""
SIZE_MEMORY = 0.9
"""How much of the usual size of a difference stays when another one is seen."""
GRID = tuple(percent / 100 for percent in range(1, 100))
"""The means of which `unbeaten` says whether they may be the true one."""
LEAST, MOST = 0.0, 1.0
"""No mean lies beyond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How stakes are chosen: what part of all that could be lost is risked at most, and which variance is expected
    before the first value. `believed` is the mean that is taken for the true one; without it, it is what was seen so
    far, which early on says little, so that a bet which is right wins late.
    """

    boldness: float = BOLDNESS
    variance: float = EVEN**2
    believed: float | None = None


def bet(values: Sequence[float], mean: float, *, upward: bool, style: Style) -> list[float]:
    """The fortune after each value of a bet that they are larger (upward) or smaller than `mean`, beginning with 1.

    Values lie in 0 to 1. Each stake depends on earlier values only, and can't lose more than is there.
    """
    least, most = (0.0, style.boldness / mean) if upward else (-style.boldness / (1 - mean), 0.0)
    fortune, fortunes = 1.0, list[float]()
    for value, (seen, spread) in zip(values, _before(values, style.variance), strict=True):
        gap = (seen if style.believed is None else style.believed) - mean
        fortune *= 1 + _stake(gap, spread, least, most) * (value - mean)
        fortunes.append(fortune)
    return fortunes


def bet_on_signs(values: Sequence[float]) -> list[float]:
    """The fortune after each value of bets that positive ones prevail, where without a reason a sign is a coin's.

    A value counts by its size against the sizes before, at most 1: one that is ten times larger is no ten votes.
    """
    fortunes, found = [1.0] * len(SIGN_STAKES), list[float]()
    usual = 0.0
    for value in values:
        if value:
            size = abs(value)
            vote = value / size if usual == 0.0 else max(-1.0, min(1.0, value / usual))
            usual = size if usual == 0.0 else SIZE_MEMORY * usual + (1 - SIZE_MEMORY) * size
            fortunes = [fortune * (1 + stake * vote) for fortune, stake in zip(fortunes, SIGN_STAKES, strict=True)]
        found.append(sum(fortunes) / len(fortunes))
    return found


def unbeaten(values: Sequence[float], alpha: float) -> list[float]:
    """Every mean of the grid against which no bet has won, in either direction, at any look up to now."""
    before = list(_before(values, EVEN**2))
    return [mean for mean in GRID if not _is_beaten(values, before, mean, alpha)]


def mean_bounds(values: Sequence[float], alpha: float) -> tuple[float, float]:
    """Between which two means the true one is, at every look at once.

    They are of the grid, and beaten: next to the last ones that are not, one may be true that nobody bet against. Where
    all of the grid are beaten, it is between those that are next to what was seen.
    """
    kept = unbeaten(values, alpha) or [fmean(values)]
    low = max((mean for mean in GRID if mean < min(kept)), default=LEAST)
    high = min((mean for mean in GRID if mean > max(kept)), default=MOST)
    return low, high


def _is_beaten(values: Sequence[float], before: Sequence[tuple[float, float]], mean: float, alpha: float) -> bool:
    most, least = BOLDNESS / mean, -BOLDNESS / (1 - mean)
    above = below = 1.0
    for value, (seen, spread) in zip(values, before, strict=True):
        gap = seen - mean
        if gap > 0:
            above *= 1 + _stake(gap, spread, 0.0, most) * (value - mean)
        else:
            below *= 1 + _stake(gap, spread, least, 0.0) * (value - mean)
        if (above + below) / 2 >= 1 / alpha:
            return True
    return False


def _stake(gap: float, spread: float, least: float, most: float) -> float:
    return max(least, min(most, gap / (spread + gap * gap)))


def _before(values: Sequence[float], variance: float) -> Iterator[tuple[float, float]]:
    """Mean and variance as they were seen before each value, with one as expected before the first."""
    seen, spread = EVEN, variance
    total = squares = 0.0
    for count, value in enumerate(values, 2):
        yield seen, spread
        total += value
        seen = (EVEN + total) / count
        squares += (value - seen) * (value - seen)
        spread = (variance + squares) / count
