"""Plans as text for the journal, and back with every value checked."""

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import cast

from bridge.migration.canary.judging import Finding, Verdict
from bridge.migration.canary.pairing import Alone, Pair, Unit
from bridge.migration.canary.scoring import Score, Scored
from bridge.migration.orders import MoveOrder
from bridge.migration.patterns import Pattern, PatternForm
from bridge.migration.plans.canaries import Trial
from bridge.migration.plans.conditions import Conditions, Figures, Judge, Limit, Measure, Reading, Undecided
from bridge.migration.plans.values import (
    Control,
    Held,
    Moving,
    Observing,
    Part,
    PartStep,
    Plan,
    PlanStage,
    PlanState,
    PlanVerdict,
    Progress,
    Reaction,
    Ready,
    Returned,
    Returning,
    Ruling,
    Settled,
    Watching,
)
from bridge.migration.route import Road
from translators.dialects.plain import FLAG, NUMBER, TEXT, Form, MalformedPlain, Plain, optional, row_of, structure

VERSION = 3
"""Version 1 knew nothing of a judge of canaries, version 2 not which members of a group were not moved."""
_CONDITIONS_PLACE = 6
"""Where the conditions are among the fields of a plan."""


def encode_plans(states: Mapping[str, PlanState]) -> str:
    """All plans by their names; the same plans have the same text."""
    plans = [_encode(state) for _, state in sorted(states.items())]
    return json.dumps([VERSION, plans], separators=(",", ":"))


def decode_plans(text: str) -> dict[str, PlanState]:
    """The plans of a text; raises MalformedPlain for what no version of ours has written."""
    try:
        written: object = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise MalformedPlain(f"the plans are no JSON: {problem}") from None
    match written:
        case [1 | 2 | 3 as version, [*plans]]:
            if version == 1:
                plans = [*map(_of_version_1, plans)]
            if version < VERSION:
                plans = [*map(_of_version_2, plans)]
            states = [*map(_decode, plans)]
            return {state.progress.plan.name: state for state in states}
        case _:
            raise MalformedPlain(f"plans of version {VERSION} expected, {text!r:.80} seen")


def _of_version_1(plain: object) -> object:
    """The same plan as one that asks no judge."""
    match plain:
        case [name, [[[*plan], *rest], *fields]] if len(plan) > _CONDITIONS_PLACE:
            conditions = plan[_CONDITIONS_PLACE]
            judged = [*conditions, None] if isinstance(conditions, list) else conditions
            plan[_CONDITIONS_PLACE] = judged
            return [name, [[plan, *rest, None], *fields]]
        case _:
            return plain


def _of_version_2(plain: object) -> object:
    """The same plan, with nobody known who was not moved: the judge compares with other groups only."""
    match plain:
        case [name, [[plan, [*parts], *rest], *fields]]:
            known = [[*part, []] if isinstance(part, list) else part for part in parts]
            return [name, [[plan, known, *rest], *fields]]
        case _:
            return plain


def _choice_of(enumeration: type[StrEnum]) -> Form:
    def from_plain(plain: object) -> object:
        try:
            return enumeration(cast("str", plain))
        except ValueError:
            raise MalformedPlain(f"no {enumeration.__name__}: {plain!r:.80}") from None

    return Form(lambda value: str(cast("StrEnum", value)), from_plain)


def _decimal(plain: object) -> object:
    """A number as text: JSON's own are read back as what they are not."""
    try:
        return float(cast("str", TEXT.from_plain(plain)))
    except ValueError:
        raise MalformedPlain(f"a number expected, {plain!r:.80} seen") from None


_DECIMAL = Form(repr, _decimal)


def _numbers(to_text: Callable[[float], str], from_text: Callable[[str], float]) -> Form:
    """A row of numbers as one text: a judge has thousands of them."""

    def to_plain(values: object) -> Plain:
        return " ".join(map(to_text, cast("tuple[float, ...]", values)))

    def from_plain(plain: object) -> object:
        try:
            return tuple(map(from_text, cast("str", TEXT.from_plain(plain)).split()))
        except ValueError:
            raise MalformedPlain(f"numbers expected, {plain!r:.80} seen") from None

    return Form(to_plain, from_plain)


_DECIMALS = _numbers(repr, float)
_WAITS = _numbers(lambda wait: str(round(wait * 1_000)), lambda text: int(text) / 1_000)
"""Seconds that are whole milliseconds."""
_ROAD = _choice_of(Road)
_PATTERN = structure(Pattern, text=TEXT, form=_choice_of(PatternForm))
_LIMIT = structure(Limit, measure=_choice_of(Measure), most=NUMBER)
_READING = structure(
    Reading,
    measure=_choice_of(Measure),
    value=_DECIMAL,
    limit=NUMBER,
    history=optional(_DECIMAL),
    others=optional(_DECIMAL),
    most=_DECIMAL,
)
_FIGURES = structure(
    Figures,
    at_ms=NUMBER,
    rebalances=NUMBER,
    disturbed=NUMBER,
    stall_ms=NUMBER,
    failed_commits=NUMBER,
    lost=NUMBER,
    errors=NUMBER,
    lag=optional(NUMBER),
)
_PLAN = structure(
    Plan,
    name=TEXT,
    destination=_ROAD,
    groups=row_of(_PATTERN),
    exceptions=row_of(_PATTERN),
    stages=row_of(structure(PlanStage, groups_percent=NUMBER, members_percent=NUMBER, watch_ms=NUMBER)),
    observe_ms=NUMBER,
    conditions=structure(
        Conditions,
        limits=row_of(_LIMIT),
        tolerance_percent=NUMBER,
        judge=optional(structure(Judge, level_percent=NUMBER, effect_percent=NUMBER, undecided=_choice_of(Undecided))),
    ),
    reaction=_choice_of(Reaction),
    groups_max=NUMBER,
    allow_rebalance=FLAG,
)
_ORDER = structure(MoveOrder, group_id=TEXT, destination=_ROAD, members=row_of(TEXT), allow_rebalance=FLAG)
_PART = structure(
    Part,
    group_id=TEXT,
    step=_choice_of(PartStep),
    order=optional(_ORDER),
    ordered_ms=NUMBER,
    percent=NUMBER,
    percent_ordered=NUMBER,
    origin=optional(_ROAD),
    observed=optional(_FIGURES),
    began=optional(_FIGURES),
    refusals=NUMBER,
    reason=TEXT,
    others=row_of(TEXT),
)
_VERDICT = structure(
    PlanVerdict,
    at_ms=NUMBER,
    stage=NUMBER,
    ruling=_choice_of(Ruling),
    sentence=TEXT,
    group_id=TEXT,
    readings=row_of(_READING),
)
_UNITS = row_of(structure(Unit, at_us=NUMBER, control=_WAITS, treatment=_WAITS))
_SCORE = structure(Score, win=_DECIMAL, excesses=_DECIMALS, control_s=_DECIMAL, treatment_s=_DECIMAL)
_TRIAL = structure(
    Trial,
    since_ms=NUMBER,
    scored=structure(
        Scored,
        scores=row_of(_SCORE),
        recent=row_of(structure(Pair, control=_WAITS, treatment=_WAITS)),
        thresholds=_DECIMALS,
    ),
    alone=structure(Alone, controls=_UNITS, treatments=_UNITS),
    control_count=NUMBER,
    treatment_count=NUMBER,
    finding=structure(Finding, verdict=_choice_of(Verdict), decided_after=optional(NUMBER), doubts=row_of(TEXT)),
)
_PROGRESS = structure(
    Progress,
    plan=_PLAN,
    parts=row_of(_PART),
    verdicts=row_of(_VERDICT),
    controls=row_of(structure(Control, group_id=TEXT, began=_FIGURES)),
    trial=optional(_TRIAL),
)
_PHASES: Mapping[type[PlanState], Form] = {
    Observing: structure(Observing, progress=_PROGRESS, until_ms=NUMBER),
    Ready: structure(Ready, progress=_PROGRESS),
    Moving: structure(Moving, progress=_PROGRESS, stage=NUMBER),
    Watching: structure(Watching, progress=_PROGRESS, stage=NUMBER, until_ms=NUMBER),
    Settled: structure(Settled, progress=_PROGRESS),
    Returning: structure(Returning, progress=_PROGRESS),
    Returned: structure(Returned, progress=_PROGRESS),
    Held: structure(Held, progress=_PROGRESS, stage=NUMBER, reason=TEXT, is_watched=FLAG),
}
_BY_NAME: Mapping[str, Callable[[object], object]] = {
    phase.__name__: form.from_plain for phase, form in _PHASES.items()
}


def _encode(state: PlanState) -> Plain:
    return [type(state).__name__, _PHASES[type(state)].to_plain(state)]


def _decode(plain: object) -> PlanState:
    match plain:
        case [str() as name, fields] if name in _BY_NAME:
            return cast(PlanState, _BY_NAME[name](fields))
        case _:
            raise MalformedPlain(f"a plan in one of its phases expected, {plain!r:.80} seen")
