"""What a report says, asked of the tables: a few hundred values, whatever the size of the log."""

from collections.abc import Sequence
from dataclasses import dataclass

from bridge.analytics.engines.views import Row, Views
from bridge.analytics.report import questions

HEAT_COLUMNS_MAX = 168
"""Hours of a week; of a longer time a column has several. One event whose clock stood at 1970 makes it 50 years."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How durations are spread, in microseconds."""

    count: int
    p50_us: int
    p95_us: int
    max_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseFacts:
    """A phase under one protocol, over all members."""

    protocol: str
    phase: str
    spread: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberFacts:
    """A slow member: its time in phases in all, and its slowest phase."""

    group_id: str
    member_id: str
    library: str
    total_us: int
    phase: str
    spread: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class CulpritFacts:
    """A member that others waited for, or that was put out while it held partitions, with its client.

    In how many rebalances it was the one that everybody waited for, for how long in all and at most, and in which phase
    that was; how it went last, "" if nobody had to put it out, and how long its partitions stood still for that.
    """

    group_id: str
    member_id: str
    client_id: str
    library: str
    rebalances: int
    waited_us: int
    most_us: int
    phase: str
    departure: str
    stall_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseFacts:
    """A cause: how often, what it cost."""

    cause: str
    rebalances: int
    moved: int
    forced_minimum: int
    told: int
    disturbed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFacts:
    """A group before or after its members began to speak another protocol."""

    group_id: str
    protocol: str
    rebalances: int
    disturbed: int
    duration: Spread | None
    stall: Spread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatFacts:
    """Sums of stalls: a row per group, the worst first, a column for so many hours each since the first."""

    groups: Sequence[str]
    first_hour: int
    column_hours: int
    stall_us: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """Everything; `began_us` is when the first and the last rebalance began, None if there is none."""

    group: str | None
    rebalances: int
    began_us: tuple[int, int] | None
    stall: Spread | None
    phases: Sequence[PhaseFacts]
    members: Sequence[MemberFacts]
    culprits: Sequence[CulpritFacts]
    causes: Sequence[CauseFacts]
    changes: Sequence[ChangeFacts]
    heat: HeatFacts


def report_facts(views: Views, group: str | None) -> ReportFacts:
    """Ask the tables, of one group or of all."""
    asked = views if group is None else views.of_group(group)
    (stall,) = asked.ask(questions.STALLS, _spread)
    ((count, began_us),) = asked.ask(questions.REBALANCES, _counted)
    return ReportFacts(
        group=group,
        rebalances=count,
        began_us=began_us,
        stall=stall,
        phases=asked.ask(questions.PHASES, _phase),
        members=asked.ask(questions.MEMBERS, _member),
        culprits=asked.ask(questions.CULPRITS, _culprit),
        causes=asked.ask(questions.CAUSES, _cause),
        changes=asked.ask(questions.CHANGES, _change),
        heat=_heat(asked),
    )


def known_groups(views: Views) -> list[str]:
    """Some of the groups that have rebalances."""
    return views.ask(questions.GROUPS, _group)


def _counted(row: Row) -> tuple[int, tuple[int, int] | None]:
    is_dated = row.values["first_us"] is not None
    return row.number("n"), (row.number("first_us"), row.number("last_us")) if is_dated else None


def _group(row: Row) -> str:
    return row.text("group_id")


def _spread(row: Row, prefix: str = "") -> Spread | None:
    """None of nothing."""
    return _sure(row, prefix) if row.number(f"{prefix}n") else None


def _sure(row: Row, prefix: str = "") -> Spread:
    return Spread(
        count=row.number(f"{prefix}n"),
        p50_us=row.number(f"{prefix}p50"),
        p95_us=row.number(f"{prefix}p95"),
        max_us=row.number(f"{prefix}most"),
    )


def _phase(row: Row) -> PhaseFacts:
    return PhaseFacts(protocol=row.text("protocol"), phase=row.text("phase"), spread=_sure(row))


def _member(row: Row) -> MemberFacts:
    return MemberFacts(
        group_id=_group(row),
        member_id=row.text("member_id"),
        library=row.text("library"),
        total_us=row.number("total"),
        phase=row.text("phase"),
        spread=_sure(row),
    )


def _culprit(row: Row) -> CulpritFacts:
    return CulpritFacts(
        group_id=_group(row),
        member_id=row.text("member_id"),
        client_id=row.text("client_id"),
        library=row.text("library"),
        rebalances=row.number("rebalances"),
        waited_us=row.number("waited_us"),
        most_us=row.number("most_us"),
        phase=row.text("phase"),
        departure=row.text("departure"),
        stall_us=row.number("stall_us"),
    )


def _cause(row: Row) -> CauseFacts:
    return CauseFacts(
        cause=row.text("cause"),
        rebalances=row.number("rebalances"),
        moved=row.number("moved"),
        forced_minimum=row.number("forced_minimum"),
        told=row.number("told"),
        disturbed=row.number("disturbed"),
    )


def _change(row: Row) -> ChangeFacts:
    return ChangeFacts(
        group_id=_group(row),
        protocol=row.text("protocol"),
        rebalances=row.number("rebalances"),
        disturbed=row.number("disturbed"),
        duration=_spread(row),
        stall=_spread(row, "stall_"),
    )


def _heat(views: Views) -> HeatFacts:
    groups = views.ask(questions.WORST, _group)
    sums = dict(views.ask(questions.HEAT, lambda row: ((_group(row), row.number("hour")), row.number("us"))))
    hours = [hour for _, hour in sums]
    first, count = (min(hours), max(hours) - min(hours) + 1) if hours else (0, 0)
    column_hours = max(1, -(-count // HEAT_COLUMNS_MAX))
    stall_us = {name: [0] * -(-count // column_hours) for name in groups}
    for (name, hour), us in sums.items():
        stall_us[name][(hour - first) // column_hours] += us
    return HeatFacts(groups=groups, first_hour=first, column_hours=column_hours, stall_us=[*stall_us.values()])
