"""The command `shadow`: follows a live group, and tells of each rebalance what it would have been."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict, Unpack

import click

from bridge.analytics.shadow.live import SETTLED_US, Look, Shadow, Side, Tail, ToldRebalance
from bridge.telemetry.event_log.files import event_files
from bridge.telemetry.trace.selection import NothingToShow, find_folder, log_options
from bridge.whatif.configuration import Unplayable, configure
from bridge.whatif.freezes import unanswered_words

SECOND_US = 1_000_000
MEASURES: Mapping[str, str] = {
    "rebalances": "rebalances",
    "duration_us": "seconds in rebalances",
    "told": "times a member was told to rejoin or to revoke",
    "disturbed": "times a member gave something up for nothing",
    "stalls": "partitions that stood still",
    "stall_us": "seconds that partitions stood still",
}


class Options(TypedDict):
    """What the command was given beside the group."""

    protocol: str
    assignor: str | None
    settings: tuple[str, ...]
    events: Path | None
    admin: str
    every_s: float
    is_once: bool
    as_json: bool


@click.command("shadow")
@click.argument("group")
@click.option(
    "--protocol",
    type=click.Choice(["consumer", "classic"]),
    default="consumer",
    show_default=True,
    help="What its members would speak.",
)
@click.option("--assignor", metavar="NAME", help="The assignor that would deal its partitions.")
@click.option("--setting", "settings", metavar="KEY=VALUE", multiple=True, help="A setting of the group; repeated.")
@log_options
@click.option(
    "--every",
    "every_s",
    metavar="SECONDS",
    type=click.FloatRange(min=0.1),
    default=2.0,
    show_default=True,
    help="How often to look.",
)
@click.option("--once", "is_once", is_flag=True, help="Tell what the log has by now, and end.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a line for each rebalance, and the sums.")
def shadow(group: str, **options: Unpack[Options]) -> None:
    """Tell of each rebalance of a live group what it would have been under the new protocol, as it happens.

    Nothing is sent to any broker or client: the group's record in the event log is played to the bridge's own engine.
    The group may be one that only passes. Ctrl-C ends it with the sums.
    """
    try:
        configuration = configure(options["protocol"], options["assignor"], options["settings"])
        folder = options["events"] or find_folder(options["admin"])
        tail = Tail(folder, group)
        if not event_files(folder):
            raise NothingToShow(
                f"EB-SHADOW-001: {folder} holds no event log (events-*.jsonl); name the folder that "
                "`epochbridge serve --events DIR` writes to with --events"
            )
        _follow(tail, Shadow(group, configuration), options)
    except (NothingToShow, Unplayable) as problem:
        raise click.ClickException(str(problem)) from None
    except BrokenPipeError:
        # Whoever read what it says has gone, as `head` does.
        raise
    except OSError as problem:
        raise click.ClickException(
            f"EB-SHADOW-002: the event log can't be read: {problem.strerror or problem}; see who may read it, or name "
            "the folder that `epochbridge serve --events DIR` writes to with --events"
        ) from None


def _follow(tail: Tail, one: Shadow, options: Options) -> None:
    as_json, is_once = options["as_json"], options["is_once"]
    last, noted = None, ""
    try:
        while True:
            # A rebalance that was too young at the last look may be told now, without anything new in the log.
            if tail.read() > 0 or last is None or last.open:
                last = one.look(tuple(tail.events), None if is_once else time.time_ns() // 1_000 - SETTLED_US)
                for told in last.new:
                    click.echo(_as_json(told) if as_json else _line(told))
            problem = _nothing(tail, one.group_id, last)
            if is_once:
                break
            if problem and problem != noted:
                click.echo(f"{problem}; waiting for more", err=True)
            noted = problem
            time.sleep(options["every_s"])
    except KeyboardInterrupt:
        problem = ""
    if problem:
        raise NothingToShow(problem)
    if last is not None:
        click.echo(_sums_as_json(last) if as_json else "\n".join(_sums(one.group_id, last)))


def _nothing(tail: Tail, group: str, look: Look) -> str:
    if not any(getattr(event.fact, "group_id", "") for event in tail.events):
        return (
            f"EB-SHADOW-003: the event log {tail.folder} holds nothing of group {group!r} yet; "
            "`epochbridge census` lists groups"
        )
    if look.reason:
        return (
            f"EB-SHADOW-004: group {group!r} can't be played: {look.reason}; what its members want is in the log once "
            "each has joined or rejoined while the bridge writes it"
        )
    return ""


def _line(told: ToldRebalance) -> str:
    moment = datetime.fromtimestamp(told.began_us // SECOND_US, UTC)
    cause = f" ({told.cause})" if told.cause else ""
    return f"{moment:%Y-%m-%d %H:%M:%S}Z {told.name}{cause}: {told.words}"


def _as_json(told: ToldRebalance) -> str:
    return json.dumps(asdict(told), separators=(",", ":"))


def _sums_as_json(look: Look) -> str:
    told = {
        "recorded": asdict(look.recorded),
        "predicted": asdict(look.predicted),
        "unanswered": [*look.unanswered],
    }
    return json.dumps(told, separators=(",", ":"))


def _sums(group: str, look: Look) -> Iterator[str]:
    yield ""
    yield f"{group:<50}{'recorded':>12}{'shadow':>12}{'saved':>12}"
    for name, words in MEASURES.items():
        before, after = _value(look.recorded, name), _value(look.predicted, name)
        yield f"{words:<50}{_number(before):>12}{_number(after):>12}{_number(before - after):>12}"
    if look.unanswered:
        yield f"not answered: {unanswered_words(look.unanswered)}"


def _value(side: Side, name: str) -> float:
    value: int = asdict(side)[name]
    return value / SECOND_US if name.endswith("_us") else value


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
