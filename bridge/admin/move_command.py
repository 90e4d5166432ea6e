"""The commands `move` and `moves`: a live group goes to another road while somebody watches, or says why it can't."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Event

import click

from bridge.admin.bridge_option import admin_option
from bridge.admin.client import NoAnswer, ask_move, ask_moves, give_order, group_path, kept_connection, parse, withdraw
from bridge.admin.command import json_option, print_as_is, show_used
from bridge.admin.contracts import Screen
from bridge.admin.move_rows import (
    MOVE_COLUMNS,
    MOVING_COLUMNS,
    goes_on,
    is_prepared,
    move_lines,
    move_rows,
    moving_rows,
)
from bridge.migration.route import ROADS_OF_RULES

FAILED = 1
ROADS = tuple(road.value for road in ROADS_OF_RULES)
LOOK_S = 0.5
BEGIN_LOOK_S, BEGIN_LOOKS_MAX = 0.1, 30
"""How often a move that nobody waits for is looked at until it has begun, and for how long: a refusal comes at once."""
UNANSWERED_MAX = 120
"""So many times in a row a bridge may not answer before the wait ends: it may be starting again."""

Frame = tuple[Sequence[str], Sequence[str], Sequence[Sequence[str]]]
Option = str | bool | tuple[str, ...] | None


@click.command("move")
@click.argument("group")
@click.option(
    "--to", type=click.Choice([road.value for road in ROADS_OF_RULES]), help="The road that the group is to take."
)
@click.option("--member", "members", metavar="ID", multiple=True, help="Only this member (to or from upstream).")
@click.option("--dry-run", is_flag=True, help="Say what each member would see and what stands in the way; move nobody.")
@click.option("--allow-rebalance", is_flag=True, help="Move even if members have to join again for it.")
@click.option("--wait", is_flag=True, help="Show how far it is until it has ended.")
@click.option("--stop", is_flag=True, help="End the move that goes on; who was moved stays moved.")
@json_option
@admin_option
@click.pass_context
def move(context: click.Context, /, group: str, *, as_json: bool, admin: str, **how: Option) -> None:
    """Move a live group to another road: pass (its broker), upstream (its broker, KIP-848) or embedded (the bridge).

    No client hears of it: ids, generations and assignments stay. Status 0: the move has begun, with --wait: it is
    done, with --dry-run: it can be made. Status 1: it was refused or has stopped, with the reason. Ctrl-C ends the
    waiting, not the move.
    """
    if bool(how["stop"]) == bool(how["to"]):
        raise click.UsageError("EB-MOVE-303: give either --to ROAD, or --stop")
    path = group_path(group) + "/move"
    try:
        with kept_connection():
            raw = withdraw(admin, path) if how["stop"] else give_order(admin, path, _order(how))
            wait = Wait(admin, group, parse(raw, admin), raw)
            is_shown = False
            if how["wait"] and not how["dry_run"]:
                is_shown = _watch(context.obj, wait, as_json=as_json)
            elif not how["stop"]:
                _await_begin(wait)
    except NoAnswer as problem:
        raise click.ClickException(str(problem)) from None
    if as_json:
        print_as_is(wait.raw)
    elif not is_shown:
        _show(context.obj, wait.answer, is_tried=bool(how["dry_run"]))
        if goes_on(wait.answer):
            context.obj.show_line("it goes on: `epochbridge moves` lists how far it is, and --wait shows it to its end")
    if _has_failed(wait.answer, is_ending=bool(how["stop"])):
        context.exit(FAILED)


@click.command("moves")
@json_option
@admin_option
@click.pass_obj
def moves(screen: Screen, *, as_json: bool, admin: str) -> None:
    """List the moves of groups between roads: those that go on, and the last one of every other group."""
    try:
        raw = ask_moves(admin)
        answer = parse(raw, admin)
    except NoAnswer as problem:
        raise click.ClickException(str(problem)) from None
    if as_json:
        print_as_is(raw)
    elif rows := move_rows(answer):
        show_used(screen, MOVE_COLUMNS, rows)
    else:
        click.echo("No group has been moved: `epochbridge move GROUP --to ROAD --dry-run` says whether one can be.")


@dataclass(slots=True)
class Wait:
    """Somebody waits for a move: the answer that came last, read and as it came."""

    admin: str
    group: str
    answer: Mapping[str, object]
    raw: bytes

    def look(self) -> None:
        """Ask again; raises NoAnswer."""
        raw = ask_move(self.admin, self.group)
        self.answer, self.raw = parse(raw, self.admin), raw


def wait_frames(wait: Wait, pause: Callable[[], None]) -> Iterator[Frame]:
    """What is to be seen until the move has ended; raises NoAnswer when the bridge stays away too long."""
    yield frame(wait.answer)
    unanswered = 0
    while goes_on(wait.answer):
        pause()
        try:
            wait.look()
            unanswered = 0
        except NoAnswer as problem:
            unanswered += 1
            if unanswered >= UNANSWERED_MAX:
                raise
            lines, columns, rows = frame(wait.answer)
            yield (str(problem), *lines), columns, rows
            continue
        yield frame(wait.answer)


def _await_begin(wait: Wait) -> None:
    """Look until it has begun or was refused, so that whoever ordered it hears so; raises NoAnswer."""
    looks = 0
    while is_prepared(wait.answer) and looks < BEGIN_LOOKS_MAX:
        Event().wait(BEGIN_LOOK_S)
        wait.look()
        looks += 1


def frame(answer: Mapping[str, object]) -> Frame:
    """How far a move is: lines, and a table of its members."""
    return move_lines(answer), MOVING_COLUMNS, moving_rows(answer)


def _order(how: Mapping[str, Option]) -> Mapping[str, object]:
    members = how["members"]
    return {
        "to": how["to"],
        "members": list(members) if isinstance(members, tuple) else [],
        "allow_rebalance": how["allow_rebalance"],
        "dry_run": how["dry_run"],
    }


def _watch(screen: Screen, wait: Wait, *, as_json: bool) -> bool:
    """Wait for the end, shown to people; whether it was."""

    def pause() -> None:
        Event().wait(LOOK_S)

    frames = wait_frames(wait, pause)
    if as_json:
        deque(frames, maxlen=0)  # programs get the last answer
    else:
        screen.show_live(frames)
    return not as_json


def _show(screen: Screen, answer: Mapping[str, object], *, is_tried: bool) -> None:
    for line in move_lines(answer, is_tried=is_tried):
        screen.show_line(line)
    if rows := moving_rows(answer):
        show_used(screen, MOVING_COLUMNS, rows)


def _has_failed(answer: Mapping[str, object], *, is_ending: bool) -> bool:
    return answer.get("stage") == "refused" or (answer.get("stage") == "stopped" and not is_ending)
