"""What a comparison is about: rebalances, or hours of a group, out of the tables, with how long everybody waited."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

from bridge.analytics.compare import questions
from bridge.analytics.engines.views import QuestionRefused, Row, Views
from bridge.analytics.errors import AnalyticsError
from bridge.migration.canary.pairing import Unit
from bridge.telemetry.schema.terms import Phase, Road

HIDDEN_ON_PASS = frozenset({Phase.AWAITING_RELEASE.value})
"""On road `pass` no answer tells what a member still waits for, so nobody can say how long it did."""


class Measure(StrEnum):
    """What is compared: how long members did not work, or how long partitions stood still, all of them together."""

    MEMBER = "member-stall"
    PARTITION = "partition-stall"


class UnitKind(StrEnum):
    """What counts as one observation."""

    REBALANCE = "rebalance"
    GROUP_HOUR = "group-hour"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which rows of which measure make the arms: SQL conditions, and what one unit is."""

    control: str
    treatment: str
    measure: Measure = Measure.MEMBER
    unit: UnitKind = UnitKind.REBALANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The units, what had to be left out, and what has to be said of the arms."""

    units: tuple[Unit, ...]
    notes: tuple[str, ...]


PARTITION_COLUMNS = ("at_us", "group_id", "protocol", "road", "unit", "waited_us")
MEMBER_COLUMNS = tuple(sorted({*PARTITION_COLUMNS, "member_id", *questions.NATURE}))


class _Value(NamedTuple):
    """How long one waited in a unit."""

    group_id: str
    unit: str
    at_us: int
    is_control: bool
    waited_us: int


def sample(views: Views, choice: Choice) -> Sample:
    """The units of both arms, oldest first; raise AnalyticsError for a filter that is none, or arms that overlap."""
    _choose(views, choice, ())
    on = {row.text_or_none("road") for row in views.ask(questions.ROADS, _itself)}
    hidden = sorted(HIDDEN_ON_PASS) if len(on) > 1 and Road.PASSING.value in on else []
    notes: list[str] = []
    if hidden and choice.measure is Measure.MEMBER:
        _choose(views, choice, hidden)
        notes.append(f"left out on both sides, because road pass does not show it: {', '.join(hidden)}")
    groups = views.ask(questions.GROUPS, _itself)
    control, treatment = (
        {row.text("group_id") for row in groups if row.number("is_control") == side} for side in (True, False)
    )
    if control and treatment and not control & treatment:
        notes.append(
            "the arms have no group in common: a lasting difference between their groups counts as the treatment's"
        )
    return Sample(units=_units(views, choice), notes=tuple(notes))


def rows_of(choice: Choice, hidden: Sequence[str] = ()) -> str:
    """The question for everybody who may be in an arm."""
    is_hourly = choice.unit is UnitKind.GROUP_HOUR
    if choice.measure is Measure.PARTITION:
        return questions.partition_waits(is_hourly=is_hourly)
    return questions.member_waits(is_hourly=is_hourly, hidden=hidden)


def _choose(views: Views, choice: Choice, hidden: Sequence[str]) -> None:
    """Keep the rows of either arm, marked with which; refused where a row is of both."""
    rows = rows_of(choice, hidden)
    try:
        views.keep(questions.CHOSEN, questions.arms(rows, choice.control, choice.treatment))
    except QuestionRefused as problem:
        raise AnalyticsError(_refusal(views, choice, rows, problem)) from problem
    shared = views.ask(questions.SHARED, lambda row: dict(row.values))
    if shared:
        raise AnalyticsError(
            f"EB-ANALYTICS-022: --control and --treatment both match {shared[0]}; nobody can be in both arms: "
            "make one filter exclude what the other one chooses"
        )


def _refusal(views: Views, choice: Choice, rows: str, problem: QuestionRefused) -> str:
    """What is wrong with which filter: the treatment's, if the control's alone is taken."""
    condition = choice.treatment
    try:
        views.keep(questions.CHOSEN, questions.arms(rows, choice.control, "false"))
    except QuestionRefused as alone:
        condition, problem = choice.control, alone
    columns = MEMBER_COLUMNS if choice.measure is Measure.MEMBER else PARTITION_COLUMNS
    return (
        f"EB-ANALYTICS-020: the filter {condition!r} can't be applied to {choice.measure.value}: {problem}; "
        f"it is an SQL condition over {', '.join(columns)}, such as protocol = 'classic'"
    )


def _units(views: Views, choice: Choice) -> tuple[Unit, ...]:
    # The order of members within a unit must say nothing about their times: a digest of who they are does not.
    who = ("member_id", "protocol") if choice.measure is Measure.MEMBER else ("protocol", "road")
    values = views.ask(questions.values(who), _value)
    return tuple(_unit(list(of_unit)) for _, of_unit in groupby(values, key=lambda one: (one.unit, one.group_id)))


def _itself(row: Row) -> Row:
    return row


def _value(row: Row) -> _Value:
    return _Value(
        row.text("group_id"),
        row.text("unit"),
        row.number("at_us"),
        bool(row.number("is_control")),
        row.number("waited_us"),
    )


def _unit(values: Sequence[_Value]) -> Unit:
    control, treatment = (
        tuple(one.waited_us / 1_000_000 for one in values if one.is_control is side) for side in (True, False)
    )
    return Unit(at_us=values[0].at_us, control=control, treatment=treatment)
