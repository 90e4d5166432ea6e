"""The report as one HTML page that needs nothing else, and as Markdown."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape

from bridge.analytics.report.facts import ChangeFacts, CulpritFacts, HeatFacts, ReportFacts, Spread
from bridge.analytics.report.plots import Bar, Heat, bars, heat_map
from bridge.analytics.report.questions import HOUR_US
from translators.dialects.counts import counted

TONES = {"classic": 0, "consumer": 1}
TICKS_MAX = 7
"""Of the heat map; each has room for a day and an hour."""
SECOND_US, TEN_MINUTES_US = 1_000_000, 600_000_000
STYLE = (
    """
:root { --ink: #1d2733; --soft: #5b6876; --line: #d7dde3; --paper: #ffffff;
  --tone0: #4a6fa5; --tone1: #d98032; --h0: #eef1f4; --h1: #d5e3f0; --h2: #b0cde6; --h3: #82afd6;
  --h4: #528cc0; --h5: #2c67a3; --h6: #123f73; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ee; --soft: #9aa7b4; --line: #38434e; --paper: #161c22;
  --tone0: #7ea3d8; --tone1: #e39a57; --h0: #232c35; --h1: #1d3a55; --h2: #22517b; --h3: #2c6ba3;
  --h4: #4a8bc6; --h5: #7eb0de; --h6: #bcdcf5; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
  margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.6rem; margin-bottom: 0.2rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 0.3rem; }
p.lead, p.none { color: var(--soft); margin: 0 0 0.8rem; }
svg { width: 100%; height: auto; font-size: 12.5px; }
svg text { fill: var(--ink); dominant-baseline: central; } svg .label { text-anchor: end; }
svg .value, svg .tick { fill: var(--soft); } svg .axis { stroke: var(--line); }
svg .whisker { stroke: var(--soft); stroke-width: 1.5; fill: none; }
.tone0 { fill: var(--tone0); } .tone1 { fill: var(--tone1); }
"""
    + "".join(f".heat{step} {{ fill: var(--h{step}); }} " for step in range(7))
    + """
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }
th, td { text-align: left; padding: 0.25rem 0.9rem 0.25rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; } td.n { white-space: nowrap; }
"""
)

_NUMBER = re.compile(r"[\d,.]+(?: \S+)?")
Rows = Sequence[Sequence[str]]
Section = tuple[str, str, Rows]
"""Its heading, what stands below it, and its table with the heads of the columns."""


def page(facts: ReportFacts) -> str:
    """The whole page."""
    title = _title(facts)
    sections = "".join(
        f"<h2>{escape(name)}</h2><p class=lead>{escape(lead)}</p>{plot}{_html_table(rows)}"
        for (name, lead, rows), plot in zip(_sections(facts), _plots(facts), strict=True)
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
        f"<h1>{escape(title)}</h1><p class=lead>{escape(_lead(facts))}</p>{sections}</body></html>\n"
    )


def markdown(facts: ReportFacts) -> str:
    """The same in words and tables."""
    parts = [f"# {_title(facts)}", _lead(facts)]
    for name, lead, rows in _sections(facts):
        parts += [f"## {name}", lead, _markdown_table(rows) if len(rows) > 1 else "Nothing of the kind is in the log."]
    return "\n\n".join(parts) + "\n"


def shown(us: float) -> str:
    """A duration with three figures at most and a unit that fits."""
    for bound_us, unit in ((1_000, "µs"), (1_000_000, "ms")):
        # What three figures round up to the bound has the next unit.
        if us < bound_us * 0.9995:
            return f"{us / (bound_us / 1_000):.3g} {unit}"
    if us < TEN_MINUTES_US:
        return f"{us / 1e6:.3g} s"
    return f"{us / 60e6:,.0f} min" if us < 10 * HOUR_US else f"{us / HOUR_US:,.0f} h"


def hour_shown(hour: int) -> str:
    """An hour since 1970 as UTC day and hour."""
    return datetime.fromtimestamp(hour * HOUR_US // SECOND_US, UTC).strftime("%m-%d %H:00")


def time_shown(wall_us: int) -> str:
    """A time since 1970 as UTC day, hour and minute."""
    return datetime.fromtimestamp(wall_us // SECOND_US, UTC).strftime("%Y-%m-%d %H:%M")


def _title(facts: ReportFacts) -> str:
    return "Rebalances of all groups" if facts.group is None else f"Rebalances of {facts.group}"


def _lead(facts: ReportFacts) -> str:
    told, disturbed = (sum(getattr(cause, name) for cause in facts.causes) for name in ("told", "disturbed"))
    stood = "no partition stood still" if facts.stall is None else _stood(facts.stall)
    when = "" if facts.began_us is None else f", {time_shown(facts.began_us[0])} to {time_shown(facts.began_us[1])} UTC"
    return (
        f"{counted(facts.rebalances, 'rebalance')}{when}; {stood}; members were told to rejoin or to revoke "
        f"{counted(told, 'time')}, {counted(disturbed, 'time')} without need."
    )


def _stood(stall: Spread) -> str:
    return (
        f"{counted(stall.count, 'time')} a partition stood still, half of them for up to {shown(stall.p50_us)}, "
        f"95 % for up to {shown(stall.p95_us)}, the longest for {shown(stall.max_us)}"
    )


def _sections(facts: ReportFacts) -> Iterator[Section]:
    yield (
        "Latency by phase",
        "How long members were in each phase. Bar: median, whisker: 95th percentile.",
        [
            ("phase", "protocol", *SPREAD_HEAD),
            *((one.phase, one.protocol, *_spread_cells(one.spread)) for one in facts.phases),
        ],
    )
    yield _changes(facts)
    yield (
        "Slowest members",
        "By their time in all phases; the phase that took most of it. Bar: its median, whisker: 95th percentile.",
        [
            ("group", "member", "library", "in all", "slowest phase", *SPREAD_HEAD),
            *(
                (one.group_id, one.member_id, one.library, shown(one.total_us), one.phase, *_spread_cells(one.spread))
                for one in facts.members
            ),
        ],
    )
    yield _culprits(facts)
    yield (
        "Causes",
        "What made groups rebalance. Bar: how often.",
        [
            ("cause", "rebalances", "moved", "forced minimum", "told", "disturbed"),
            *(
                (
                    one.cause,
                    *(f"{n:,}" for n in (one.rebalances, one.moved, one.forced_minimum, one.told, one.disturbed)),
                )
                for one in facts.causes
            ),
        ],
    )
    yield (
        "Stalls by group and hour",
        f"Sum of the time that partitions stood still, UTC; the worst groups first.{_by(facts.heat)}",
        _heat_rows(facts.heat),
    )


def _changes(facts: ReportFacts) -> Section:
    return (
        "Before and after a protocol change",
        "Groups whose members came to speak another protocol. Bar: median stall of a partition, whisker: 95 %.",
        [
            (
                "group",
                "protocol",
                "rebalances",
                "disturbed",
                "rebalance p50",
                "rebalance p95",
                "stall p50",
                "stall p95",
            ),
            *(_change_cells(one) for one in facts.changes),
        ],
    )


def _culprits(facts: ReportFacts) -> Section:
    return (
        "Who was waited for",
        "Members that others waited for, and those that were put out (frozen, killed, late) with partitions of theirs.",
        [
            (
                "group",
                "member",
                "client",
                "library",
                "rebalances",
                "waited for",
                "longest",
                "phase",
                "went",
                "stood still",
            ),
            *(_culprit_cells(one) for one in facts.culprits),
        ],
    )


SPREAD_HEAD = ("times", "p50", "p95", "max")


def _spread_cells(spread: Spread) -> tuple[str, ...]:
    return (f"{spread.count:,}", shown(spread.p50_us), shown(spread.p95_us), shown(spread.max_us))


def _change_cells(one: ChangeFacts) -> tuple[str, ...]:
    ends = [
        cell
        for spread in (one.duration, one.stall)
        for cell in (("–", "–") if spread is None else _spread_cells(spread)[1:3])
    ]
    return (one.group_id, one.protocol, f"{one.rebalances:,}", f"{one.disturbed:,}", *ends)


def _culprit_cells(one: CulpritFacts) -> tuple[str, ...]:
    waited = (
        (f"{one.rebalances:,}", shown(one.waited_us), shown(one.most_us), one.phase) if one.rebalances else ("–",) * 4
    )
    went = (one.departure, shown(one.stall_us)) if one.departure else ("–", "–")
    return (one.group_id, one.member_id, one.client_id, one.library, *waited, *went)


def _by(heat: HeatFacts) -> str:
    return "" if heat.column_hours == 1 else f" A column is {heat.column_hours:,} hours."


def _heat_rows(heat: HeatFacts) -> Rows:
    """The worst hour of each group, or the worst of several hours; the plot shows the others."""
    span = "hour" if heat.column_hours == 1 else f"{heat.column_hours:,} hours"
    rows: list[Sequence[str]] = [
        ("group", "in all", f"worst {span}", f"in {'that' if span == 'hour' else 'those'} {span}")
    ]
    for group, sums in zip(heat.groups, heat.stall_us, strict=True):
        worst = max(range(len(sums)), key=sums.__getitem__)
        rows.append(
            (group, shown(sum(sums)), hour_shown(heat.first_hour + worst * heat.column_hours), shown(sums[worst]))
        )
    return rows


def _plots(facts: ReportFacts) -> Iterator[str]:
    yield bars(
        [_bar(f"{one.phase}, {one.protocol}", one.spread, one.protocol) for one in facts.phases], "latency by phase"
    )
    yield bars(
        [_bar(f"{one.group_id}, {one.protocol}", one.stall, one.protocol) for one in facts.changes if one.stall],
        "stalls before and after a protocol change",
    )
    yield bars(
        [_bar(f"{one.member_id}, {one.phase}", one.spread, "classic") for one in facts.members], "slowest members"
    )
    yield bars([_culprit_bar(one) for one in facts.culprits], "who was waited for")
    yield bars(
        [
            Bar(label=one.cause, value=one.rebalances, whisker=one.rebalances, note=f"{one.rebalances:,}")
            for one in facts.causes
        ],
        "causes",
    )
    yield heat_map(_heat(facts.heat), "stalls by group and hour")


def _bar(label: str, spread: Spread, protocol: str) -> Bar:
    note = f"{shown(spread.p50_us)}, 95 %: {shown(spread.p95_us)}"
    return Bar(label=label, value=spread.p50_us, whisker=spread.p95_us, note=note, tone=TONES.get(protocol, 0))


def _culprit_bar(one: CulpritFacts) -> Bar:
    both_us = one.waited_us + one.stall_us
    note = f"{shown(both_us)}{f', {one.phase}' if one.phase else ''}{f', {one.departure}' if one.departure else ''}"
    return Bar(label=one.client_id or one.member_id, value=both_us, whisker=both_us, note=note)


def _heat(heat: HeatFacts) -> Heat:
    count = len(heat.stall_us[0]) if heat.stall_us else 0
    hours = [hour_shown(heat.first_hour + place * heat.column_hours) for place in range(count)]
    every = -(-count // TICKS_MAX) if count else 1
    most = max((max(row) for row in heat.stall_us), default=0)
    return Heat(
        rows=heat.groups,
        ticks=[hour if place % max(every, 2) == 0 else "" for place, hour in enumerate(hours)],
        values=heat.stall_us,
        notes=[
            [f"{group}, {hour}: {shown(us)}" for hour, us in zip(hours, row, strict=True)]
            for group, row in zip(heat.groups, heat.stall_us, strict=True)
        ],
        legend=("none", f"up to {shown(most)}"),
    )


def _html_table(rows: Rows) -> str:
    if len(rows) <= 1:
        return ""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in rows[0])
    body = "".join("<tr>" + "".join(map(_html_cell, row)) + "</tr>" for row in rows[1:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html_cell(text: str) -> str:
    """A number stays on one line with its unit, however narrow the page is."""
    return f"<td class=n>{escape(text)}</td>" if _NUMBER.fullmatch(text) else f"<td>{escape(text)}</td>"


def _markdown_table(rows: Rows) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(map(_markdown_cell, line)) + " |" for line in lines)


def _markdown_cell(text: str) -> str:
    """What a stranger named a group must not draw a table of its own, nor a link."""
    kept = "".join(f"\\{letter}" if letter in "|\\[]<>`*_" else letter for letter in text)
    return " ".join(kept.split())
