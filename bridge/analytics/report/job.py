"""The job `report`: the tables as a page to look at and as Markdown."""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import click

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.job_run import open_tables, require_output
from bridge.analytics.report.facts import report_facts
from bridge.analytics.report.page import markdown, page
from bridge.analytics.spark.session import SessionSettings, open_session
from bridge.analytics.tables.definitions import REBALANCES
from bridge.analytics.tables.placing import NOTE
from bridge.analytics.tables.store import NEXT, Store

NAME = "report"
NAME_LETTERS_MAX = 100
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def main(out: str, group: str | None, master: str | None, settings: Mapping[str, str]) -> None:
    """Write `report.html` and `report.md` beside the tables, those of one group under its name, and say where."""
    require_tables(out)
    spark = open_session(SessionSettings(master=master, settings=settings))
    for path in write_report(open_tables(spark, out), Path(out), group):
        click.echo(path)


def write_report(store: Store, folder: Path, group: str | None) -> list[Path]:
    """Write both files; raise AnalyticsError if the tables know no such group."""
    facts = report_facts(store, group)
    if group is not None and not facts.rebalances:
        known = sorted(
            row["group_id"] for row in store.read(REBALANCES).select("group_id").distinct().limit(5).collect()
        )
        names = ", ".join(known) or "none at all"
        raise AnalyticsError(
            f"EB-ANALYTICS-010: no rebalance of group {group!r} is in the tables; there are some of {names}; "
            "check --group, or leave it out"
        )
    name = NAME if group is None else f"{NAME}-{_file_name(group)}"
    written = [folder / f"{name}.html", folder / f"{name}.md"]
    for path, text in zip(written, (page(facts), markdown(facts)), strict=True):
        path.write_text(text, encoding="utf-8")
    return written


def _file_name(group: str) -> str:
    """A name that any file system takes, of its own for each group: what it can't show becomes a digest."""
    plain = _UNSAFE.sub("_", group)[:NAME_LETTERS_MAX]
    return plain if plain == group else f"{plain}-{sha256(group.encode()).hexdigest()[:8]}"


def require_tables(out: str) -> None:
    """Raise AnalyticsError unless tables are below a folder of this machine, where the report can lie beside them."""
    place = Path(out)
    if "://" in out or not ((place / REBALANCES.name).is_dir() or any((place / NEXT).glob(f"{NOTE}*"))):
        raise AnalyticsError(
            f"EB-ANALYTICS-009: {out} holds no tables on this machine; "
            "make them with `epochbridge analytics run` or `analytics stream`, and name their --out"
        )
    require_output(out)
