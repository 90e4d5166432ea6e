"""The command `watch`: asks a running bridge again and again and shows what has become of its groups, frame by frame.

A frame has a group's members with their phases.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Event

import click

from bridge.admin.bridge_option import admin_option
from bridge.admin.client import NoAnswer, ask_group, ask_groups, kept_connection, parse
from bridge.admin.contracts import Screen
from bridge.admin.rows import (
    GROUP_COLUMNS,
    NONE,
    Answer,
    cell,
    group_lines,
    group_rows,
    mappings,
    partitions_text,
)
from translators.dialects.counts import counted

WATCH_COLUMNS = (
    "MEMBER",
    "CLIENT",
    "LIBRARY",
    "PROTOCOL",
    "PHASE",
    "GENERATION -> EPOCH",
    "PARTITIONS",
    "GOES",
    "COMES",
)
PHASES_BY_STATE = {"PreparingRebalance": "joining", "CompletingRebalance": "syncing"}
STABLE = "stable"

Parts = frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Frame:
    """What is shown at one moment: lines, and a table below them."""

    lines: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def groups_frame(answer: Answer) -> Frame:
    """All groups."""
    rows = group_rows(answer)
    lines = (counted(len(rows), "group"),) if rows else ("The bridge coordinates no group yet.",)
    return Frame(lines, GROUP_COLUMNS, tuple(rows))


def group_frame(answer: Answer) -> Frame:
    """One group: how many members are in which phase, and each of them."""
    members = mappings(answer.get("members"))
    rows = tuple(_row(member, answer) for member in members)
    counts: dict[str, int] = {}
    for row in rows:
        phase = row[4].partition(" ")[0]
        counts[phase] = counts.get(phase, 0) + 1
    told = ", ".join(f"{count} {phase}" for phase, count in sorted(counts.items())) or "no members"
    return Frame((*group_lines(answer), told), WATCH_COLUMNS, rows)


def lost_frame(problem: str, last: Frame) -> Frame:
    """The bridge does not answer: what it said last, under the reason."""
    lines = last.lines if last.lines[:1] == (problem,) else (problem, *last.lines)
    return Frame(lines, last.columns, last.rows)


def phase_of(member: Answer, group: Answer) -> str:
    """What a member is doing, from its state and what it has, is to have and is to give up."""
    known = PHASES_BY_STATE.get(str(member.get("state")))
    if known is not None:
        return known
    if _parts(member.get("pending_revocation")):
        return "revoking"
    if _parts(member.get("target")) - _parts(member.get("assigned")):
        return "awaiting-release"
    epoch, wanted = member.get("member_epoch"), group.get("group_epoch")
    if isinstance(epoch, int) and isinstance(wanted, int) and 0 <= epoch < wanted:
        return f"{STABLE} (to hear of epoch {wanted})"
    return STABLE


def _row(member: Answer, group: Answer) -> tuple[str, ...]:
    library = f"{member.get('library') or ''} {member.get('library_version') or ''}".strip()
    assigned, target = _parts(member.get("assigned")), _parts(member.get("target"))
    return (
        cell(member.get("member_id")),
        cell(member.get("client_id")),
        cell(library),
        cell(member.get("protocol")),
        phase_of(member, group),
        f"{cell(member.get('generation'))} -> {cell(member.get('member_epoch'))}",
        partitions_text(member.get("assigned")),
        _shown(assigned - target),
        _shown(target - assigned),
    )


def _shown(parts: Parts) -> str:
    return ", ".join(f"{topic}-{number}" for topic, number in sorted(parts)) or NONE


def _parts(value: object) -> Parts:
    """Single partitions of a list of topics with their partitions."""
    return frozenset(
        (str(entry.get("topic")), number) for entry in mappings(value) for number in _numbers(entry.get("partitions"))
    )


def _numbers(value: object) -> Iterator[int]:
    if isinstance(value, list):
        yield from (number for number in value if isinstance(number, int))


INTERVAL_S, INTERVAL_MIN_S, INTERVAL_MAX_S = 1.0, 0.1, 3_600.0

Look = Callable[[], Frame]
Pause = Callable[[], None]


@click.command("watch")
@click.argument("group", required=False)
@click.option(
    "--interval",
    "interval_s",
    metavar="SECONDS",
    type=click.FloatRange(INTERVAL_MIN_S, INTERVAL_MAX_S),
    default=INTERVAL_S,
    show_default=True,
    help="How often the bridge is asked.",
)
@click.option("--frames", type=click.IntRange(1), help="End after so many answers; by default with Ctrl-C.")
@admin_option
@click.pass_obj
def watch(screen: Screen, group: str | None, *, interval_s: float, frames: int | None, admin: str) -> None:
    """Watch a group's members live: phase, generation -> epoch, partitions; without GROUP all groups.

    On a terminal the picture is redrawn; in a pipe a new one is printed whenever something has changed.
    """

    def look() -> Frame:
        if group is None:
            return groups_frame(parse(ask_groups(admin), admin))
        return group_frame(parse(ask_group(admin, group), admin))

    def pause() -> None:
        Event().wait(interval_s)

    try:
        with kept_connection():
            screen.show_live((frame.lines, frame.columns, frame.rows) for frame in watch_frames(look, pause, frames))
    except NoAnswer as problem:
        raise click.ClickException(str(problem)) from None


def watch_frames(look: Look, pause: Pause, count: int | None) -> Iterator[Frame]:
    """So many frames, or frames for ever; raises NoAnswer if there is none at first, later the last one stays."""
    frame = look()
    yield frame
    seen = 1
    while count is None or seen < count:
        pause()
        try:
            frame = look()
        except NoAnswer as problem:
            frame = lost_frame(str(problem), frame)
        seen += 1
        yield frame
