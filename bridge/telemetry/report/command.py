"""The command `report`: what the moves of a group did to it, as one page."""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click

from bridge.telemetry.event_log.files import event_files, read_log
from bridge.telemetry.report.documents import as_html, as_json, as_markdown
from bridge.telemetry.report.evidence import Evidence, find_evidence
from bridge.telemetry.schema.facts import Event
from bridge.telemetry.trace.command import read_duration
from bridge.telemetry.trace.selection import NothingToShow, find_folder, log_options

FORMATS: Mapping[str, Callable[[Evidence], str]] = {"md": as_markdown, "html": as_html, "json": as_json}


@click.command("report")
@click.argument("group")
@click.option(
    "--since",
    "since_us",
    metavar="TIME",
    callback=read_duration,
    help="Only the last TIME of the log, such as 15m, 1h or 2d.",
)
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="md", show_default=True)
@log_options
def report(group: str, *, since_us: int | None, form: str, events: Path | None, admin: str) -> None:
    """Print what happened to a group before, between and after its moves, for the owner of its application.

    Rebalances by cause, members disturbed, time that members and partitions stood still, partitions moved against the
    fewest that had to, commits that failed, members lost, and whether the group still needs the bridge.
    """
    try:
        folder = find_folder(admin) if events is None else events
    except NothingToShow as problem:
        raise click.ClickException(str(problem)) from None
    until_us = now_us() if events is None or _is_written(folder, admin) else None
    try:
        evidence = find_evidence(_events(folder), group, since_us, until_us)
    except OSError as problem:
        raise click.ClickException(
            f"EB-TRACE-001: the event log {folder} can't be read: {problem.strerror or problem}; name the folder that "
            "`epochbridge serve --events DIR` writes to with --events"
        ) from None
    if evidence is None:
        raise click.ClickException(
            f"EB-TRACE-002: the event log {folder} holds nothing of group {group!r}; `epochbridge census` lists groups"
        )
    click.echo(FORMATS[form](evidence).rstrip("\n"))


def now_us() -> int:
    """The wall clock, by which the events of a log are placed."""
    return time.time_ns() // 1_000


def _is_written(folder: Path, admin: str) -> bool:
    """Whether a bridge writes to this folder still: one that was killed has not said that it stopped, and what became
    of its groups since its last event nobody knows.
    """
    try:
        return find_folder(admin).resolve() == folder.resolve()
    except NothingToShow:
        return False


def _events(folder: Path) -> Iterator[Event]:
    if not event_files(folder):
        raise FileNotFoundError(2, "there are no files of an event log")
    return (found for found in read_log(folder) if isinstance(found, Event))
