"""The job `compare`: is the treatment worse than the control?"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import isfinite

import click

from bridge.analytics.compare.samples import Choice, Measure, Sample, UnitKind, sample
from bridge.analytics.engines.table_files import require_tables
from bridge.analytics.engines.views import Views
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.specs import CompareSpec
from bridge.migration.canary.judging import Interval, Judgement, Rules, Verdict, judge
from bridge.migration.canary.pairing import Pairing, Unit, pair_up
from translators.dialects.counts import counted

MICROS = 1_000_000
STATUS: Mapping[Verdict, int] = {Verdict.PASSED: 0, Verdict.FAIL: 1, Verdict.INSUFFICIENT: 3}
"""Exit status of each verdict; 2 is a usage error, as everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What the judge says, what has to be said of the arms, and how many units found no partner."""

    judgement: Judgement
    notes: tuple[str, ...]
    unpaired: int


def main(spec: CompareSpec, open_views: Callable[[], Views]) -> None:
    """Print the judgement and end with its status."""
    require_tables(spec.out)
    rules = Rules(alpha=spec.alpha, margin=spec.margin, tail_margin=spec.tail_margin, pairs_min=spec.pairs_min)
    found = compare(open_views(), spec, rules)
    click.echo(as_json(found) if spec.as_json else "\n".join(describe(found, rules)))
    raise SystemExit(STATUS[found.judgement.verdict])


def compare(views: Views, spec: CompareSpec, rules: Rules) -> Comparison:
    """Judge the treatment against the control; raise AnalyticsError if one has no units, or they are apart in time."""
    choice = Choice(
        control=spec.control,
        treatment=spec.treatment,
        measure=Measure(spec.measure),
        unit=UnitKind(spec.unit),
    )
    chosen = sample(views, choice)
    pairing = pair_up(chosen.units, int(spec.pair_within_s * MICROS))
    if not pairing.control_units or not pairing.treatment_units:
        raise AnalyticsError(
            f"EB-ANALYTICS-021: --control matches {counted(pairing.control_units, spec.unit)} and --treatment "
            f"{counted(pairing.treatment_units, spec.unit)}; both need some: check the filters, and that the tables "
            "cover the time of the canary"
        )
    judgement = None if pairing.is_apart else judge(pairing.pairs, rules)
    if judgement is None:
        raise AnalyticsError(_apart(chosen, pairing, spec))
    return Comparison(
        judgement=judgement,
        notes=chosen.notes,
        unpaired=pairing.control_units + pairing.treatment_units - 2 * len(pairing.pairs),
    )


def as_json(comparison: Comparison) -> str:
    """The same for programs. JSON knows no infinity: a bound that a single pair can't give is null."""
    return json.dumps(_finite(asdict(comparison)), indent=2, allow_nan=False)


def _finite(value: object) -> object:
    match value:
        case dict():
            return {name: _finite(part) for name, part in value.items()}
        case list() | tuple():
            return [_finite(part) for part in value]
        case float() if not isfinite(value):
            return None
        case _:
            return value


def _apart(chosen: Sample, pairing: Pairing, spec: CompareSpec) -> str:
    control = _span([unit for unit in chosen.units if unit.control])
    treatment = _span([unit for unit in chosen.units if unit.treatment])
    return (
        f"EB-ANALYTICS-023: of {counted(pairing.control_units, spec.unit)} of the control ({control}) and "
        f"{pairing.treatment_units:,} of the treatment ({treatment}) only {len(pairing.pairs):,} began within "
        f"{spec.pair_within_s:g} s of one of the other arm: what differs may be the time. Let both arms run at once, "
        "or switch the treatment on and off by turns shorter than --pair-within"
    )


def _span(units: Sequence[Unit]) -> str:
    first, last = (datetime.fromtimestamp(unit.at_us // MICROS, UTC) for unit in (units[0], units[-1]))
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"


def describe(comparison: Comparison, rules: Rules) -> list[str]:
    """The judgement in lines for people."""
    found = comparison.judgement
    after = (
        ""
        if found.decided_after is None
        else f", certain after {found.decided_after:,} of {counted(found.pairs, 'pair')}"
    )
    rate, more, treated = found.win_rate, found.difference_s, found.treatment_count
    lines = [
        f"verdict: {found.verdict.value}{after}",
        f"control {counted(found.control_count, 'time')}, treatment {treated:,}; zero for who did not wait",
        f"{counted(found.pairs, 'pair')}; {comparison.unpaired:,} found no partner",
        f"a verdict needs {counted(rules.pairs_min, 'pair')}, and errs with probability {rules.alpha:g} at most",
        f"the treatment is the slower one in {rate.estimate:.1%} of cases ({rate.low:.1%} to {rate.high:.1%})",
        f"50% is no difference, and surely less than {0.5 + rules.margin:.0%} passes",
        f"it waits longer by {_seconds(more)} on average; the control waits {found.control_mean_s:.3f} s",
    ]
    lines += [
        f"beyond {tail.threshold_s:.3f} s (p{tail.level * 100:g} of both) wait {tail.control_share:.1%} of the control "
        f"and {tail.treatment_share:.1%} of the treatment"
        for tail in found.tails
    ]
    lines += [
        f"p{level * 100:g}: control {control:.3f} s, treatment {treatment:.3f} s"
        for level, control, treatment in found.quantiles
    ]
    lines += [f"assumed: {note}" for note in comparison.notes]
    lines += [f"no verdict: {doubt}" for doubt in found.doubts]
    if found.verdict is Verdict.INSUFFICIENT and not found.doubts:
        lines.append("neither is certain yet: let the canary run on, or allow greater margins")
    return lines


def _seconds(interval: Interval) -> str:
    return f"{interval.estimate:.3f} s ({interval.low:.3f} to {interval.high:.3f})"
