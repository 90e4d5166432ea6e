"""Whether a treatment is worse than a control, from two rows of waiting times in the order they came about.

It must not know Spark, where the times come from, or what is decided by the verdict.

The judge compares distributions, not means. The i-th control and the i-th treatment make a pair; a pair is won by the
slower one. If both come from the same distribution the treatment wins half of the pairs in the long run, whatever the
distribution is. Two bets run along: one against "the treatment wins at most half", one against "it wins at least
half plus the margin". A bet's fortune is a non-negative martingale where its hypothesis holds, so it exceeds
1/alpha at *any* time with probability at most alpha (Ville): one may look after every pair and stop (betting as in
Waudby-Smith and Ramdas, 2024).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

EVEN = 0.5
BOLDNESS = 0.5
"""No bet risks more than this part of what it could lose at most."""
SHIFT_SAMPLE_MAX = 2_000
"""The shift is estimated from at most so many times of each side, taken evenly over the whole."""
GRID = np.linspace(0.01, 0.99, 99)

Times = NDArray[np.float64]


class Verdict(StrEnum):
    """What a comparison comes to."""

    PASSED = "pass"
    FAIL = "fail"
    INSUFFICIENT = "insufficient"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How sure the judge has to be: error rate of either verdict, how much more often than half the treatment may win
    and still pass, and the least number of pairs for a verdict.
    """

    alpha: float = 0.05
    margin: float = 0.1
    pairs_min: int = 30


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its bounds."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict, after how many pairs it was certain (None if never), and what it rests on.

    `win_rate` is how often the treatment is the slower one, with bounds that hold at every look at once; `shift` is the
    Hodges-Lehmann estimate of how much slower it is, with bounds for this one look; `quantiles` are those of control
    and treatment.
    """

    verdict: Verdict
    decided_after: int | None
    pairs: int
    control_count: int
    treatment_count: int
    win_rate: Interval
    shift: Interval
    quantiles: tuple[tuple[float, float, float], ...]


def judge(control: Sequence[float], treatment: Sequence[float], rules: Rules) -> Judgement | None:
    """Compare two rows of times; None if either is empty."""
    ours, theirs = np.asarray(treatment, dtype=np.float64), np.asarray(control, dtype=np.float64)
    pairs = min(len(ours), len(theirs))
    if not pairs:
        return None
    wins = np.where(ours[:pairs] > theirs[:pairs], 1.0, np.where(ours[:pairs] < theirs[:pairs], 0.0, EVEN))
    failed = _first_beyond(bet(wins, EVEN, upward=True), rules)
    passed = _first_beyond(bet(wins, EVEN + rules.margin, upward=False), rules)
    verdict, decided = _decide(failed, passed)
    return Judgement(
        verdict=verdict,
        decided_after=decided,
        pairs=pairs,
        control_count=len(theirs),
        treatment_count=len(ours),
        win_rate=win_rate(wins, rules.alpha),
        shift=shift(theirs, ours, rules.alpha),
        quantiles=tuple(
            (level, float(np.quantile(theirs, level)), float(np.quantile(ours, level))) for level in (0.5, 0.95, 0.99)
        ),
    )


def bet(wins: Times, mean: float, *, upward: bool) -> Times:
    """The fortune after each pair of a bet that wins are more (upward) or less frequent than `mean`, beginning with 1.

    Each stake depends on earlier pairs only, and can't lose more than is there.
    """
    stakes = _stakes(wins, mean)
    bound = BOLDNESS / mean if upward else BOLDNESS / (1 - mean)
    stakes = np.clip(stakes, 0, bound) if upward else np.clip(stakes, -bound, 0)
    return np.asarray(np.cumprod(1 + stakes * (wins - mean)), dtype=np.float64)


def win_rate(wins: Times, alpha: float) -> Interval:
    """How often the treatment wins: every rate against which no bet has won, at any look up to now."""
    kept = [
        float(rate)
        for rate in GRID
        if np.max((bet(wins, rate, upward=True) + bet(wins, rate, upward=False)) / 2) < 1 / alpha
    ]
    estimate = float(np.mean(wins))
    return Interval(estimate, min(kept, default=estimate), max(kept, default=estimate))


def shift(control: Times, treatment: Times, alpha: float) -> Interval:
    """How much slower the treatment is: the median of all differences, with Mann and Whitney's bounds."""
    theirs, ours = _thin(control), _thin(treatment)
    differences = np.sort(np.subtract.outer(ours, theirs), axis=None)
    count = len(differences)
    deviation = sqrt(len(ours) * len(theirs) * (len(ours) + len(theirs) + 1) / 12)
    reach = NormalDist().inv_cdf(1 - alpha / 2) * deviation
    low, high = int(max(0, count / 2 - reach)), int(min(count - 1, count / 2 + reach))
    return Interval(float(np.median(differences)), float(differences[low]), float(differences[high]))


def _stakes(wins: Times, mean: float) -> Times:
    """What the pairs so far advise to stake on the next one: mean and variance as seen, with half a pair before."""
    before = np.arange(1, len(wins) + 1)
    seen = (EVEN + np.cumsum(wins)) / (before + 1)
    variance = (EVEN**2 + np.cumsum((wins - seen) ** 2)) / (before + 1)
    seen = np.concatenate(([EVEN], seen[:-1]))
    variance = np.concatenate(([EVEN**2], variance[:-1]))
    return np.asarray((seen - mean) / (variance + (seen - mean) ** 2), dtype=np.float64)


def _first_beyond(fortune: Times, rules: Rules) -> int | None:
    """After how many pairs the bet was won for good, at least the minimum; None if it was not."""
    if len(fortune) < rules.pairs_min:
        return None
    won = np.flatnonzero(fortune >= 1 / rules.alpha)
    return max(int(won[0]) + 1, rules.pairs_min) if len(won) else None


def _decide(failed: int | None, passed: int | None) -> tuple[Verdict, int | None]:
    """Whichever was certain first; a tie is no pass."""
    if failed is not None and (passed is None or failed <= passed):
        return Verdict.FAIL, failed
    if passed is not None:
        return Verdict.PASSED, passed
    return Verdict.INSUFFICIENT, None


def _thin(times: Times) -> Times:
    stride = -(-len(times) // SHIFT_SAMPLE_MAX)
    return times[::stride]
