"""Rebalances as one page that needs nothing else: no script, no font, no picture from anywhere.

It must not know files; everything that strangers named is escaped.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files

from bridge.telemetry.cause.words import shorten, tell_duration
from bridge.telemetry.rebalances.stories import MemberStory, Rebalance
from bridge.telemetry.trace.page_chart import draw_chart
from bridge.telemetry.trace.wording import (
    CAUSE_WORDS,
    longest_stall_us,
    tell_moved,
    tell_outcome,
    tell_time,
    tell_waited,
)

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
        f"<title>{escape(group_id)}: {_counted(len(rebalances), 'rebalance')}</title>\n<style>{STYLE}</style>\n"
        f"</head>\n<body>\n<main>\n<header><h1>{escape(group_id)}</h1><p>{_span(rebalances)}</p></header>\n"
        f"{_contents(rebalances)}{body}"
        "<footer>Drawn by epochbridge from its event log. Durations are of the bridge's monotonic clock; "
        "times of day are UTC.</footer>\n</main>\n</body>\n</html>\n"
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _span(rebalances: Sequence[Rebalance]) -> str:
    first, last = tell_time(rebalances[0].began_wall_us), tell_time(rebalances[-1].ended_wall_us)
    return f"{_counted(len(rebalances), 'rebalance')}, {first} to {last}"


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
    return _table(f"{_counted(len(rows), 'partition')} changed hands", ("Partition", "From", "To"), rows)


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
