"""Trials of the canary judge: fleets with a known truth, many runs each, and how often each verdict comes about.

`python -m tests.support.judge_trials` writes the tables of `docs/reference/canary-judge.md`; the unit tests play a few.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bridge.migration.canary.judging import Rules, Verdict, judge
from bridge.migration.canary.pairing import Pair

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "canary-judge.md"
MARKS = ("<!-- trials -->", "<!-- end of trials -->")
RULES = Rules()
PARETO_SHAPE = 1.5
"""Without a variance: the heaviest tail that still has a mean."""
RUNS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A fleet: members of each rebalance, how alike their waits are, of what kind, and what the treatment does to them.

    `is_whole`: where some waits are longer, all members of such a rebalance have them. `drift`: how much longer waits
    are at the end than at the beginning, on both arms. `idle`: the share of members that a rebalance leaves alone.
    `is_within`: each rebalance has members of both arms, which have in common what all of it have.
    """

    name: str
    members: int = 10
    correlation: float = 0.5
    is_pareto: bool = False
    spread: float = 0.5
    pairs: int = 400
    factor: float = 1.0
    long_share: float = 0.0
    is_whole: bool = False
    drift: float = 0.0
    idle: float = 0.0
    is_within: bool = False


ALIKE = (
    *(
        Trial(
            name=f"lognormal, {members} members, correlation {correlation:g}", members=members, correlation=correlation
        )
        for members in (3, 10, 30)
        for correlation in (0.0, 0.5, 0.9)
    ),
    Trial(name="Pareto, 10 members, correlation 0.5", is_pareto=True),
    Trial(name="Pareto, 3 members, correlation 0.9", is_pareto=True, members=3, correlation=0.9),
    Trial(name="lognormal, waits grow fivefold on both arms", drift=4.0),
    Trial(name="lognormal, seven of ten members left alone", idle=0.7),
    Trial(name="lognormal, 10 members, correlation 0.9, 800 pairs", correlation=0.9, pairs=800),
    Trial(name="lognormal, 10 members of each arm in one rebalance, correlation 0.9", correlation=0.9, is_within=True),
)
DIFFERENT = (
    Trial(name="50 % slower, 200 pairs", factor=1.5, pairs=200),
    Trial(name="50 % slower, wide spread, 200 pairs", factor=1.5, pairs=200, spread=1.0),
    Trial(name="50 % slower, Pareto, 200 pairs", factor=1.5, pairs=200, is_pareto=True),
    Trial(name="30 % slower, 400 pairs", factor=1.3),
    Trial(name="5 % of waits 30 times longer, 400 pairs", long_share=0.05),
    Trial(name="5 % of rebalances 30 times longer, 400 pairs", long_share=0.05, is_whole=True),
    Trial(name="5 % of waits 30 times longer, Pareto, 400 pairs", long_share=0.05, is_pareto=True),
    Trial(name="20 % faster, 200 pairs", factor=0.8, pairs=200),
)


def play(trial: Trial, runs: int, seed: int) -> dict[Verdict, float]:
    """How often each verdict comes about, looked at after every pair."""
    random = np.random.default_rng(seed)
    counts = dict.fromkeys(Verdict, 0)
    control = replace(trial, factor=1.0, long_share=0.0)
    for _ in range(runs):
        found = judge([_pair(control, trial, at, random) for at in range(trial.pairs)], RULES)
        assert found is not None
        counts[found.verdict] += 1
    return {verdict: count / runs for verdict, count in counts.items()}


def _pair(control: Trial, trial: Trial, at: int, random: np.random.Generator) -> Pair:
    shared = random.normal()
    other = shared if trial.is_within else random.normal()
    return Pair(
        control=_rebalance(control, at, shared, random),
        treatment=_rebalance(trial, at, other, random),
    )


def _rebalance(trial: Trial, at: int, shared: float, random: np.random.Generator) -> tuple[float, ...]:
    """How long each member waits: normal scores with a part in common, turned into the distribution wanted."""
    own = random.normal(size=trial.members)
    scores = np.sqrt(trial.correlation) * shared + np.sqrt(1 - trial.correlation) * own
    waits = _pareto(scores) if trial.is_pareto else np.exp(trial.spread * scores)
    waits = waits * trial.factor * (1 + trial.drift * at / trial.pairs)
    if trial.long_share:
        draws = random.random() if trial.is_whole else random.random(trial.members)
        waits = np.where(draws < trial.long_share, waits * 30, waits)
    if trial.idle:
        waits = np.where(random.random(trial.members) < trial.idle, 0.0, waits)
    return tuple(float(wait) for wait in waits)


def _pareto(scores: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    # The logistic curve is near enough to the normal one: the tail is what it is about.
    return np.asarray((1 + np.exp(1.702 * scores)) ** (1 / PARETO_SHAPE), dtype=np.float64)


def table(trials: Sequence[Trial], runs: int) -> list[str]:
    """Lines of Markdown."""
    lines = ["| fleet | fail | pass | insufficient |", "| --- | --- | --- | --- |"]
    for number, trial in enumerate(trials):
        found = play(trial, runs, seed=1_000 + number)
        shares = (found[Verdict.FAIL], found[Verdict.PASSED], found[Verdict.INSUFFICIENT])
        lines.append(f"| {trial.name} | {' | '.join(f'{share:.1%}' for share in shares)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def main() -> None:
    """Write the tables of the page."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = (text.index(mark) for mark in MARKS)
    lines = ["", "### The same on both arms (400 pairs)", "", *table(ALIKE, RUNS), ""]
    lines += ["### A treatment that does something", "", *table(DIFFERENT, RUNS), "", ""]
    PAGE.write_text(text[: begin + len(MARKS[0])] + "\n".join(lines) + text[end:], encoding="utf-8")


if __name__ == "__main__":
    main()
