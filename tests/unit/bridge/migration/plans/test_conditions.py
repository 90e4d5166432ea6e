"""What figures may come to."""

from dataclasses import replace

import pytest

from bridge.migration.plans.conditions import (
    DEFAULT_LIMITS,
    HOUR_MS,
    Conditions,
    Figures,
    Limit,
    Measure,
    Reading,
    Span,
    judge,
)

ZERO = Figures(at_ms=0)
ONLY_REBALANCES = Conditions((Limit(Measure.REBALANCES, 2),))


def rebalanced(count: int, at_ms: int) -> Figures:
    """Figures with so many rebalances."""
    return Figures(at_ms=at_ms, rebalances=count)


@pytest.mark.parametrize(
    ("count", "after_ms", "value", "broken"),
    [(2, 60_000, 2, False), (3, 60_000, 3, True), (6, 3 * HOUR_MS, 2, False), (7, 3 * HOUR_MS, 7 / 3, True)],
)
def test_single_event_is_no_rate(count: int, after_ms: int, value: float, *, broken: bool) -> None:
    """Less than an hour counts as one: a rebalance in the first minute is not sixty in an hour."""
    (reading,) = judge(ONLY_REBALANCES, Span(ZERO, rebalanced(count, after_ms)))
    assert (reading.value, reading.most, reading.is_broken) == (value, 2, broken)


def test_what_was_so_before_is_no_fault_of_a_move() -> None:
    """Half as much again as before is let be, and so is what groups show that were not moved."""
    watched = Span(ZERO, rebalanced(9, HOUR_MS))
    busy, quiet = Span(ZERO, rebalanced(6, HOUR_MS)), Span(ZERO, ZERO)
    (as_before,) = judge(ONLY_REBALANCES, watched, busy)
    (as_others,) = judge(ONLY_REBALANCES, watched, quiet, [busy, busy])
    (alone,) = judge(ONLY_REBALANCES, watched, quiet, [busy, quiet, quiet])
    assert [(one.most, one.is_broken) for one in (as_before, as_others, alone)] == [(9, False), (9, False), (3, True)]
    assert str(alone) == "rebalances.per.hour 9 (at most 3, before 0, others 2)"


def test_counting_that_began_anew_loses_what_was_before() -> None:
    """A bridge that was started again counts from 0: what it counted since is what there is."""
    (reading,) = judge(ONLY_REBALANCES, Span(rebalanced(50, 0), rebalanced(3, 60_000)))
    assert reading.value == 3


def test_every_measure_is_judged_by_its_own_figure() -> None:
    """And the lag only where it is known at both ends."""
    after = Figures(at_ms=1, rebalances=1, disturbed=2, stall_ms=3_000, failed_commits=4, lost=5, errors=6, lag=70)
    every = Conditions(tuple(Limit(measure, 0) for measure in Measure))
    readings = judge(every, Span(replace(ZERO, lag=50), after))
    assert [(one.measure, one.value) for one in readings] == list(zip(Measure, [1, 2, 3, 4, 5, 6, 20], strict=True))
    assert all(reading.is_broken for reading in readings)
    assert Measure.LAG not in {one.measure for one in judge(every, Span(ZERO, after))}


def test_lag_that_shrinks_is_fine() -> None:
    """It has not grown."""
    limits = Conditions((Limit(Measure.LAG, 0),))
    (reading,) = judge(limits, Span(replace(ZERO, lag=50), Figures(at_ms=1, lag=3)))
    assert reading == Reading(Measure.LAG, 0.0, 0, None, None, 0)


def test_defaults_bound_each_measure_once() -> None:
    """But the lag: what is much is known by its owner alone."""
    assert [limit.measure for limit in DEFAULT_LIMITS] == [one for one in Measure if one is not Measure.LAG]
