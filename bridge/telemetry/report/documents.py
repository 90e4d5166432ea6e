"""The evidence of a group as Markdown, as a page that needs nothing else, and as JSON."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape

from bridge.telemetry.report.evidence import US_PER_S, Chapter, Evidence

SHOWN = 10
"""So many members, and partitions, that stood still for longest are named."""
_BAR_PX = 320
_NOT_SAID = "Lag and records that were read twice are not in the event log: ask the consumers' own figures."


def as_markdown(evidence: Evidence) -> str:
    """One page with a column for each chapter."""
    titles = [chapter.title for chapter in evidence.chapters]
    lines = [f"# Group {_plain(evidence.group_id)}", "", evidence.verdict, ""]
    lines += [f"| | {' | '.join(titles)} |", "|---" * (len(titles) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in _rows(evidence.chapters)]
    for title, named in _named(evidence.chapters):
        lines += ["", f"## {title}", "", *(f"- {line}" for line in named)]
    return "\n".join([*lines, "", _NOT_SAID, ""])


def as_html(evidence: Evidence) -> str:
    """The same as a page, with a bar for the time that members stood still in an hour."""
    head = "".join(f"<th>{escape(chapter.title)}</th>" for chapter in evidence.chapters)
    rows = "".join(
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
        for name, cells in _rows(evidence.chapters)
    )
    named = "".join(
        f"<h2>{title}</h2><ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
        for title, lines in _named(evidence.chapters)
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(evidence.group_id)}</title>'
        "<style>body{font:16px sans-serif;margin:2em}td,th{padding:.3em .8em;text-align:left;"
        "border-bottom:1px solid #ccc}</style></head><body>"
        f"<h1>Group {escape(evidence.group_id)}</h1><p>{escape(evidence.verdict)}</p>"
        f"<table><tr><th></th>{head}</tr>{rows}</table>"
        f"<h2>Seconds in which members stood still, an hour</h2>{_bars(evidence.chapters)}"
        f"{named}<p>{_NOT_SAID}</p></body></html>\n"
    )


def as_json(evidence: Evidence) -> str:
    """Everything, for programs; times are seconds since 1970."""
    chapters = [
        {
            "title": chapter.title,
            "began_s": chapter.began_us / US_PER_S,
            "duration_s": chapter.duration_s,
            "road": chapter.road,
            "rebalances": dict(chapter.rebalances),
            "members_disturbed": chapter.disturbed,
            "stall_s": {name: stall_us / US_PER_S for name, stall_us in chapter.stall_us.items()},
            "partitions_stall_s": {name: stall_us / US_PER_S for name, stall_us in chapter.unread_us.items()},
            "partitions_moved": chapter.moved,
            "partitions_forced": chapter.forced,
            "rebalances_uncounted": chapter.uncounted,
            "failed_commits": chapter.failed_commits,
            "members_lost": chapter.lost,
        }
        for chapter in evidence.chapters
    ]
    shown = {"group_id": evidence.group_id, "verdict": evidence.verdict, "protocols": dict(evidence.protocols)}
    return json.dumps({**shown, "chapters": chapters}, ensure_ascii=False)


def _rows(chapters: Sequence[Chapter]) -> Iterator[tuple[str, list[str]]]:
    yield "began (UTC)", [_moment(chapter.began_us) for chapter in chapters]
    yield "lasted", [f"{chapter.duration_s:.0f} s" for chapter in chapters]
    yield "road", [chapter.road or "-" for chapter in chapters]
    yield "rebalances", [_told(chapter) for chapter in chapters]
    yield "members disturbed", [str(chapter.disturbed) for chapter in chapters]
    yield "seconds that members stood still", [f"{chapter.stall_s:.1f}" for chapter in chapters]
    yield "seconds that partitions stood still", [f"{chapter.unread_s:.1f}" for chapter in chapters]
    yield "partitions moved (had to)", [_moves(chapter) for chapter in chapters]
    yield "commits that failed", [str(chapter.failed_commits) for chapter in chapters]
    yield "members lost", [str(chapter.lost) for chapter in chapters]


def _named(chapters: Sequence[Chapter]) -> Iterator[tuple[str, list[str]]]:
    """Who stood still, and what, a line for each chapter."""
    yield "Who stood still", [f"{one.title}: {', '.join(_longest(one.stall_us)) or 'nobody'}" for one in chapters]
    yield (
        "Which partitions nobody read",
        [f"{one.title}: {', '.join(_longest(one.unread_us)) or 'none'}" for one in chapters],
    )


def _told(chapter: Chapter) -> str:
    causes = ", ".join(f"{count} {cause}" for cause, count in chapter.rebalances.most_common())
    return f"{chapter.rebalances.total()} ({causes})" if causes else "0"


def _moves(chapter: Chapter) -> str:
    """A broker that coordinates a consumer group tells nobody what it wants each member to have."""
    unknown = f"those of {chapter.uncounted} not known" if chapter.uncounted else ""
    known = "" if chapter.uncounted == chapter.rebalances.total() > 0 else f"{chapter.moved} ({chapter.forced})"
    return "; ".join(part for part in (known, unknown) if part)


def _longest(stalls: "Counter[str]") -> list[str]:
    found = [(name, stall_us) for name, stall_us in stalls.most_common(SHOWN) if stall_us]
    return [f"{_plain(name)} {stall_us / US_PER_S:.1f} s" for name, stall_us in found]


def _bars(chapters: Sequence[Chapter]) -> str:
    rates = [chapter.stall_s * 3600 / max(chapter.duration_s, 1) for chapter in chapters]
    most = max(rates, default=0) or 1
    bars = "".join(
        f'<rect x="0" y="{24 * number}" width="{_BAR_PX * rate / most:.1f}" height="18" fill="#47a"/>'
        f'<text x="{_BAR_PX + 10}" y="{24 * number + 14}">{rate:.1f} s: {escape(chapter.title)}</text>'
        for number, (chapter, rate) in enumerate(zip(chapters, rates, strict=True))
    )
    return f'<svg width="{_BAR_PX * 2}" height="{24 * len(chapters)}" role="img">{bars}</svg>'


def _moment(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / US_PER_S, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _plain(text: str) -> str:
    """What a stranger named, in a line of Markdown."""
    return "".join(character if character.isprintable() else "?" for character in text).replace("|", "\\|")
