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
Wang, 2021 (E-values: calibration, combination and applications, Annals of Statistics 49); bets that are best where a
given alternative holds: Grünwald, de Heide and Koolen, 2024 (Safe testing, JRSS B 86). The interval of the
difference of means: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, 2024 (Time-uniform central limit theory and
asymptotic confidence sequences, Annals of Statistics 52); asymptotic, so no verdict rests on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate
from math import inf, log, sqrt
from statistics import NormalDist, correlation, fmean, pstdev

from bridge.migration.canary.betting import EVEN, Style, bet, bet_on_signs, mean_bounds
from bridge.migration.canary.pairing import Pair
from bridge.migration.canary.scoring import TAIL_WARM_UP, TAILS, Score, Scored, quantile, score

OPEN_MINDED = Style()
"""Goes by what was seen so far."""
OF_TAILS = Style(boldness=0.95, variance=0.01)
"""Differences of tails are small: a bet on them may be bolder, and expects less spread before it has seen any."""
BELIEF_SHARE = 0.8
"""So much of what is bet against a worse treatment believes that the arms are alike, and wins soonest where they are;
the rest goes by what was seen, for those that are a little worse, or better.
"""
TIGHTEST_PAIRS = 200
"""The bounds of the difference of means are tightest after so many pairs."""
INDEPENDENT_P = 0.001
"""Neighbouring pairs are taken for dependent where chance makes them so alike less often than this."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A verdict, after how many pairs it was certain (None if never), and which assumptions the pairs contradict."""

    verdict: Verdict
    decided_after: int | None = None
    doubts: tuple[str, ...] = ()


def judge(pairs: Sequence[Pair], rules: Rules) -> Judgement | None:
    """Compare both sides of pairs; None if there is none."""
    if not pairs:
        return None
    scores = score(Scored(), pairs).scores
    found = decide(scores, rules)
    control = sorted(wait for pair in pairs for wait in pair.control)
    treatment = sorted(wait for pair in pairs for wait in pair.treatment)
    return Judgement(
        verdict=found.verdict,
        decided_after=found.decided_after,
        pairs=len(pairs),
        control_count=len(control),
        treatment_count=len(treatment),
        win_rate=win_rate(scores, rules.alpha),
        difference_s=mean_difference(scores, rules.alpha),
        control_mean_s=fmean(one.control_s for one in scores),
        tails=tuple(_tail(control, treatment, level) for level in TAILS),
        quantiles=tuple((level, quantile(control, level), quantile(treatment, level)) for level in (0.5, 0.95, 0.99)),
        doubts=found.doubts,
    )


def decide(scores: Sequence[Score], rules: Rules) -> Finding:
    """What the scores of all pairs so far come to. What was certain once stays so, unless a doubt arises."""
    doubts = doubts_about(scores)
    if doubts or len(scores) < rules.pairs_min:
        return Finding(verdict=Verdict.INSUFFICIENT, doubts=doubts)
    failed = _first_beyond(fortune_against_alike(scores), rules)
    passed = _first_beyond(fortune_against_worse(scores, rules), rules)
    if failed is not None and (passed is None or failed <= passed):
        return Finding(verdict=Verdict.FAIL, decided_after=failed)
    if passed is not None:
        return Finding(verdict=Verdict.PASSED, decided_after=passed)
    return Finding(verdict=Verdict.INSUFFICIENT)


def fortune_against_alike(scores: Sequence[Score]) -> list[float]:
    """What bets against arms that are alike have made after each pair: on the centre and on each tail, a third each."""
    bets = [bet([one.win for one in scores], EVEN, upward=True, style=OPEN_MINDED)]
    bets += [bet_on_signs([one.excesses[tail] for one in scores]) for tail in range(len(TAILS))]
    return [sum(fortunes) / len(bets) for fortunes in zip(*bets, strict=True)]


def fortune_against_worse(scores: Sequence[Score], rules: Rules) -> list[float]:
    """The poorer of two bets against a treatment beyond a margin: in how often it wins, and in its tail.

    Each counts as rich as it ever was: both have to be won, not at the same look.
    """
    of_wins = _against_more([one.win for one in scores], EVEN + rules.margin, OPEN_MINDED)
    # The difference lies in -1 to 1, and a bet is on what lies in 0 to 1.
    at_stake = [(one.excesses[0] + 1) / 2 for one in scores[TAIL_WARM_UP:]]
    worst = (rules.tail_margin + 1) / 2
    of_tail = [1.0] * min(TAIL_WARM_UP, len(scores))
    of_tail += _against_more(at_stake, worst, OF_TAILS)
    return [min(richest) for richest in zip(accumulate(of_wins, max), accumulate(of_tail, max), strict=True)]


def _against_more(values: Sequence[float], mean: float, style: Style) -> list[float]:
    """What two bets against this mean, or a larger one, have made together."""
    seen, believed = (bet(values, mean, upward=False, style=one) for one in (style, replace(style, believed=EVEN)))
    return [BELIEF_SHARE * two + (1 - BELIEF_SHARE) * one for one, two in zip(seen, believed, strict=True)]


def win_rate(scores: Sequence[Score], alpha: float) -> Interval:
    """How often the treatment wins: between the rates against which bets have won, at any look up to now."""
    wins = [one.win for one in scores]
    return Interval(fmean(wins), *mean_bounds(wins, alpha))


def mean_difference(scores: Sequence[Score], alpha: float) -> Interval:
    """How many seconds more a member of the treatment waits, from the means of each pair's sides.

    The bounds are an asymptotic confidence sequence, tightest at `TIGHTEST_PAIRS` pairs; infinite for a single pair.
    """
    differences = [one.treatment_s - one.control_s for one in scores]
    estimate, count = fmean(differences), len(differences)
    if count == 1:
        return Interval(estimate, -inf, inf)
    rho = (-2 * log(alpha) + log(-2 * log(alpha)) + 1) / TIGHTEST_PAIRS
    grown = count * rho + 1
    reach = pstdev(differences, estimate) * sqrt(2 * grown / (count**2 * rho) * log(sqrt(grown) / alpha))
    return Interval(estimate, estimate - reach, estimate + reach)


def doubts_about(scores: Sequence[Score]) -> tuple[str, ...]:
    """Which assumption the pairs contradict: that the one before says nothing about the next one."""
    wins = [one.win for one in scores]
    count = len(wins) - 1
    if count < 2 or len(set(wins[:-1])) == 1 or len(set(wins[1:])) == 1:
        return ()
    alike = correlation(wins[:-1], wins[1:])
    if alike * sqrt(count) < NormalDist().inv_cdf(1 - INDEPENDENT_P):
        return ()
    sentence = (
        f"a pair is like the one before it (correlation {alike:.2f}), so that error rates don't hold: something other "
        "than the treatment differs between the arms for a while; switch the treatment on and off more often"
    )
    return (sentence,)


def _first_beyond(fortune: Sequence[float], rules: Rules) -> int | None:
    """After how many pairs the bet was won for good, at least the minimum; None if it was not."""
    won = next((count for count, wealth in enumerate(fortune, 1) if wealth >= 1 / rules.alpha), None)
    return None if won is None else max(won, rules.pairs_min)


def _tail(control: Sequence[float], treatment: Sequence[float], level: float) -> Tail:
    threshold = quantile(sorted((*control, *treatment)), level)
    return Tail(
        level=level,
        threshold_s=threshold,
        control_share=sum(wait > threshold for wait in control) / len(control),
        treatment_share=sum(wait > threshold for wait in treatment) / len(treatment),
    )
