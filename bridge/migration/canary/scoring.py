"""What each pair of rebalances says: who waits longer, and who is among the slowest of the pairs before."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, inf
from statistics import fmean

from bridge.migration.canary.pairing import Pair

TAILS = (0.95, 0.99)
"""The quantiles of all earlier pairs whose excess is looked at; a pass has to be certain at the first of them."""
TAIL_WARM_UP = 20
"""So many pairs make the first thresholds before anything is staked on tails."""
RECENT_PAIRS, THRESHOLD_PAIRS = 100, 10
"""Thresholds come from so many pairs at most, the newest before, and each holds for so many. Where load grows, those of
more pairs lag behind, and more members are beyond them on both sides, which tells less.
"""
NEARER_TO_NEXT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One pair: how often the treatment waits longer, its excess beyond each of `TAILS` (0 at first), and the mean
    waits of both sides in seconds.
    """

    win: float
    excesses: tuple[float, ...]
    control_s: float
    treatment_s: float


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of all pairs so far, the last pairs themselves, and the thresholds that hold for the next one."""

    scores: tuple[Score, ...] = ()
    recent: tuple[Pair, ...] = ()
    thresholds: tuple[float, ...] = (inf,) * len(TAILS)


def score(scored: Scored, pairs: Iterable[Pair]) -> Scored:
    """The same with further pairs: all at once or one after the other makes no difference."""
    scores, recent, thresholds = list(scored.scores), list(scored.recent), scored.thresholds
    for pair in pairs:
        beyond = len(scores) - TAIL_WARM_UP
        if beyond >= 0 and beyond % THRESHOLD_PAIRS == 0:
            del recent[:-RECENT_PAIRS]
            waits = sorted(wait for one in recent for side in (one.control, one.treatment) for wait in side)
            thresholds = tuple(quantile(waits, level) for level in TAILS)
        scores.append(
            Score(
                win=win_share(pair),
                excesses=tuple(tail_difference(pair, threshold) for threshold in thresholds),
                control_s=fmean(pair.control),
                treatment_s=fmean(pair.treatment),
            )
        )
        recent.append(pair)
    return Scored(tuple(scores), tuple(recent[-RECENT_PAIRS:]), thresholds)


def win_share(pair: Pair) -> float:
    """Of all ways to choose a member of each side, how often the treatment's waits longer; even counts half."""
    control = sorted(pair.control)
    won = sum(bisect_left(control, wait) + bisect_right(control, wait) for wait in pair.treatment)
    return won / len(pair.treatment) / 2 / len(control)


def tail_difference(pair: Pair, threshold: float) -> float:
    """The share of the treatment's members beyond the threshold less that of the control's.

    Both sides count equally many members: only then may either side as well be the other where the arms are alike.
    """
    if threshold == inf:
        return 0.0
    count = min(len(pair.control), len(pair.treatment))
    control, treatment = (
        sum(wait > threshold for wait in side[:count]) / count for side in (pair.control, pair.treatment)
    )
    return treatment - control


def quantile(ordered: Sequence[float], level: float) -> float:
    """Of values in their order, between neighbours in proportion."""
    place = (len(ordered) - 1) * level
    index = floor(place)
    share = place - index
    low, high = ordered[index], ordered[min(index + 1, len(ordered) - 1)]
    # From the nearer one, so that rounding never leads past a neighbour.
    return low + (high - low) * share if share < NEARER_TO_NEXT else high - (high - low) * (1 - share)
