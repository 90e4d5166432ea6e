"""What a plan's judge sees, keeps and says."""

from random import Random

import pytest

from bridge.migration.canary.judging import Rules, Verdict, judge
from bridge.migration.canary.pairing import Unit, pair_up
from bridge.migration.plans import canaries
from bridge.migration.plans.canaries import PAIR_WITHIN_US, Trial, Waited, effect_of, observe, rules_of, tell, unit_of
from bridge.migration.plans.conditions import Judge
from translators.dialects.ids import GroupId, MemberId

RULES = rules_of(Judge())
GROUP = GroupId("g")
START = Trial(since_ms=1)


def both(at_s: int, control: tuple[float, ...], treatment: tuple[float, ...]) -> Unit:
    """A rebalance that has members of both arms."""
    return Unit(at_us=at_s * 1_000_000, control=control, treatment=treatment)


def test_level_and_effect_are_the_rules() -> None:
    """With the defaults, those of the comparison of tables."""
    assert rules_of(Judge()) == Rules()
    assert rules_of(Judge(level_percent=1, effect_percent=20)) == Rules(alpha=0.01, margin=0.2)


def test_members_are_in_their_arms_in_an_order_that_says_nothing() -> None:
    """Another one in each rebalance, and never more of an arm than are compared."""
    members = tuple((MemberId(f"m{number}"), number) for number in range(100))
    is_moved = [number >= 40 for number in range(100)]
    one, other = (unit_of(Waited(GROUP, at_ms, members), is_moved) for at_ms in (7_000, 8_000))
    assert (len(one.control), len(one.treatment), one.at_us) == (32, 32, 7_000_000)
    assert max(one.control) < 0.040 <= min(one.treatment)
    assert set(one.control) != set(other.control)


@pytest.mark.parametrize("factor", [1.0, 1.8])
def test_plan_comes_to_what_a_comparison_of_tables_does(factor: float) -> None:
    """One rebalance after the other, of groups that were moved, of others and of some with both: the same verdict."""
    random = Random(2)
    units = [
        Unit(
            at_us=at_s * 1_000_000,
            control=tuple(random.lognormvariate(0, 0.5) for _ in range(5)) if at_s % 3 else (),
            treatment=tuple(random.lognormvariate(0, 0.5) * factor for _ in range(5)) if at_s % 3 != 1 else (),
        )
        for at_s in range(0, 60_000, 200)
    ]
    trial = START
    for unit in units:
        trial = observe(trial, [unit], RULES)
    whole = judge(pair_up(units, PAIR_WITHIN_US).pairs, RULES)
    assert whole is not None
    assert (trial.finding.verdict, trial.finding.decided_after) == (whole.verdict, whole.decided_after)
    assert trial.finding.verdict is (Verdict.PASSED if factor == 1.0 else Verdict.FAIL)
    effect = effect_of(trial, RULES)
    assert effect is not None
    assert (effect.slower, effect.difference_s) == (whole.win_rate, whole.difference_s)


def test_no_verdict_where_arms_are_apart() -> None:
    """Forty pairs that say all the same, and a hundred rebalances of each arm that had no neighbour."""
    trial = observe(START, [both(number, (1.0,), (9.0,)) for number in range(40)], RULES)
    assert trial.has_failed
    lonely = [Unit(at_us=number * 10**10, control=(1.0,)) for number in range(1, 100)]
    lonely += [Unit(at_us=number * 10**10 + 5 * 10**9, treatment=(1.0,)) for number in range(1, 100)]
    trial = observe(trial, [*lonely, both(2_000_000, (1.0,), (9.0,))], RULES)
    assert not trial.is_certain
    assert "only 41 began within an hour" in trial.finding.doubts[0]


def test_pairs_that_are_not_taken_any_more_have_had_a_partner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more come at once than there is room for, that is no doubt."""
    monkeypatch.setattr(canaries, "PAIRS_MAX", 40)
    trial = observe(START, [both(number, (1.0,), (9.0,)) for number in range(100)], RULES)
    assert (trial.has_failed, trial.finding.doubts, len(trial.scored.scores)) == (True, (), 40)


def test_what_is_kept_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs, and rebalances that wait for a partner."""
    monkeypatch.setattr(canaries, "PAIRS_MAX", 3)
    monkeypatch.setattr(canaries, "ALONE_MAX", 2)
    trial = observe(START, [both(number, (1.0,), (1.0,)) for number in range(9)], RULES)
    trial = observe(trial, [Unit(at_us=number, control=(1.0,)) for number in range(9)], RULES)
    assert (len(trial.scored.scores), len(trial.alone.controls)) == (3, 2)
    assert (trial.control_count, trial.treatment_count) == (18, 9)


def test_what_the_judge_says_is_told() -> None:
    """The verdict, both arms, and how much slower with bounds, as far as there are any."""
    nothing = tell(START, RULES, effect_of(START, RULES))
    assert nothing.startswith("not enough yet (0 pairs; a verdict takes 30 at least); 0 rebalances with members that ")
    one = observe(START, [both(1, (1.0,), (2.0,))], RULES)
    assert tell(one, RULES, effect_of(one, RULES)).endswith(
        "who was moved is the slower one in 100% of cases (0% to 100%)"
    )
    many = observe(START, [both(number, (1.0,), (1.5,)) for number in range(40)], RULES)
    told = tell(many, RULES, effect_of(many, RULES))
    assert told.startswith("fail after 30 of 40 pairs; 40 rebalances with members that were moved, 40 with others; ")
    assert told.endswith("and waits +0.500 s longer on average (+0.500 to +0.500)")
