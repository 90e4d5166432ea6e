"""The job `compare`: is the treatment worse than the control?

It must not know statistics, nor how tables are made.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict

import click

from bridge.analytics.analytics_error import AnalyticsError
from bridge.analytics.job_report import require_tables
from bridge.analytics.job_run import open_store
from bridge.analytics.judging import Judgement, Rules, Verdict, judge
from bridge.analytics.samples import Measure, sample
from bridge.analytics.session import SessionSettings, open_session
from bridge.analytics.store import Store
from bridge.analytics.wishes import CompareWish

STATUS: Mapping[Verdict, int] = {Verdict.PASSED: 0, Verdict.FAIL: 1, Verdict.INSUFFICIENT: 3}
"""Exit status of each verdict; 2 is a usage error, as everywhere."""


def main(wish: CompareWish, master: str | None, settings: Mapping[str, str]) -> None:
    """Print the judgement and end with its status."""
    require_tables(wish.out)
    spark = open_session(SessionSettings(master=master, settings=settings))
    rules = Rules(alpha=wish.alpha, margin=wish.margin, pairs_min=wish.pairs_min)
    found = compare(open_store(spark, wish.out), wish, rules)
    click.echo(json.dumps(asdict(found), indent=2) if wish.as_json else "\n".join(describe(found, rules)))
    raise SystemExit(STATUS[found.verdict])


def compare(store: Store, wish: CompareWish, rules: Rules) -> Judgement:
    """Judge the treatment's times against the control's; raise AnalyticsError if one side has none."""
    measure = Measure(wish.measure)
    control, treatment = (sample(store, measure, side) for side in (wish.control, wish.treatment))
    found = judge(control, treatment, rules)
    if found is None:
        raise AnalyticsError(
            f"EB-ANALYTICS-021: {len(control)} times of {measure.value} match --control and {len(treatment)} match "
            "--treatment; both need some: check the filters, and that the tables cover the time of the canary"
        )
    return found


def describe(found: Judgement, rules: Rules) -> list[str]:
    """The judgement in lines for people."""
    after = "" if found.decided_after is None else f", certain after {found.decided_after} of {found.pairs} pairs"
    rate, moved = found.win_rate, found.shift
    lines = [
        f"verdict: {found.verdict.value}{after}",
        f"control {found.control_count} times, treatment {found.treatment_count}",
        f"a verdict needs {rules.pairs_min} pairs, and errs with probability {rules.alpha:g} at most",
        f"the treatment is the slower one in {rate.estimate:.1%} of the pairs ({rate.low:.1%} to {rate.high:.1%})",
        f"50% is no difference, and surely less than {0.5 + rules.margin:.0%} passes",
        f"it is slower by {moved.estimate:.3f} s ({moved.low:.3f} to {moved.high:.3f}, Hodges-Lehmann)",
    ]
    lines += [
        f"p{level * 100:g}: control {control:.3f} s, treatment {treatment:.3f} s"
        for level, control, treatment in found.quantiles
    ]
    if found.verdict is Verdict.INSUFFICIENT:
        lines.append("neither is certain yet: let the canary run on, or allow a greater --margin")
    return lines
