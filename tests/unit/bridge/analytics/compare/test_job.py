"""The canary judge as a job: what it compares, what it says, what it refuses."""

from dataclasses import replace

import pytest

from bridge.analytics.compare.job import STATUS, compare, describe
from bridge.analytics.compare.judging import Rules, Verdict
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.spark.column_types import conform
from bridge.analytics.specs import CompareSpec
from bridge.analytics.tables.definitions import REBALANCES, STALLS
from bridge.analytics.tables.store import Store

RULES = Rules()
MINUTE_US = 60_000_000
DAY_MINUTES = 1_440


def spec(store: Store, treatment: str = "protocol = 'consumer'") -> CompareSpec:
    """Classic against something else, by partitions."""
    return CompareSpec(
        out=store.root,
        control="protocol = 'classic'",
        treatment=treatment,
        measure="partition-stall",
        alpha=0.05,
        margin=0.1,
        pairs_min=30,
    )


def fill(store: Store, *, apart_minutes: int = 0) -> None:
    """Forty rebalances of each protocol by turns, those of the new one longer; its arm as much later as is said."""
    at_us = f"(id + id % 2 * {apart_minutes}) * {MINUTE_US}L"
    rows = store.spark.range(80).selectExpr(
        "'g' as group_id",
        "concat('r', id) as rebalance_id",
        "concat('r', id) as chain_id",
        f"{at_us} as began_us",
        f"{at_us} + 1 as ended_us",
        "concat('t-', id) as partition",
        "if(id % 2 = 0, 'classic', 'consumer') as protocol_after",
        "if(id % 2 = 0, 1000000L, 1500000L) + id as stall_us",
        f"{at_us} as fetched_us",
        "date '2025-11-21' as date",
    )
    store.replace(STALLS, conform(STALLS, rows))
    store.replace(REBALANCES, conform(REBALANCES, rows))


def test_slower_canary_fails_and_the_lines_say_by_how_much(store: Store) -> None:
    """An effect with its interval, tails and quantiles of both."""
    fill(store)
    found = compare(store, spec(store), RULES)
    assert (found.judgement.verdict, STATUS[found.judgement.verdict]) == (Verdict.FAIL, 1)
    lines = describe(found, RULES)
    assert lines[0] == f"verdict: fail, certain after {found.judgement.decided_after} of 40 pairs"
    assert any("100.0% of cases" in line for line in lines)
    assert any(line.startswith("it waits longer by 0.500 s") for line in lines)
    assert any("(p95 of both)" in line for line in lines)


def test_uncertain_verdict_says_what_to_do(store: Store) -> None:
    """Few pairs: wait."""
    fill(store)
    found = compare(store, spec(store, "protocol = 'consumer' and at_us < 600000000"), RULES)
    assert STATUS[found.judgement.verdict] == 3
    assert found.unpaired == 35
    assert "let the canary run on" in describe(found, RULES)[-1]


def test_filter_that_matches_nothing_is_one_sentence(store: Store) -> None:
    """With the counts of both sides."""
    fill(store)
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-021: 40 units .* 0 match --treatment"):
        compare(store, spec(store, "protocol = 'none'"), RULES)


def test_arms_of_different_days_are_refused(store: Store) -> None:
    """With when each was, and what to do."""
    fill(store, apart_minutes=2 * DAY_MINUTES)
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-023: .*1970-01-01 00:00.*1970-01-03.*switch the treatment"):
        compare(store, spec(store), RULES)


def test_turns_shorter_than_the_reach_are_compared(store: Store) -> None:
    """The reach is the user's to say."""
    fill(store, apart_minutes=240)
    with pytest.raises(AnalyticsError, match="EB-ANALYTICS-023"):
        compare(store, spec(store), RULES)
    assert compare(store, replace(spec(store), pair_within_s=14_700.0), RULES).judgement.verdict is Verdict.FAIL
