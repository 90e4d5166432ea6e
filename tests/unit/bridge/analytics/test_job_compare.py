"""The canary judge as a job: what it compares, what it says, what it refuses."""

import pytest

from bridge.analytics.analytics_error import AnalyticsError
from bridge.analytics.job_compare import STATUS, compare, describe
from bridge.analytics.judging import Rules, Verdict
from bridge.analytics.spark_types import conform
from bridge.analytics.store import Store
from bridge.analytics.tables import STALLS
from bridge.analytics.wishes import CompareWish

RULES = Rules()


def wish(store: Store, treatment: str = "protocol = 'consumer'") -> CompareWish:
    """Classic against something else, by partitions."""
    return CompareWish(
        out=store.root,
        control="protocol = 'classic'",
        treatment=treatment,
        measure="partition-stall",
        alpha=0.05,
        margin=0.1,
        pairs_min=30,
    )


def fill(store: Store) -> None:
    """Forty stalls of each protocol, those of the new one longer."""
    rows = store.spark.range(80).selectExpr(
        "'g' as group_id",
        "concat('t-', id) as partition",
        "if(id % 2 = 0, 'classic', 'consumer') as protocol_after",
        "if(id % 2 = 0, 1000000L, 1500000L) + id as stall_us",
        "id as fetched_us",
        "date '2025-11-21' as date",
    )
    store.replace(STALLS, conform(STALLS, rows))


def test_slower_canary_fails_and_the_lines_say_by_how_much(store: Store) -> None:
    """Distributions, an effect with its interval, quantiles of both."""
    fill(store)
    found = compare(store, wish(store), RULES)
    assert (found.verdict, STATUS[found.verdict]) == (Verdict.FAIL, 1)
    lines = describe(found, RULES)
    assert lines[0] == f"verdict: fail, certain after {found.decided_after} of 40 pairs"
    assert any("100.0% of the pairs" in line for line in lines)
    assert any(line.startswith("it is slower by 0.500 s") for line in lines)


def test_uncertain_verdict_says_what_to_do(store: Store) -> None:
    """Few pairs: wait."""
    fill(store)
    found = compare(store, wish(store, "protocol = 'consumer' and stall_us < 1500010"), RULES)
    assert STATUS[found.verdict] == 3
    assert "let the canary run on" in describe(found, RULES)[-1]


def test_filter_that_matches_nothing_is_one_sentence(store: Store) -> None:
    """With the counts of both sides."""
    fill(store)
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-021: 40 times .* 0 match --treatment"):
        compare(store, wish(store, "protocol = 'none'"), RULES)
