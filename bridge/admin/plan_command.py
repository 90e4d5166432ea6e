"""The command `plan`: moves many groups in stages, watched, and stopped or brought back when a condition is broken; how
plans look as lines and rows of a table.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from bridge.admin.bridge_option import admin_option
from bridge.admin.client import NoAnswer, ask_plan, ask_plans, give_order, parse, plan_path
from bridge.admin.command import json_option, print_as_is, show_used
from bridge.admin.contracts import PLAN_CHARS_MAX, Screen
from bridge.admin.move_rows import moment
from bridge.admin.rows import Answer, cell, mappings
from bridge.config.named_files import FileUnreadable, read_text
from bridge.migration.plans.reading import NAME

CHAR_BYTES_MAX = 4
"""Of UTF-8."""
PLAN_COLUMNS = ("PLAN", "TO", "PHASE", "STAGE", "MOVED", "UNTIL", "REASON")
PART_COLUMNS = ("GROUP", "STEP", "MEMBERS", "FROM", "REASON")
VERDICTS_SHOWN = 10


def plan_rows(answer: Answer) -> list[tuple[str, ...]]:
    """One row for each plan, under `PLAN_COLUMNS`."""
    return [
        (
            *(cell(plan.get(key)) for key in ("name", "to", "phase")),
            f"{cell(plan.get('stage'))}/{len(mappings(plan.get('stages')))}",
            _moved(plan),
            moment(plan.get("until_ms")),
            cell(plan.get("reason")),
        )
        for plan in mappings(answer.get("plans"))
    ]


def plan_lines(plan: Answer, *, is_only_tried: bool = False) -> list[str]:
    """What holds for the whole plan: how far it is, its stages, and the last verdicts."""
    stages = mappings(plan.get("stages"))
    if is_only_tried:
        lines = [f"plan {cell(plan.get('name'))}: to {cell(plan.get('to'))}, it can begin; nothing has begun"]
        return [*lines, *_stage_lines(stages)]
    named = {key: cell(plan.get(key)) for key in ("name", "to", "phase", "stage")}
    until = f" until {moment(plan['until_ms'])}" if plan.get("until_ms") else ""
    far = f"stage {named['stage']} of {len(stages)}, groups moved: {_moved(plan)}"
    lines = [f"plan {named['name']}: to {named['to']}, {named['phase']}{until}, {far}"]
    if plan.get("reason"):
        lines.append(f"held: {cell(plan['reason'])}")
    lines += _stage_lines(stages)
    judge = plan.get("judge")
    if isinstance(judge, Mapping):
        lines.append(f"judge of waits: {cell(judge.get('sentence'))}")
    for verdict in mappings(plan.get("verdicts"))[-VERDICTS_SHOWN:]:
        lines.append(f"{moment(verdict.get('at_ms'))} {cell(verdict.get('ruling'))}: {cell(verdict.get('sentence'))}")
    return lines


def _stage_lines(stages: Sequence[Answer]) -> list[str]:
    return [
        f"stage {number}: groups: {cell(stage.get('groups'))}, {cell(stage.get('members_percent'))}% of their members"
        f", watched for {cell(stage.get('watch_ms'))} ms"
        for number, stage in enumerate(stages, 1)
    ]


def part_rows(plan: Answer) -> list[tuple[str, ...]]:
    """One row for each group of a plan, under `PART_COLUMNS`."""
    return [
        (
            *(cell(part.get(key)) for key in ("group_id", "step")),
            f"{cell(part.get('percent'))}%",
            *(cell(part.get(key)) for key in ("from", "reason")),
        )
        for part in mappings(plan.get("groups"))
    ]


def _moved(plan: Answer) -> str:
    """`3/10`: so many groups have moved, in part or as a whole."""
    parts = mappings(plan.get("groups"))
    moved = sum(part.get("step") == "moved" for part in parts)
    return f"{moved}/{len(parts)}"


BROKEN = 1
ENDED_BADLY = frozenset({"held", "returning", "returned"})
"""Phases that a script that asks for the status has to hear of."""

file_argument = click.argument("path", type=click.Path(path_type=Path, readable=False), metavar="FILE")


def can_be_called(_context: click.Context, _parameter: click.Parameter, name: str | None) -> str | None:
    """The name of a plan, unless no bridge can have a plan of that name; raises ClickException."""
    if name is not None and NAME.fullmatch(name) is None:
        raise click.ClickException(
            f"EB-PLAN-015: there is no plan {name!r:.120}, for none can be called so; `epochbridge plan status` "
            "lists those there are"
        )
    return name


name_argument = click.argument("name", metavar="NAME", callback=can_be_called)


@click.group("plan")
def plan() -> None:
    """Move many groups in stages, under conditions, and back when one is broken."""


@plan.command("check")
@file_argument
@json_option
@admin_option
@click.pass_obj
def check(screen: Screen, path: Path, *, as_json: bool, admin: str) -> None:
    """Say what is wrong with a plan, or which groups it would move in which stage; nothing begins.

    Status 1 if it can't begin, with every reason.
    """
    raw = _order(admin, "/plans", {**_written(path), "dry_run": True})
    _show(screen, raw, admin, as_json=as_json, is_only_tried=True)


@plan.command("start")
@file_argument
@json_option
@admin_option
@click.pass_obj
def start(screen: Screen, path: Path, *, as_json: bool, admin: str) -> None:
    """Begin a plan. It goes on when this command has ended, also over restarts of the bridge.

    Status 1 if it can't begin, with every reason.
    """
    _show(screen, _order(admin, "/plans", _written(path)), admin, as_json=as_json)


@plan.command("status")
@click.argument("name", metavar="NAME", required=False, callback=can_be_called)
@json_option
@admin_option
@click.pass_context
def status(context: click.Context, name: str | None, *, as_json: bool, admin: str) -> None:
    """Show how far a plan is, with its groups and verdicts; without NAME all plans.

    With NAME status 1 if the plan is held, or brings its groups back, or has.
    """
    screen: Screen = context.obj
    try:
        raw = ask_plans(admin) if name is None else ask_plan(admin, name)
        answer = parse(raw, admin)
    except NoAnswer as problem:
        raise click.ClickException(str(problem)) from None
    if name is not None:
        _show(screen, raw, admin, as_json=as_json)
        if answer.get("phase") in ENDED_BADLY:
            context.exit(BROKEN)
    elif as_json:
        print_as_is(raw)
    elif rows := plan_rows(answer):
        show_used(screen, PLAN_COLUMNS, rows)
    else:
        click.echo("There is no plan: `epochbridge plan check FILE` judges one, `plan start FILE` begins it.")


def _word(word: str, meaning: str) -> None:
    """Register a command that tells a plan one word."""

    @plan.command(word, help=meaning)
    @name_argument
    @json_option
    @admin_option
    @click.pass_obj
    def tell(screen: Screen, name: str, *, as_json: bool, admin: str) -> None:
        _show(screen, _order(admin, plan_path(name), {"word": word}), admin, as_json=as_json)


_word("pause", "Do nothing more until the plan is resumed; moves that go on come to their end.")
_word("resume", "Go on where the plan was held or paused; figures are counted afresh.")
_word("promote", "Begin the next stage now, whatever the plan waits for.")
_word("return", "Bring every group back to where it was.")


def _written(path: Path) -> Mapping[str, object]:
    try:
        text = read_text(path, CHAR_BYTES_MAX * PLAN_CHARS_MAX)
    except FileUnreadable as problem:
        raise click.ClickException(f"EB-PLAN-017: {problem}; name a UTF-8 file with a plan") from None
    if len(text) > PLAN_CHARS_MAX:
        raise click.ClickException(f"EB-PLAN-017: {path} is longer than {PLAN_CHARS_MAX} characters, which is no plan")
    return {"text": text, "source": str(path)}


def _order(admin: str, path: str, order: Mapping[str, object]) -> bytes:
    try:
        return give_order(admin, path, order)
    except NoAnswer as problem:
        raise click.ClickException(str(problem)) from None


def _show(screen: Screen, raw: bytes, admin: str, *, as_json: bool, is_only_tried: bool = False) -> None:
    if as_json:
        print_as_is(raw)
        return
    try:
        answer = parse(raw, admin)
    except NoAnswer as problem:
        raise click.ClickException(str(problem)) from None
    for line in plan_lines(answer, is_only_tried=is_only_tried):
        screen.show_line(line)
    rows = part_rows(answer)
    if rows:
        show_used(screen, PART_COLUMNS, rows)
