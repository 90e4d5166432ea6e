"""The commands that change a running bridge: who is to leave a group, what kind it is, and how it is configured."""

from collections.abc import Mapping

import click

from bridge.admin.bridge_option import admin_option
from bridge.admin.client import NoAnswer, give_order, parse
from bridge.admin.command import json_option, print_as_is, show_used
from bridge.admin.contracts import Screen
from bridge.admin.rows import CONVERTED_COLUMNS, NOTHING, NOTICES, SEAT_COLUMNS, converted_rows, seat_rows
from bridge.config.log_choices import LEVELS
from translators.dialects.counts import counted

FAILED = 1
KINDS = ("consumer", "classic")


@click.command("remove-members")
@click.argument("group")
@click.option("--instance-ids", metavar="ID[,…]", default="", help="Static members, by their group.instance.id.")
@click.option("--member-ids", metavar="ID[,…]", default="", help="Members by their ids, as `describe` shows them.")
@click.option("--all", "is_all", is_flag=True, help="Everybody.")
@json_option
@admin_option
@click.pass_context
def remove_members(context: click.Context, /, group: str, *, as_json: bool, admin: str, **whom: str | bool) -> None:
    """Let members leave a group at once, instead of when their sessions end (KIP-345).

    The partitions of the removed go to the others. A client that still runs hears that it is no member any more, and
    joins again. Status 1 if anybody could not be removed.
    """
    named = {key: _ids(whom[key]) for key in ("member_ids", "instance_ids")}
    if bool(whom["is_all"]) == any(named.values()):
        raise click.UsageError("EB-CLI-006: name members by --instance-ids or --member-ids, or give --all")
    order: Mapping[str, object] = {"group": group, "all": True} if whom["is_all"] else {"group": group, **named}
    answer = _give(admin, "remove-members", order, as_json=as_json)
    if not as_json:
        _show_removal(context.obj, group, answer)
    seats = seat_rows(answer)
    if answer.get("error") or any(outcome != "removed" for *_, outcome in seats):
        context.exit(FAILED)


@click.command("convert")
@click.argument("group")
@click.option("--to", "kind", type=click.Choice(KINDS), required=True, help="What the group is to be.")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Say what would happen, and change nothing.")
@json_option
@admin_option
@click.pass_context
def convert(context: click.Context, /, group: str, *, as_json: bool, admin: str, **how: str | bool) -> None:
    """Change what a group is, classic or consumer, while its members work.

    Members keep their ids, generations and assignments; only those whose partitions change join again. Status 1 if it
    is not possible, with the reason.
    """
    order = {"group": group, "to": how["kind"], "dry_run": how["is_dry_run"]}
    answer = _give(admin, "convert", order, as_json=as_json)
    if not as_json:
        _show_conversion(context.obj, answer)
    if answer.get("error"):
        context.exit(FAILED)


@click.command("reload")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Say what would change, and change nothing.")
@click.option("--log-level", type=click.Choice(LEVELS), help="Log from this level up, until the next start.")
@json_option
@admin_option
@click.pass_obj
def reload(screen: Screen, *, is_dry_run: bool, log_level: str | None, as_json: bool, admin: str) -> None:
    """Have a running bridge read its configuration again, as SIGHUP does.

    Rules count for new groups: no live group moves. Status 1 if the configuration can't be used or needs a restart,
    with every reason; nothing has changed then.
    """
    order: dict[str, object] = {"dry_run": is_dry_run}
    if log_level:
        order["log_level"] = log_level
    answer = _give(admin, "config", order, as_json=as_json)
    if as_json:
        return
    changes, findings = _lines(answer.get("changes")), _lines(answer.get("findings"))
    for line in changes:
        screen.show_line(f"{'would change' if is_dry_run else 'changed'}: {line}")
    for line in findings:
        screen.show_line(f"finding: {line}")
    if not changes:
        screen.show_line("the configuration is what it was")


def _lines(value: object) -> list[str]:
    return [str(line) for line in value] if isinstance(value, list) else []


def _give(admin: str, name: str, order: Mapping[str, object], *, as_json: bool) -> Mapping[str, object]:
    """Give an order and hand its answer on, printed as it came if that is wanted."""
    try:
        raw = give_order(admin, f"/{name}", order)
        answer = parse(raw, admin)
    except NoAnswer as problem:
        raise click.ClickException(str(problem)) from None
    if as_json:
        print_as_is(raw)
    return answer


def _show_conversion(screen: Screen, answer: Mapping[str, object]) -> None:
    group, kind, error = (str(answer.get(key) or "") for key in ("group", "to", "error"))
    if error:
        screen.show_line(f"group {group} can't become a {kind} group: {error}")
        return
    rows = converted_rows(answer)
    disturbed = sum(row[NOTICES] != NOTHING for row in rows)
    verb, was = ("would become", "would join") if answer.get("is_dry_run") else ("is now", "join")
    screen.show_line(f"group {group} {verb} a {kind} group; {disturbed} of {counted(len(rows), 'member')} {was} again")
    if rows:
        show_used(screen, CONVERTED_COLUMNS, rows)


def _show_removal(screen: Screen, group: str, answer: Mapping[str, object]) -> None:
    rows = seat_rows(answer)
    if answer.get("error"):
        screen.show_line(f"group {group}: nobody was removed, the bridge answered {answer['error']}; try again soon")
    elif rows:
        show_used(screen, SEAT_COLUMNS, rows)
    else:
        screen.show_line(f"group {group} has no members")


def _ids(written: str | bool) -> list[str]:
    return [name.strip() for name in str(written).split(",") if name.strip()]
