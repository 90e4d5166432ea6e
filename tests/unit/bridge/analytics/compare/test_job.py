"""The canary judge as a job: what it compares, what it says, what it refuses."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.analytics.compare.job import STATUS, as_json, compare, describe
from bridge.analytics.engines.duckdb_views import DuckDbViews
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.specs import CompareSpec
from bridge.analytics.tables.definitions import REBALANCES, STALLS
from bridge.migration.canary.judging import Rules, Verdict
from tests.support.table_files import duckdb_over

RULES = Rules()
MINUTE_US = 60_000_000
DAY_MINUTES = 1_440


def spec(treatment: str = "protocol = 'consumer'") -> CompareSpec:
    """Classic against something else, by partitions."""
    return CompareSpec(
        out="o",
        control="protocol = 'classic'",
        treatment=treatment,
        measure="partition-stall",
        alpha=0.05,
        margin=0.1,
        pairs_min=30,
    )


def filled(root: Path, *, apart_minutes: int = 0) -> DuckDbViews:
    """Forty rebalances of each protocol by turns, those of the new one longer; its arm as much later as is said."""
    ids = [(number, (number + number % 2 * apart_minutes) * MINUTE_US) for number in range(80)]
    key = [{"group_id": "g", "rebalance_id": f"r{number}"} for number, _ in ids]
    rebalances = [
        {**one, "chain_id": f"r{number}", "began_us": at_us, "ended_us": at_us + 1}
        for one, (number, at_us) in zip(key, ids, strict=True)
    ]
    stalls = [
        {
            **one,
            "partition": f"t-{number}",
            "protocol_after": "consumer" if number % 2 else "classic",
            "stall_us": (1_500_000 if number % 2 else 1_000_000) + number,
            "fetched_us": at_us,
        }
        for one, (number, at_us) in zip(key, ids, strict=True)
    ]
    return duckdb_over(root, {REBALANCES: rebalances, STALLS: stalls})


def test_slower_canary_fails_and_the_lines_say_by_how_much(tmp_path: Path) -> None:
    """An effect with its interval, tails and quantiles of both."""
    views = filled(tmp_path)
    found = compare(views, spec(), RULES)
    assert (found.judgement.verdict, STATUS[found.judgement.verdict]) == (Verdict.FAIL, 1)
    lines = describe(found, RULES)
    assert lines[0] == f"verdict: fail, certain after {found.judgement.decided_after} of 40 pairs"
    assert any("100.0% of cases" in line for line in lines)
    assert any(line.startswith("it waits longer by 0.500 s") for line in lines)
    assert any("(p95 of both)" in line for line in lines)


def test_uncertain_verdict_says_what_to_do(tmp_path: Path) -> None:
    """Few pairs: wait."""
    views = filled(tmp_path)
    found = compare(views, spec("protocol = 'consumer' and at_us < 600000000"), RULES)
    assert STATUS[found.judgement.verdict] == 3
    assert found.unpaired == 35
    assert "5 pairs; 35 found no partner" in describe(found, RULES)
    assert "let the canary run on" in describe(found, RULES)[-1]


def test_bounds_that_nobody_knows_are_null(tmp_path: Path) -> None:
    """Of a single pair the difference has none: `-Infinity` is no JSON, and ended whoever read it."""

    def no_json(word: str) -> None:
        raise ValueError(word)

    found = compare(filled(tmp_path), spec("protocol = 'consumer' and at_us < 120000000"), RULES)
    assert found.judgement.pairs == 1
    told = json.loads(as_json(found), parse_constant=no_json)
    difference = told["judgement"]["difference_s"]
    assert (difference["low"], difference["high"]) == (None, None)
    assert difference["estimate"] == found.judgement.difference_s.estimate
    assert told["judgement"]["verdict"] == "insufficient"


def test_filter_that_matches_nothing_is_one_sentence(tmp_path: Path) -> None:
    """With the counts of both sides."""
    views = filled(tmp_path)
    with pytest.raises(
        AnalyticsError, match=r"EB-ANALYTICS-021: --control matches 40 rebalances and --treatment 0 rebalances"
    ):
        compare(views, spec("protocol = 'none'"), RULES)


def test_arms_of_different_days_are_refused(tmp_path: Path) -> None:
    """With when each was, and what to do."""
    views = filled(tmp_path, apart_minutes=2 * DAY_MINUTES)
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-023: .*1970-01-01 00:00.*1970-01-03.*switch the treatment"):
        compare(views, spec(), RULES)


def test_turns_shorter_than_the_reach_are_compared(tmp_path: Path) -> None:
    """The reach is the user's to say."""
    views = filled(tmp_path, apart_minutes=240)
    with pytest.raises(AnalyticsError, match="EB-ANALYTICS-023"):
        compare(views, spec(), RULES)
    assert compare(views, replace(spec(), pair_within_s=14_700.0), RULES).judgement.verdict is Verdict.FAIL
