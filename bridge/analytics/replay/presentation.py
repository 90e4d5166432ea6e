"""How a replay is told: a table for the terminal, Markdown, and one JSON document, all of the same values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from bridge.whatif.freezes import unanswered_words
from translators.dialects.counts import counted

ROWS_SHOWN_MAX = 20
MEASURES: Mapping[str, str] = {
    "rebalances": "rebalances",
    "rebalance_s": "seconds in rebalances",
    "told": "times a member was told to rejoin or to revoke",
    "disturbed": "times a member gave something up for nothing",
    "stalls": "partitions that stood still",
    "stall_s": "seconds that partitions stood still",
    "busy_s": "seconds of members joining, syncing or giving up",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What the rebalances of a group, or of all, came to; seconds are sums."""

    rebalances: int = 0
    rebalance_s: float = 0.0
    told: int = 0
    disturbed: int = 0
    stalls: int = 0
    stall_s: float = 0.0
    busy_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRow:
    """A rebalance and what it became; `rebalance_id` None for one that only the replay has, `began_us` since 1970."""

    rebalance_id: str | None
    predicted_ids: Sequence[str]
    began_us: int
    cause: str
    became: str
    recorded: Figures
    predicted: Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReplay:
    """One group: both sides, each rebalance in the order of time, and those of which the play has no answer."""

    group_id: str
    recorded: Figures
    predicted: Figures
    rows: Sequence[ReplayRow]
    unanswered: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A group, or the beginning of one, that could not be played: why, and how many of its rebalances."""

    group_id: str
    reason: str
    rebalances: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A whole replay; `lines` counts lines of the log that were set aside, by reason."""

    configuration: str
    groups: Sequence[GroupReplay]
    set_aside: Sequence[SetAside]
    lines: Mapping[str, int]


def summed(figures: Sequence[Figures]) -> Figures:
    """All of them together."""
    columns = [asdict(one) for one in figures]
    return Figures(
        rebalances=sum(one.rebalances for one in figures),
        told=sum(one.told for one in figures),
        disturbed=sum(one.disturbed for one in figures),
        stalls=sum(one.stalls for one in figures),
        **{name: round(sum(column[name] for column in columns), 6) for name in ("rebalance_s", "stall_s", "busy_s")},
    )


def document(report: Report) -> Mapping[str, object]:
    """The replay as JSON."""
    groups = [
        {
            "group_id": one.group_id,
            "recorded": asdict(one.recorded),
            "predicted": asdict(one.predicted),
            "rebalances": [asdict(row) for row in one.rows],
            "unanswered": [*one.unanswered],
        }
        for one in report.groups
    ]
    return {
        "configuration": report.configuration,
        "groups": groups,
        "sum": {
            "recorded": asdict(summed([one.recorded for one in report.groups])),
            "predicted": asdict(summed([one.predicted for one in report.groups])),
        },
        "set_aside": {"groups": [asdict(one) for one in report.set_aside], "lines": dict(report.lines)},
    }


def terminal(report: Report) -> Iterator[str]:
    """The replay in lines: sums, then each group with its first rebalances, then what was set aside."""
    yield f"replayed under {report.configuration}"
    for title, recorded, predicted in _sides(report):
        yield ""
        yield f"{title:<50}{'recorded':>12}{'replayed':>12}{'saved':>12}"
        for words, before, after in _pairs(recorded, predicted):
            yield f"{words:<50}{_number(before):>12}{_number(after):>12}{_number(before - after):>12}"
    for group in report.groups:
        yield ""
        yield f"{group.group_id}: what became of each rebalance"
        yield from (f"  {_about(row)}: {row.became}" for row in group.rows[:ROWS_SHOWN_MAX])
        if len(group.rows) > ROWS_SHOWN_MAX:
            yield f"  … and {len(group.rows) - ROWS_SHOWN_MAX} more: --json and --out have them all"
        if group.unanswered:
            yield f"  not answered: {unanswered_words(group.unanswered)}"
    yield ""
    yield from _aside(report)


def markdown(report: Report) -> str:
    """The replay as a Markdown page, all rebalances in it."""
    lines = [f"# What if: {report.configuration}", ""]
    for title, recorded, predicted in _sides(report):
        lines += [f"## {title}", "", "| | recorded | replayed | saved |", "|---|---:|---:|---:|"]
        lines += [
            f"| {words} | {_number(before)} | {_number(after)} | {_number(before - after)} |"
            for words, before, after in _pairs(recorded, predicted)
        ]
        lines.append("")
    for group in report.groups:
        lines += [f"## What became of each rebalance of `{group.group_id}`", "", "| rebalance | cause | became |"]
        lines += ["|---|---|---|"]
        lines += [f"| {_name(row)} | {row.cause or '-'} | {row.became} |" for row in group.rows]
        lines.append("")
        if group.unanswered:
            lines += [f"Not answered: {unanswered_words(group.unanswered)}.", ""]
    return "\n".join([*lines, *_aside(report), ""])


def _sides(report: Report) -> Iterator[tuple[str, Figures, Figures]]:
    groups = report.groups
    if len(groups) != 1:
        recorded, predicted = ([getattr(one, side) for one in groups] for side in ("recorded", "predicted"))
        yield f"all {counted(len(groups), 'group')}", summed(recorded), summed(predicted)
    yield from ((one.group_id, one.recorded, one.predicted) for one in groups)


def _pairs(recorded: Figures, predicted: Figures) -> Iterator[tuple[str, float, float]]:
    before, after = asdict(recorded), asdict(predicted)
    yield from ((words, before[name], after[name]) for name, words in MEASURES.items())


def _about(row: ReplayRow) -> str:
    return f"{_name(row)} ({row.cause})" if row.cause else _name(row)


def _name(row: ReplayRow) -> str:
    if row.rebalance_id is not None:
        return row.rebalance_id
    return f"new {row.predicted_ids[0]}" if row.predicted_ids else "between rebalances"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _aside(report: Report) -> Iterator[str]:
    lines = ", ".join(f"{count:,} {reason}" for reason, count in sorted(report.lines.items())) or "nothing"
    yield f"lines set aside: {lines}"
    for one in report.set_aside:
        yield f"rebalances set aside: {one.rebalances:,} of {one.group_id} ({one.reason})"
