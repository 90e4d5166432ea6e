"""The command `trace`: its options, and where each drawing goes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

import click
from rich.console import Console

from bridge.telemetry.rebalances.rebalance import Rebalance
from bridge.telemetry.trace.exports import perfetto_trace, rebalances_document
from bridge.telemetry.trace.page import draw_page
from bridge.telemetry.trace.selection import (
    Aside,
    NothingToShow,
    Wanted,
    find_folder,
    find_rebalances,
    log_options,
    parse_duration,
)
from bridge.telemetry.trace.waterfall import draw

PLAIN_COLUMNS = 160
"""How wide a drawing is that goes into a file or a pipe."""


class Options(TypedDict):
    """What the command was called with, besides the group."""

    last: bool
    rebalance_id: str
    since_us: int | None
    events: Path | None
    admin: str
    html: Path | None
    perfetto: Path | None
    as_json: bool


def read_duration(_context: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    """Microseconds of an option's text; raises click.BadParameter."""
    try:
        return None if text is None else parse_duration(text)
    except ValueError as problem:
        raise click.BadParameter(str(problem)) from problem


_file_option = click.Path(dir_okay=False, path_type=Path, readable=False)


@click.command("trace")
@click.argument("group")
@click.option("--last", is_flag=True, help="The last rebalance; what is drawn if nothing else is asked for.")
@click.option("--rebalance", "rebalance_id", metavar="ID", default="", help="The rebalance of this id.")
@click.option(
    "--since",
    "since_us",
    metavar="TIME",
    callback=read_duration,
    help="All of the last TIME of the log, such as 15m, 1h or 2d.",
)
@log_options
@click.option("--html", type=_file_option, help="Write a page that needs nothing else to this file.")
@click.option("--perfetto", type=_file_option, help="Write a trace for ui.perfetto.dev to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def trace(group: str, **options: Unpack[Options]) -> None:
    """Show why a group rebalanced, who held it up, and what it cost each member."""
    rebalance_id, since_us, events = options["rebalance_id"], options["since_us"], options["events"]
    if options["last"] + bool(rebalance_id) + (since_us is not None) > 1:
        raise click.UsageError("--last, --rebalance and --since exclude each other; give one of them")
    aside = Aside()
    try:
        folder = find_folder(options["admin"]) if events is None else events
        wanted = Wanted(group_id=group, rebalance_id=rebalance_id, since_us=since_us)
        rebalances = find_rebalances(folder, wanted, aside)
    except NothingToShow as problem:
        raise click.ClickException(str(problem)) from None
    if aside.count:
        click.echo(f"EB-TRACE-007: some of {folder} is left out: {aside.words()}", err=True)
    _deliver(rebalances, options)


def _deliver(rebalances: Sequence[Rebalance], options: Options) -> None:
    html, perfetto = options["html"], options["perfetto"]
    if html is not None:
        _write(html, draw_page(rebalances).encode(errors="replace"))
    if perfetto is not None:
        _write(perfetto, perfetto_trace(rebalances))
    if options["as_json"]:
        click.echo(rebalances_document(rebalances))
    elif html is None and perfetto is None:
        _show(rebalances)


def _show(rebalances: Sequence[Rebalance]) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=PLAIN_COLUMNS, color_system=None)
    for rebalance in rebalances:
        console.print(draw(rebalance), soft_wrap=False)
        console.print()


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as problem:
        raise click.ClickException(
            f"EB-TRACE-004: {path} can't be written: {problem.strerror or problem}; name a file in a folder that is "
            "there and may be written to"
        ) from problem
    click.echo(f"Wrote {path}.", err=True)
