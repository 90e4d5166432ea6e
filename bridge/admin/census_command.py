"""The command `census`: all groups that a running bridge sees or may ask for, and where each could go."""

import json
from collections.abc import Iterable, Iterator

import click

from bridge.admin.bridge_option import admin_option
from bridge.admin.client import NoAnswer, ask_census, parse
from bridge.admin.command import json_option, print_as_is, show_used
from bridge.admin.contracts import Screen
from bridge.admin.rows import NONE, Answer, cell, mappings

NAMED_MAX = 3
"""How many groups a line names that share an obstacle."""
COLUMNS = (
    *("GROUP", "ROAD", "KIND", "STATE", "MEMBERS", "LIBRARIES", "ASSIGNORS", "REBALANCING", "STATIC", "USER DATA"),
    *("SESSION MS", "COMMITTED", "LAG", "MOVES TO", "JOINS PER CHANGE"),
)
MEMBER_COLUMNS = (
    *("MEMBER", "INSTANCE", "CLIENT", "HOST", "LIBRARY", "PROTOCOL", "ASSIGNORS", "REBALANCING", "USER DATA"),
    *("SESSION MS", "PARTITIONS", "HERE"),
)
UNKNOWN = "unknown"
NO_DATA = "none"
UPSTREAM = "upstream"


@click.command("census")
@click.argument("group", required=False)
@json_option
@admin_option
@click.pass_obj
def census(screen: Screen, group: str | None, *, as_json: bool, admin: str) -> None:
    """Show all groups of the cluster, where each could move, and what stands in its way.

    Also groups that only pass, and before any rule names them: members, libraries, assignors, sessions, commits, lag.
    With GROUP its members, too, and every reason with its remedy. What could not be looked at is said, and is `-`.
    """
    try:
        answer = ask_census(admin)
        if as_json and group is None:
            print_as_is(answer)
            return
        document = parse(answer, admin)
    except NoAnswer as problem:
        raise click.ClickException(str(problem)) from None
    if group is None:
        show_all(screen, document)
        return
    chosen = next((one for one in mappings(document.get("groups")) if one.get("group_id") == group), None)
    if chosen is None:
        raise click.ClickException(
            f"EB-CENSUS-011: no group {group!r:.249} was seen or told of; `epochbridge census` lists those there are"
        )
    if as_json:
        # In the shape of the whole answer, so that a program reads both alike.
        click.echo(json.dumps({**document, "groups": [chosen]}, ensure_ascii=False, separators=(",", ":")))
        return
    show_one(screen, chosen)


def show_all(screen: Screen, document: Answer) -> None:
    """A row for each group, what stands in whose way below, and what could not be looked at."""
    groups = mappings(document.get("groups"))
    if groups:
        show_used(screen, COLUMNS, [group_row(one) for one in groups])
    else:
        click.echo("No group was seen, and none told of.")
    for line in obstacle_lines(groups):
        screen.show_line(line)
    for sentence in texts(document.get("unseen")):
        screen.show_line(f"not seen: {sentence}")


def show_one(screen: Screen, group: Answer) -> None:
    """One group with its members and every reason."""
    show_used(screen, COLUMNS, [group_row(group)])
    members = mappings(group.get("members"))
    if members:
        show_used(screen, MEMBER_COLUMNS, [member_row(one) for one in members])
    for line in move_lines(group):
        screen.show_line(line)
    for line in gain_lines(group):
        screen.show_line(line)


def group_row(group: Answer) -> tuple[str, ...]:
    """One row under `COLUMNS`."""
    members = mappings(group.get("members"))
    sessions = sorted({one for member in members if isinstance(one := member.get("session_timeout_ms"), int)})
    static = sum(member.get("is_static") is True for member in members)
    # Nobody was described: who is there is not known.
    is_known = bool(members) or group.get("is_complete") is True
    return (
        *(cell(group.get(key)) for key in ("group_id", "road", "kind", "state")),
        str(len(members)) if is_known else NONE,
        _joined(_library(member) for member in members),
        _joined(name for member in members for name in texts(member.get("assignors"))),
        _joined(_told(member.get("rebalancing")) for member in members),
        f"{static} of {len(members)}" if members else NONE,
        _joined(_user_data(member) for member in members),
        NONE if not sessions else " to ".join(dict.fromkeys((str(sessions[0]), str(sessions[-1])))),
        cell(group.get("committed")),
        cell(group.get("lag")),
        _joined(cell(move.get("to")) for move in mappings(group.get("moves")) if move.get("is_ready") is True),
        _joins(group, members),
    )


def _joins(group: Answer, members: list[Answer]) -> str:
    """How often each member joins for others, today and after a move; on road upstream, where all are members of the
    broker's consumer group, it does not, and has nothing to gain any more.
    """
    if group.get("road") == UPSTREAM and members:
        return "0"
    return _joined(_pair(gain.get("joins")) for gain in mappings(group.get("gains")))


def member_row(member: Answer) -> tuple[str, ...]:
    """One row under `MEMBER_COLUMNS`."""
    is_here = member.get("is_behind_bridge")
    return (
        *(cell(member.get(key)) for key in ("member_id", "instance_id", "client_id", "client_host")),
        _library(member) or NONE,
        cell(member.get("protocol")),
        _joined(texts(member.get("assignors"))),
        cell(_told(member.get("rebalancing"))),
        cell(_user_data(member)),
        cell(member.get("session_timeout_ms")),
        cell(member.get("partition_count")),
        NONE if is_here is None else "yes" if is_here is True else "no",
    )


def obstacle_lines(groups: list[Answer]) -> Iterator[str]:
    """A line for each reason and destination, with the groups that it concerns; one that most have is said once."""
    concerned: dict[tuple[str, str, str], list[Answer]] = {}
    sentences: dict[tuple[str, str, str], str] = {}
    for group in groups:
        for move, reason in _reasons(group):
            if reason.get("weight") == "notes":
                continue
            key = (cell(move.get("to")), cell(reason.get("code")), cell(reason.get("remedy")))
            concerned.setdefault(key, []).append(group)
            sentences.setdefault(key, cell(reason.get("text")))
    for key in sorted(concerned):
        to, code, remedy = key
        names = [cell(group.get("group_id")) for group in concerned[key]]
        more = f", and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
        yield f"to {to}: {code} ({', '.join(names[:NAMED_MAX])}{more}): {sentences[key]}; {remedy}"


def move_lines(group: Answer) -> Iterator[str]:
    """Where a group could go, with every reason."""
    for move in mappings(group.get("moves")):
        is_ready = move.get("is_ready") is True
        yield f"to {cell(move.get('to'))}: {'ready' if is_ready else 'not now'}"
        for reason in mappings(move.get("reasons")):
            text = f"{cell(reason.get('code'))}: {cell(reason.get('text'))}; {cell(reason.get('remedy'))}"
            yield f"  {'note: ' if reason.get('weight') == 'notes' else ''}{text}"


def gain_lines(group: Answer) -> Iterator[str]:
    """What each kind of its members gains."""
    for gain in mappings(group.get("gains")):
        yield (
            f"each {cell(gain.get('rebalancing'))} member ({cell(gain.get('member_count'))} in all) joins"
            f" {_pair(gain.get('joins'))} times when another comes or goes,"
            f" {_pair(gain.get('roll_joins'))} times in a whole roll to the consumer protocol; one more member stops"
            f" the group's partitions for {_pair(gain.get('stopped_partition_s'))} s in all (as measured in a"
            f" group of {cell(gain.get('measured_members'))})"
        )


def texts(value: object) -> list[str]:
    """The texts of a JSON array."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _reasons(group: Answer) -> Iterator[tuple[Answer, Answer]]:
    return ((move, one) for move in mappings(group.get("moves")) for one in mappings(move.get("reasons")))


def _library(member: Answer) -> str:
    return f"{member.get('library') or ''} {member.get('library_version') or ''}".strip()


def _user_data(member: Answer) -> str:
    """`subscription` and `assignment`, where there is some."""
    names = {"subscription_data": "subscription", "assignment_data": "assignment"}
    return ", ".join(name for key, name in names.items() if member.get(key) not in (UNKNOWN, NO_DATA, None))


def _told(value: object) -> str:
    return "" if value == UNKNOWN else str(value or "")


def _pair(value: object) -> str:
    """`1 -> 0`."""
    return " -> ".join(f"{one:g}" for one in value if isinstance(one, int | float)) if isinstance(value, list) else NONE


def _joined(names: Iterable[str]) -> str:
    """Different names once each, in order; `-` for none."""
    return ", ".join(dict.fromkeys(name for name in names if name and name != NONE)) or NONE
