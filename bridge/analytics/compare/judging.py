"""Whether a treatment is worse than a control, from pairs of rebalances in the order they came about.


The unit is the rebalance, not the member: members of one rebalance wait for one another, so ten of them are nearly one
observation. A pair is a rebalance of each arm, close in time (`pairing`), and gives two figures that lie within known
bounds whatever the distribution is, and however alike the members of a rebalance are:

- the win share: of all ways to choose a member of each side, how often the treatment's waits longer (even counts half);
- the tail difference: the share of the treatment's members beyond a threshold less that of the control's, where the
  threshold is a quantile of all earlier pairs, both arms together.

If the arms are alike, either side of a pair may as well be the other: the win share is a half on average, and the sign
of the tail difference a coin's. Bets against that run along. A bet's fortune is a non-negative martingale where its
hypothesis holds, and so is the mean of several, so it exceeds 1/alpha at *any* time with probability at most alpha
(Ville, 1939): one may look after every pair and stop. Bets on bounded means: Waudby-Smith and Ramdas, 2024 (Estimating
means of bounded random variables by betting, JRSS B 86). Bets on symmetry: Ramdas, Ruf, Larsson and Koolen, 2020
(Admissible anytime-valid sequential inference must rely on nonnegative martingales). The mean of e-values: Vovk and
Wang, 2021 (E-values: calibration, combination and applications, Annals of Statistics 49). The interval of the
difference of means: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, 2024 (Time-uniform central limit theory and
asymptotic confidence sequences, Annals of Statistics 52); asymptotic, so no verdict rests on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf, log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from bridge.analytics.compare.pairing import Pair

EVEN = 0.5
BOLDNESS = 0.5
"""No bet against a mean risks more than this part of what it could lose at most."""
TAIL_BOLDNESS = 0.95
TAIL_VARIANCE = 0.01
"""Differences of tails are small: a bet on them may be bolder, and expects less spread before it has seen any."""
SIGN_STAKES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7)
"""Bets on signs stake these parts of their fortunes; which one is right depends on how rare the slow ones are."""
SIZE_MEMORY = 0.9
"""How much of the usual size of a difference stays when another one is seen."""
TIGHTEST_PAIRS = 200
"""The bounds of the difference of means are tightest after so many pairs."""
TAILS = (0.95, 0.99)
"""The quantiles of all earlier pairs whose excess is looked at; a pass has to be certain at the first of them."""
TAIL_WARM_UP = 20
"""So many pairs make the first thresholds before anything is staked on tails."""
RECENT_PAIRS, THRESHOLD_PAIRS = 200, 10
"""Thresholds come from so many pairs at most, the newest before, and each holds for so many."""
INDEPENDENT_P = 0.001
"""Neighbouring pairs are taken for dependent where chance makes them so alike less often than this."""
GRID = np.linspace(0.01, 0.99, 99)

Series = NDArray[np.float64]


class Verdict(StrEnum):
    """What a comparison comes to."""

    PASSED = "pass"
    FAIL = "fail"
    INSUFFICIENT = "insufficient"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How sure the judge has to be, and what it puts up with.

    `alpha` bounds the error rate of either verdict at all looks together. A treatment may win up to half of the pairs
    plus `margin`, and have up to `tail_margin` more of its members beyond the control's slowest twentieth, and still
    pass. A verdict takes at least `pairs_min` pairs.
    """

    alpha: float = 0.05
    margin: float = 0.1
    tail_margin: float = 0.05
    pairs_min: int = 30


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its bounds."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """A quantile of both arms together, in seconds, and the share of each arm's members beyond it."""

    level: float
    threshold_s: float
    control_share: float
    treatment_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict, after how many pairs it was certain (None if never), and what it rests on.

    `win_rate` is how often the treatment is the slower one, with bounds that hold at every look at once; `difference_s`
    is how many seconds more a member of the treatment waits in a rebalance, those who don't wait included, with
    asymptotic bounds for every look; `quantiles` are those of control and treatment. `doubts` says which assumptions
    the pairs contradict: with any of them there is no verdict.
    """

    verdict: Verdict
    decided_after: int | None
    pairs: int
    control_count: int
    treatment_count: int
    win_rate: Interval
    difference_s: Interval
    control_mean_s: float
    tails: tuple[Tail, ...]
    quantiles: tuple[tuple[float, float, float], ...]
    doubts: tuple[str, ...]


def judge(pairs: Sequence[Pair], rules: Rules) -> Judgement | None:
    """Compare both sides of pairs; None if there is none."""
    if not pairs:
        return None
    wins = np.array([win_share(pair) for pair in pairs])
    excesses = [tail_differences(pairs, level) for level in TAILS]
    doubts = doubts_about(wins)
    verdict, decided = _decide(
        _first_beyond(fortune_against_alike(wins, excesses), rules),
        _first_beyond(fortune_against_worse(wins, excesses[0], rules), rules),
    )
    if doubts:
        verdict, decided = Verdict.INSUFFICIENT, None
    control = np.concatenate([pair.control for pair in pairs])
    treatment = np.concatenate([pair.treatment for pair in pairs])
    return Judgement(
        verdict=verdict,
        decided_after=decided,
        pairs=len(pairs),
        control_count=len(control),
        treatment_count=len(treatment),
        win_rate=win_rate(wins, rules.alpha),
        difference_s=mean_difference(pairs, rules.alpha),
        control_mean_s=float(np.mean([np.mean(pair.control) for pair in pairs])),
        tails=tuple(_tail(control, treatment, level) for level in TAILS),
        quantiles=tuple(
            (level, float(np.quantile(control, level)), float(np.quantile(treatment, level)))
            for level in (0.5, 0.95, 0.99)
        ),
        doubts=doubts,
    )


def win_share(pair: Pair) -> float:
    """Of all ways to choose a member of each side, how often the treatment's waits longer; even counts half."""
    control = np.sort(pair.control)
    below = np.searchsorted(control, pair.treatment, side="left")
    up_to = np.searchsorted(control, pair.treatment, side="right")
    return float(np.mean(below + up_to) / 2 / len(control))


def tail_differences(pairs: Sequence[Pair], level: float) -> Series:
    """Per pair, the share of the treatment's members beyond the threshold less that of the control's, 0 at first.

    The threshold is this quantile of all times in the pairs before. Both sides count equally many members: only then
    may either side as well be the other where the arms are alike.
    """
    found = np.zeros(len(pairs))
    threshold = inf
    for index in range(TAIL_WARM_UP, len(pairs)):
        if (index - TAIL_WARM_UP) % THRESHOLD_PAIRS == 0:
            threshold = _quantile(pairs[max(0, index - RECENT_PAIRS) : index], level)
        control, treatment = pairs[index].control, pairs[index].treatment
        count = min(len(control), len(treatment))
        found[index] = np.mean(treatment[:count] > threshold) - np.mean(control[:count] > threshold)
    return found


def fortune_against_alike(wins: Series, excesses: Sequence[Series]) -> Series:
    """What bets against arms that are alike have made after each pair: on the centre and on each tail, a third each."""
    bets = [bet(wins, EVEN, upward=True), *(bet_on_signs(excess) for excess in excesses)]
    return np.asarray(np.mean(bets, axis=0), dtype=np.float64)


def fortune_against_worse(wins: Series, excess: Series, rules: Rules) -> Series:
    """The poorer of two bets against a treatment beyond a margin: in how often it wins, and in its tail.

    Each counts as rich as it ever was: both have to be won, not at the same look.
    """
    of_wins = bet(wins, EVEN + rules.margin, upward=False)
    # The difference lies in -1 to 1, and a bet is on what lies in 0 to 1.
    at_stake = (excess[TAIL_WARM_UP:] + 1) / 2
    of_tail = np.concatenate(
        (
            np.ones(min(TAIL_WARM_UP, len(excess))),
            bet(at_stake, (rules.tail_margin + 1) / 2, upward=False, boldness=TAIL_BOLDNESS, variance=TAIL_VARIANCE),
        )
    )
    return np.minimum(np.maximum.accumulate(of_wins), np.maximum.accumulate(of_tail))


def bet(values: Series, mean: float, *, upward: bool, boldness: float = BOLDNESS, variance: float = EVEN**2) -> Series:
    """The fortune after each value of a bet that they are larger (upward) or smaller than `mean`, beginning with 1.

    Values lie in 0 to 1. Each stake depends on earlier values only, and can't lose more than is there; `variance` is
    what is expected before the first.
    """
    stakes = _stakes(values, mean, variance)
    bound = boldness / mean if upward else boldness / (1 - mean)
    stakes = np.clip(stakes, 0, bound) if upward else np.clip(stakes, -bound, 0)
    return np.asarray(np.cumprod(1 + stakes * (values - mean)), dtype=np.float64)


def bet_on_signs(values: Series) -> Series:
    """The fortune after each value of bets that positive ones prevail, where without a reason a sign is a coin's.

    A value counts by its size against the sizes before, at most 1: one that is ten times larger is no ten votes.
    """
    votes = np.zeros(len(values))
    usual = 0.0
    for index in np.flatnonzero(values):
        size = abs(values[index])
        votes[index] = np.sign(values[index]) if usual == 0.0 else np.clip(values[index] / usual, -1, 1)
        usual = size if usual == 0.0 else SIZE_MEMORY * usual + (1 - SIZE_MEMORY) * size
    return np.asarray(np.mean([np.cumprod(1 + stake * votes) for stake in SIGN_STAKES], axis=0), dtype=np.float64)


def win_rate(wins: Series, alpha: float) -> Interval:
    """How often the treatment wins: every rate against which no bet has won, at any look up to now."""
    kept = [
        float(rate)
        for rate in GRID
        if np.max((bet(wins, rate, upward=True) + bet(wins, rate, upward=False)) / 2) < 1 / alpha
    ]
    estimate = float(np.mean(wins))
    return Interval(estimate, min(kept, default=estimate), max(kept, default=estimate))


def mean_difference(pairs: Sequence[Pair], alpha: float) -> Interval:
    """How many seconds more a member of the treatment waits, from the means of each pair's sides.

    The bounds are an asymptotic confidence sequence, tightest at `TIGHTEST_PAIRS` pairs; infinite for a single pair.
    """
    differences = np.array([np.mean(pair.treatment) - np.mean(pair.control) for pair in pairs])
    estimate, count = float(np.mean(differences)), len(differences)
    if count == 1:
        return Interval(estimate, -inf, inf)
    rho = (-2 * log(alpha) + log(-2 * log(alpha)) + 1) / TIGHTEST_PAIRS
    grown = count * rho + 1
    reach = float(np.std(differences)) * sqrt(2 * grown / (count**2 * rho) * log(sqrt(grown) / alpha))
    return Interval(estimate, estimate - reach, estimate + reach)


def doubts_about(wins: Series) -> tuple[str, ...]:
    """Which assumption the pairs contradict: that the one before says nothing about the next one."""
    count = len(wins) - 1
    if count < 2 or np.ptp(wins[:-1]) == 0 or np.ptp(wins[1:]) == 0:
        return ()
    alike = float(np.corrcoef(wins[:-1], wins[1:])[0, 1])
    if alike * sqrt(count) < NormalDist().inv_cdf(1 - INDEPENDENT_P):
        return ()
    sentence = (
        f"a pair is like the one before it (correlation {alike:.2f}), so that error rates don't hold: something other "
        "than the treatment differs between the arms for a while; switch the treatment on and off more often"
    )
    return (sentence,)


def _stakes(values: Series, mean: float, variance: float) -> Series:
    """What the values so far advise to stake on the next: mean and variance as seen, with one as expected before."""
    before = np.arange(1, len(values) + 1)
    seen = (EVEN + np.cumsum(values)) / (before + 1)
    spread = (variance + np.cumsum((values - seen) ** 2)) / (before + 1)
    seen = np.concatenate(([EVEN], seen[:-1]))
    spread = np.concatenate(([variance], spread[:-1]))
    return np.asarray((seen - mean) / (spread + (seen - mean) ** 2), dtype=np.float64)


def _first_beyond(fortune: Series, rules: Rules) -> int | None:
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


def _quantile(pairs: Sequence[Pair], level: float) -> float:
    """Of both sides together."""
    return float(
        np.quantile(np.concatenate([side for pair in pairs for side in (pair.control, pair.treatment)]), level)
    )


def _tail(control: Series, treatment: Series, level: float) -> Tail:
    threshold = float(np.quantile(np.concatenate((control, treatment)), level))
    return Tail(
        level=level,
        threshold_s=threshold,
        control_share=float(np.mean(control > threshold)),
        treatment_share=float(np.mean(treatment > threshold)),
    )
