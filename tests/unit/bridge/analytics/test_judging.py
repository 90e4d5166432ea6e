"""The judge keeps its error rate however often one looks, and has the power that the docs state."""

import numpy as np
import pytest

from bridge.analytics.judging import Rules, Verdict, bet, judge, shift, win_rate

RULES = Rules()
FLEETS = 400
SPREAD = 0.5
"""Stalls are lognormal with this sigma: p99 is three times the median, as in the fleets of the tests."""


def verdicts(factor: float, pairs: int, seed: int = 1) -> dict[Verdict, float]:
    """How often each verdict comes about where the treatment is slower by this factor."""
    random = np.random.default_rng(seed)
    counts = dict.fromkeys(Verdict, 0)
    for _ in range(FLEETS):
        control, treatment = random.lognormal(0, SPREAD, pairs), random.lognormal(0, SPREAD, pairs) * factor
        found = judge(list(control[:pairs]), list(treatment), RULES)
        assert found is not None
        counts[found.verdict] += 1
    return {verdict: count / FLEETS for verdict, count in counts.items()}


@pytest.fixture(autouse=True)
def _without_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The intervals take no part in a verdict and most of its time."""
    monkeypatch.setattr("bridge.analytics.judging.GRID", np.array([0.5]))
    monkeypatch.setattr("bridge.analytics.judging.SHIFT_SAMPLE_MAX", 20)


def test_equal_fleets_fail_at_most_at_the_stated_rate() -> None:
    """A/A runs, looked at after every one of 1,000 pairs."""
    found = verdicts(1.0, 1_000)
    assert found[Verdict.FAIL] <= RULES.alpha
    assert found[Verdict.PASSED] >= 0.9


def test_slower_treatment_is_found_with_the_stated_power() -> None:
    """30 % slower: 8 of 10 times within 200 pairs; 50 % slower: within 100."""
    assert verdicts(1.3, 200)[Verdict.FAIL] >= 0.8
    assert verdicts(1.5, 100)[Verdict.FAIL] >= 0.8


def test_faster_treatment_passes() -> None:
    """No worse includes better."""
    found = verdicts(0.8, 100)
    assert found[Verdict.PASSED] >= 0.9
    assert found[Verdict.FAIL] <= RULES.alpha


def test_few_pairs_are_insufficient_whatever_they_say() -> None:
    """The minimum sample is stated."""
    found = judge([1.0] * 29, [9.0] * 29, RULES)
    assert found is not None
    assert (found.verdict, found.decided_after) == (Verdict.INSUFFICIENT, None)
    found = judge([1.0] * 30, [9.0] * 30, RULES)
    assert found is not None
    assert (found.verdict, found.decided_after) == (Verdict.FAIL, 30)


def test_verdict_stays_when_more_pairs_come() -> None:
    """What was certain once is not taken back: that is what looking early costs nothing for."""
    early = judge([1.0] * 40, [2.0] * 40, RULES)
    late = judge([1.0] * 140, [2.0] * 40 + [0.5] * 100, RULES)
    assert early is not None
    assert late is not None
    assert (late.verdict, late.decided_after) == (early.verdict, early.decided_after) == (Verdict.FAIL, 30)


def test_side_without_times_is_no_comparison() -> None:
    """There is nothing to judge."""
    assert judge([], [1.0], RULES) is None
    assert judge([1.0], [], RULES) is None


def test_bet_never_loses_all_it_has() -> None:
    """A fortune stays above zero, so that it can recover."""
    wins = np.array([0.0, 1.0] * 50 + [0.0] * 100)
    for mean in (0.05, 0.5, 0.95):
        assert bet(wins, mean, upward=True).min() > 0
        assert bet(wins, mean, upward=False).min() > 0


def test_win_rate_holds_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds at every look."""
    monkeypatch.setattr("bridge.analytics.judging.GRID", np.linspace(0.01, 0.99, 99))
    random = np.random.default_rng(5)
    found = win_rate((random.random(500) < 0.7).astype(float), 0.05)
    assert found.low < 0.7 < found.high
    assert found.high - found.low < 0.2


def test_shift_is_how_much_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hodges and Lehmann's estimate of a constant difference is that difference."""
    monkeypatch.setattr("bridge.analytics.judging.SHIFT_SAMPLE_MAX", 2_000)
    random = np.random.default_rng(7)
    control = random.lognormal(0, SPREAD, 400)
    found = shift(control, random.permutation(control) + 0.25, 0.05)
    assert found.estimate == pytest.approx(0.25, abs=0.01)
    assert found.low < 0.25 < found.high
