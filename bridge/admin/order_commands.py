"""The commands that change a group of a running bridge: who is to leave it.

It must not know the bridge's insides, nor how a table is drawn.
"""

from collections.abc import Mapping

import click

from bridge.admin.client import NoAnswer, give_order, parse
from bridge.admin.command import admin_option, json_option, print_as_is, show_used
from bridge.admin.contracts import Screen
from bridge.admin.rows import SEAT_COLUMNS, seat_rows

FAILED = 1


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
    try:
        raw = give_order(admin, "remove-members", order)
        answer = parse(raw, admin)
    except NoAnswer as problem:
        raise click.ClickException(str(problem)) from None
    if as_json:
        print_as_is(raw)
    else:
        _show(context.obj, group, answer)
    seats = seat_rows(answer)
    if answer.get("error") or any(outcome != "removed" for *_, outcome in seats):
        context.exit(FAILED)


def _show(screen: Screen, group: str, answer: Mapping[str, object]) -> None:
    rows = seat_rows(answer)
    if answer.get("error"):
        screen.show_line(f"group {group}: nobody was removed, the bridge answered {answer['error']}; try again soon")
    elif rows:
        show_used(screen, SEAT_COLUMNS, rows)
    else:
        screen.show_line(f"group {group} has no members")


def _ids(written: str | bool) -> list[str]:
    return [name.strip() for name in str(written).split(",") if name.strip()]
