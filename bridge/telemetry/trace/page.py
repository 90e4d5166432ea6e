"""Rebalances as one page that needs nothing else: no script, no font, no picture from anywhere.

Everything that strangers named is escaped.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files

from bridge.telemetry.cause.sentences import shorten, tell_duration
from bridge.telemetry.rebalances.rebalance import MemberStory, Rebalance, Stretch
from bridge.telemetry.schema.terms import Phase
from bridge.telemetry.trace.drawing import (
    CAUSE_WORDS,
    PHASE_WORDS,
    Axis,
    axis_of,
    longest_stall_us,
    tell_client,
    tell_moved,
    tell_name,
    tell_outcome,
    tell_roles,
    tell_time,
    tell_waited,
    ticks_of,
)
from translators.dialects.counts import counted

DRAWN = (Phase.JOINING, Phase.SYNCING, Phase.REVOKING, Phase.AWAITING_RELEASE, Phase.FETCHING)
MARKS = {
    "told_us": ("▾", "told"),
    "commit_on_revoke_us": ("◆", "committed while giving up"),
    "first_fetch_us": ("●", "first fetch"),
}
LABEL_SHARE_MIN = 0.13
"""A bar as wide as this part of the track has room for words."""
ROWS_MAX = 200
"""Members that are drawn one by one; of more, those that stood still longest."""
BADGES = {"cause": " why", "waited for": " late"}


def draw_chart(rebalance: Rebalance) -> str:
    """Axis, rows and legend."""
    axis = axis_of(rebalance)
    drawn = choose_rows(rebalance)
    rows = "".join(_row(rebalance, member, axis) for member in drawn)
    hidden = len(rebalance.touched) - len(drawn)
    rest = _rest(hidden, "stood still for less and are not drawn") + _rest(rebalance.untouched_count, "untouched")
    return f'<div class="chart">\n{_axis(axis)}{rows}{rest}</div>\n{_legend()}'


def choose_rows(rebalance: Rebalance) -> tuple[MemberStory, ...]:
    """The members that have a row, in their order: all, or those that matter most."""
    touched = rebalance.touched
    if len(touched) <= ROWS_MAX:
        return touched
    critical = rebalance.explained.critical_member
    ranked = sorted(touched, key=lambda member: (member.member_id != critical, -member.stall_us))
    chosen = {member.member_id for member in ranked[:ROWS_MAX]}
    return tuple(member for member in touched if member.member_id in chosen)


def _rest(count: int, what: str) -> str:
    if not count:
        return ""
    verb = "" if what.startswith("stood") else "was " if count == 1 else "were "
    return f'<div class="rest">{counted(count, "more member")} {verb}{what}.</div>'


def _axis(axis: Axis) -> str:
    ticks = "".join(
        f'<span class="tick" style="left:{_percent(axis.place(tick))}">{_tick_label(tick)}</span>'
        for tick in ticks_of(axis)
    )
    return f'<div class="axis"><div>member</div><div>{ticks}</div><div>stood still</div></div>\n'


def _tick_label(tick_us: int) -> str:
    if tick_us == 0:
        return "0"
    return tell_duration(tick_us) if tick_us > 0 else f"−{tell_duration(-tick_us)}"


def _row(rebalance: Rebalance, member: MemberStory, axis: Axis) -> str:
    is_critical = member.member_id == rebalance.explained.critical_member
    grid = "".join(f'<i class="grid" style="left:{_percent(axis.place(tick))}"></i>' for tick in ticks_of(axis))
    edges = "".join(
        f'<i class="edge" style="left:{_percent(axis.place(at_us))}"></i>' for at_us in (0, rebalance.duration_us)
    )
    names = {one.member_id: tell_name(one) for one in rebalance.members}
    bars = "".join(_bar(stretch, axis, names) for stretch in member.stretches)
    stall = tell_duration(member.stall_us) if member.stall_us else "<small>–</small>"
    return (
        f'<div class="row{" critical" if is_critical else ""}">{_who(rebalance, member)}'
        f'<div class="track">{grid}{edges}{bars}{"".join(_marks(member, axis))}</div>'
        f'<div class="stall">{stall}</div></div>\n'
    )


def _who(rebalance: Rebalance, member: MemberStory) -> str:
    roles = "".join(
        f'<span class="badge{BADGES.get(role, "")}">{escape(role)}</span>' for role in tell_roles(rebalance, member)
    )
    host = f", host {member.client_host}" if member.client_host else ""
    hint = escape(f"{member.member_id}\n{member.client_id}{host}", quote=True)
    return (
        f'<div class="who" title="{hint}"><b>{escape(tell_name(member))}</b>'
        f"<small>{roles}{escape(tell_client(member))}</small></div>"
    )


def _bar(stretch: Stretch, axis: Axis, names: Mapping[str, str]) -> str:
    cut = axis.cut(stretch)
    if cut is None:
        return ""
    begin, end = cut
    holders = ", ".join(names.get(holder) or shorten(holder) for holder in stretch.waits_on)
    waits = f" for {holders}" if holders else ""
    words = "waits" if stretch.phase is Phase.AWAITING_RELEASE else PHASE_WORDS[stretch.phase]
    hint = f"{PHASE_WORDS[stretch.phase]}{waits}: {tell_duration(stretch.duration_us)}"
    label = f"<span>{escape(words + waits)}</span>"
    has_room = end - begin >= LABEL_SHARE_MIN and stretch.phase is not Phase.FETCHING
    torn = "" if stretch.is_whole else " torn"
    return (
        f'<i class="bar {stretch.phase.value}{torn}" title="{escape(hint, quote=True)}" '
        f'style="left:{_percent(begin)};width:{_percent(end - begin)}">{label if has_room else ""}</i>'
    )


def _marks(member: MemberStory, axis: Axis) -> Iterator[str]:
    moments = {
        "told_us": member.told_us,
        "commit_on_revoke_us": member.commit_on_revoke_us,
        "first_fetch_us": member.first_fetch_us,
    }
    for name, at_us in moments.items():
        if at_us is not None and axis.shows(at_us):
            sign, words = MARKS[name]
            yield f'<i class="mark" title="{words}" style="left:{_percent(axis.place(at_us))}">{sign}</i>'


def _legend() -> str:
    phases = (f'<span><i class="bar {phase.value}"></i>{PHASE_WORDS[phase]}</span>' for phase in DRAWN)
    marks = (f"<span>{sign} {words}</span>" for sign, words in MARKS.values())
    edges = "<span>┊ the rebalance began, and ended</span>"
    return f'<div class="legend">{"".join((*phases, *marks))}{edges}</div>\n'


def _percent(share: float) -> str:
    return f"{100 * share:.3f}%"


STYLE = files("bridge.telemetry.trace").joinpath("page.css").read_text(encoding="utf-8")
NAME = re.compile(r"\b[\w.]+(?:-[\w.]+)+")
"""Names of members, topics and groups, in which a browser would break a line at each dash."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def draw_page(rebalances: Sequence[Rebalance]) -> str:
    """The page of these rebalances of one group, oldest first; there is at least one."""
    group_id = rebalances[0].group_id
    body = "".join(_section(number, one) for number, one in enumerate(rebalances, 1))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{escape(group_id)}: {counted(len(rebalances), 'rebalance')}</title>\n<style>{STYLE}</style>\n"
        f"</head>\n<body>\n<main>\n<header><h1>{escape(group_id)}</h1><p>{_span(rebalances)}</p></header>\n"
        f"{_contents(rebalances)}{body}"
        "<footer>Drawn by epochbridge from its event log. Durations are of the bridge's monotonic clock; "
        "times of day are UTC.</footer>\n</main>\n</body>\n</html>\n"
    )


def _span(rebalances: Sequence[Rebalance]) -> str:
    first, last = tell_time(rebalances[0].began_wall_us), tell_time(rebalances[-1].ended_wall_us)
    return f"{counted(len(rebalances), 'rebalance')}, {first} to {last}"


def _contents(rebalances: Sequence[Rebalance]) -> str:
    if len(rebalances) < 2:
        return ""
    lines = (
        f'<a href="#r{number}"><span>{tell_time(one.began_wall_us)}</span><span>epoch {one.epoch}</span>'
        f"<span>{tell_duration(one.duration_us)}</span><span>{escape(one.explained.sentence)}</span></a>"
        for number, one in enumerate(rebalances, 1)
    )
    return f"<nav>{''.join(lines)}</nav>\n"


def _section(number: int, rebalance: Rebalance) -> str:
    explained = rebalance.explained
    heading = (
        f'<span class="cause">{CAUSE_WORDS[explained.cause]}</span>'
        f"<span>{tell_time(rebalance.began_wall_us)}</span><span>epoch {rebalance.epoch}</span>"
        f"<span>road {rebalance.road.value}</span><span>{tell_outcome(rebalance)}</span>"
        f"<span>{escape(rebalance.rebalance_id)}</span>"
    )
    return (
        f'<section id="r{number}">\n<h2>{heading}</h2>\n'
        f'<p class="sentence">{_unbroken(explained.sentence)}</p>\n{_figures(rebalance)}'
        f"{draw_chart(rebalance)}{_moves(rebalance.members)}{_evidence(rebalance)}</section>\n"
    )


def _figures(rebalance: Rebalance) -> str:
    touched = len(rebalance.touched)
    count = f"of {touched + rebalance.untouched_count}" if rebalance.member_count >= 0 else ""
    figures = {
        "took": tell_duration(rebalance.duration_us),
        "members touched": f"{touched} <small>{count}</small>",
        "disturbed": str(rebalance.disturbed_count),
        "partitions moved": _split(tell_moved(rebalance)),
        "longest standstill": tell_duration(longest_stall_us(rebalance)),
        "waited for": _split(escape(tell_waited(rebalance)), " for "),
    }
    return "<dl>" + "".join(f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in figures.items()) + "</dl>\n"


def _split(text: str, at: str = " ") -> str:
    """What stands before the first of these words large, the rest small."""
    head, found, tail = text.partition(at)
    return f"{head} <small>{found.lstrip()}{tail}</small>" if tail else head


def _unbroken(sentence: str) -> str:
    """The sentence with names that no line is to end in the middle of."""
    return NAME.sub(r'<span class="name">\g<0></span>', escape(sentence))


def _moves(members: Sequence[MemberStory]) -> str:
    """Who had a partition before, and who has it now."""
    rows = list(_move_rows(members))
    return _table(f"{counted(len(rows), 'partition')} changed hands", ("Partition", "From", "To"), rows)


def _move_rows(members: Sequence[MemberStory]) -> Iterator[tuple[str, str, str]]:
    lost = {partition: member.member_id for member in members for partition in member.lost}
    gained = {partition: member.member_id for member in members for partition in member.gained}
    for partition in sorted(lost | gained):
        before, after = lost.get(partition, ""), gained.get(partition, "")
        yield partition, shorten(before) or "nobody", shorten(after) or "nobody"


def _evidence(rebalance: Rebalance) -> str:
    explained = rebalance.explained
    rows = [("Caused by", member_id) for member_id in explained.caused_by]
    rows += [("Event", event_id) for event_id in explained.evidence]
    return _table("Evidence", ("What", "Id"), rows)


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    if not lines:
        return ""
    head = "".join(f"<th>{column}</th>" for column in columns)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<details><summary>{title}</summary><table><tr>{head}</tr>{body}</table></details>\n"
