"""What a plan moved against what it did not, at the same time: their rebalances in pairs, and what the judge says."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from bridge.migration.canary.judging import Finding, Interval, Rules, Verdict, decide, mean_difference, win_rate
from bridge.migration.canary.pairing import MATCHED_MIN, Alone, Unit, pair_next
from bridge.migration.canary.scoring import Scored, score
from bridge.migration.plans.conditions import PERCENT, Judge
from translators.dialects.counts import counted
from translators.dialects.ids import GroupId, MemberId

PAIR_WITHIN_US = 3_600_000_000
"""Rebalances of two groups that began further apart are not compared: what differs may be the hour."""
PAIRS_MAX = 1_000
"""After so many pairs without a verdict the judge has none; what would take more is smaller than anybody minds."""
ALONE_MAX = 500
"""So many rebalances of each arm wait for one of the other; beyond it the oldest go."""
SIDE_MAX = 32
"""So many members of each arm of a rebalance are compared, drawn by their ids: more say nearly the same."""


@dataclass(frozen=True, slots=True)
class Waited:
    """One rebalance of a group: when it began (milliseconds since 1970), and how long each of its members waited, in
    milliseconds; those whom it left alone with zero.
    """

    group_id: GroupId
    at_ms: int
    members: tuple[tuple[MemberId, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What the judge has seen since `since_ms`, and what it finds; counted are rebalances that have an arm."""

    since_ms: int
    scored: Scored = Scored()
    alone: Alone = Alone()
    control_count: int = 0
    treatment_count: int = 0
    finding: Finding = Finding(verdict=Verdict.INSUFFICIENT)

    @property
    def is_certain(self) -> bool:
        """Whether there is a verdict."""
        return self.finding.verdict is not Verdict.INSUFFICIENT

    @property
    def is_full(self) -> bool:
        """Whether it takes no further pairs, so that what it finds now is all that it will."""
        return len(self.scored.scores) >= PAIRS_MAX

    @property
    def has_failed(self) -> bool:
        """Whether who was moved certainly waits longer."""
        return self.finding.verdict is Verdict.FAIL


@dataclass(frozen=True, slots=True)
class Effect:
    """How often a member that was moved is the slower of two, and by how many seconds on average (of two pairs)."""

    slower: Interval
    difference_s: Interval | None


def rules_of(judge: Judge) -> Rules:
    """What a plan asks of the judge, in the judge's words."""
    return Rules(alpha=judge.level_percent / PERCENT, margin=judge.effect_percent / PERCENT)


def unit_of(waited: Waited, is_moved: Sequence[bool]) -> Unit:
    """A rebalance with its members in their arms; for each of them it is said whether it had been moved."""
    arms: dict[bool, list[tuple[bytes, float]]] = {False: [], True: []}
    for (member_id, waited_ms), moved in zip(waited.members, is_moved, strict=True):
        # The order of members must say nothing about their times, and be another one in each rebalance.
        lot = sha256(f"{waited.group_id}\0{waited.at_ms}\0{member_id}".encode(errors="surrogatepass")).digest()
        arms[moved].append((lot, waited_ms / 1_000))
    control, treatment = (tuple(wait for _, wait in sorted(arms[arm])[:SIDE_MAX]) for arm in (False, True))
    return Unit(at_us=waited.at_ms * 1_000, control=control, treatment=treatment)


def observe(trial: Trial, units: Sequence[Unit], rules: Rules) -> Trial:
    """The same with further rebalances, judged again if they make a pair."""
    pairs, alone = pair_next(trial.alone, units, PAIR_WITHIN_US)
    seen = replace(
        trial,
        alone=Alone(alone.controls[-ALONE_MAX:], alone.treatments[-ALONE_MAX:]),
        control_count=trial.control_count + sum(bool(unit.control) for unit in units),
        treatment_count=trial.treatment_count + sum(bool(unit.treatment) for unit in units),
    )
    if not pairs or trial.is_full:
        return seen
    before = len(trial.scored.scores)
    scored = score(trial.scored, pairs[: PAIRS_MAX - before])
    return replace(seen, scored=scored, finding=_without_apart(decide(scored.scores, rules), before + len(pairs), seen))


def _without_apart(finding: Finding, paired: int, seen: Trial) -> Finding:
    """No verdict where most rebalances of the rarer arm had none of the other one near them."""
    rarer = min(seen.control_count, seen.treatment_count)
    if finding.verdict is Verdict.INSUFFICIENT or paired >= MATCHED_MIN * rarer:
        return finding
    doubt = (
        f"of {counted(rarer, 'rebalance')} of the rarer arm only {paired} began within an hour of one of the other: "
        "what differs may be the time"
    )
    return Finding(verdict=Verdict.INSUFFICIENT, doubts=(doubt,))


def effect_of(trial: Trial, rules: Rules) -> Effect | None:
    """How much slower they are who were moved, with bounds; None before the first pair."""
    scores = trial.scored.scores
    if not scores:
        return None
    return Effect(win_rate(scores, rules.alpha), mean_difference(scores, rules.alpha) if len(scores) > 1 else None)


def tell(trial: Trial, rules: Rules, effect: Effect | None) -> str:
    """For people: the verdict, how many rebalances it rests on, the effect with its bounds, and doubts."""
    return "; ".join(_told(trial, rules, effect))


def _told(trial: Trial, rules: Rules, effect: Effect | None) -> Iterator[str]:
    finding, pairs = trial.finding, len(trial.scored.scores)
    if trial.is_certain:
        yield f"{finding.verdict.value} after {finding.decided_after} of {counted(pairs, 'pair')}"
    elif trial.is_full:
        yield f"no verdict in {counted(pairs, 'pair')}, and it takes no more"
    else:
        yield f"not enough yet ({counted(pairs, 'pair')}; a verdict takes {rules.pairs_min} at least)"
    treated = counted(trial.treatment_count, "rebalance")
    yield f"{treated} with members that were moved, {trial.control_count} with others"
    if effect is not None:
        rate = effect.slower
        yield f"who was moved is the slower one in {rate.estimate:.0%} of cases ({rate.low:.0%} to {rate.high:.0%})"
    if effect is not None and effect.difference_s is not None:
        more = effect.difference_s
        yield f"and waits {more.estimate:+.3f} s longer on average ({more.low:+.3f} to {more.high:+.3f})"
    yield from finding.doubts
