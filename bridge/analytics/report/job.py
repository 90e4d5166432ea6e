"""The job `report`: the tables as a page to look at and as Markdown."""

import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import click

from bridge.analytics.engines.table_files import require_tables
from bridge.analytics.engines.views import Views
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.report.facts import known_groups, report_facts
from bridge.analytics.report.page import markdown, page

NAME = "report"
NAME_LETTERS_MAX = 100
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def main(out: str, group: str | None, open_views: Callable[[], Views]) -> None:
    """Write `report.html` and `report.md` beside the tables, those of one group under its name, and say where."""
    require_tables(out)
    for path in write_report(open_views(), Path(out), group):
        click.echo(path)


def write_report(views: Views, folder: Path, group: str | None) -> list[Path]:
    """Write both files; raise AnalyticsError if the tables know no such group, or the folder takes no files."""
    facts = report_facts(views, group)
    if group is not None and not facts.rebalances:
        names = ", ".join(known_groups(views)) or "none at all"
        raise AnalyticsError(
            f"EB-ANALYTICS-010: no rebalance of group {group!r} is in the tables; there are some of {names}; "
            "check --group, or leave it out"
        )
    name = NAME if group is None else f"{NAME}-{_file_name(group)}"
    written = [folder / f"{name}.html", folder / f"{name}.md"]
    for path, text in zip(written, (page(facts), markdown(facts)), strict=True):
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as problem:
            raise AnalyticsError(
                f"EB-ANALYTICS-050: {path} can't be written: {problem.strerror or problem}; make that directory "
                "writable, or copy the tables to one that is"
            ) from problem
    return written


def _file_name(group: str) -> str:
    """A name that any file system takes, of its own for each group: what it can't show becomes a digest."""
    plain = _UNSAFE.sub("_", group)[:NAME_LETTERS_MAX]
    return plain if plain == group else f"{plain}-{sha256(group.encode()).hexdigest()[:8]}"
