"""The commands `groups` and `describe`: what a running bridge says of its groups, as tables or as JSON."""

from collections.abc import Mapping, Sequence

import click

from bridge.admin.bridge_option import admin_option
from bridge.admin.client import NoAnswer, ask_group, ask_groups, ask_readiness, parse
from bridge.admin.contracts import Screen
from bridge.admin.rows import GROUP_COLUMNS, MEMBER_COLUMNS, NONE, group_lines, group_rows, member_rows

json_option = click.option("--json", "as_json", is_flag=True, help="Print the answer of the API as it came.")


@click.command("groups")
@json_option
@admin_option
@click.pass_obj
def groups(screen: Screen, *, as_json: bool, admin: str) -> None:
    """List the groups that a running bridge coordinates."""
    try:
        answer = ask_groups(admin)
        if as_json:
            print_as_is(answer)
        else:
            _show_groups(screen, parse(answer, admin))
    except NoAnswer as problem:
        raise click.ClickException(str(problem)) from None


@click.command("describe")
@click.argument("group")
@json_option
@admin_option
@click.pass_obj
def describe(screen: Screen, group: str, *, as_json: bool, admin: str) -> None:
    """Show one group of a running bridge with all its members.

    A member's client library and version, protocol, generation -> epoch, state, current and target assignment.
    """
    try:
        answer = ask_group(admin, group)
        if as_json:
            print_as_is(answer)
        else:
            _show_group(screen, parse(answer, admin))
    except NoAnswer as problem:
        raise click.ClickException(str(problem)) from None


@click.command("status")
@json_option
@admin_option
@click.pass_obj
def status(screen: Screen, *, as_json: bool, admin: str) -> None:
    """Say whether clients may come to a running bridge, and why not; then the status is 1.

    The reason is what stands between the bridge and its cluster: no way there, TLS, something else than Kafka, a login
    that is refused.
    """
    try:
        answer = ask_readiness(admin)
        document = parse(answer, admin)
    except NoAnswer as problem:
        raise click.ClickException(str(problem)) from None
    reasons, troubles, is_ready = document.get("reasons"), document.get("troubles"), document.get("ready") is True
    if as_json:
        print_as_is(answer)
    else:
        screen.show_line("ready: clients may come" if is_ready else "not ready:")
        for reason in reasons if isinstance(reasons, list) else ():
            # It may hold what a broker said, or what answers in its place.
            screen.show_line(f"  {reason}")
        for trouble in troubles if isinstance(troubles, list) else ():
            screen.show_line(f"but {trouble}" if is_ready else f"  {trouble}")
    if not is_ready:
        raise click.exceptions.Exit(1)


def print_as_is(answer: bytes) -> None:
    """Print the API's JSON for programs."""
    click.echo(answer.decode(errors="replace").rstrip("\n"))


def _show_groups(screen: Screen, answer: Mapping[str, object]) -> None:
    rows = group_rows(answer)
    if rows:
        show_used(screen, GROUP_COLUMNS, rows)
    else:
        click.echo(
            "The bridge coordinates no group yet: a group appears with its first member; `epochbridge census` shows "
            "those on road pass."
        )


def _show_group(screen: Screen, answer: Mapping[str, object]) -> None:
    for line in group_lines(answer):
        screen.show_line(line)
    rows = member_rows(answer)
    if rows:
        show_used(screen, MEMBER_COLUMNS, rows)


def show_used(screen: Screen, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Draw a table without the columns that hold nothing in any row: it is wide enough without them."""
    used = [number for number in range(len(columns)) if any(row[number] != NONE for row in rows)]
    screen.show_table([columns[number] for number in used], [[row[number] for number in used] for row in rows])
