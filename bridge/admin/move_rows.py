"""Moves as lines and rows of a table, from the JSON of the admin API."""

from collections import Counter
from datetime import UTC, datetime

from bridge.admin.rows import NONE, Answer, cell, mappings

MOVE_COLUMNS = ("GROUP", "FROM", "TO", "STAGE", "MOVED", "BEGAN", "VERDICT")
MOVING_COLUMNS = ("MEMBER", "CLIENT", "HOST", "STAGE", "WHAT ITS CLIENT SEES")
PREPARING = "preparing"
GOING_ON = frozenset({PREPARING, "moving"})
"""The stages that others come after."""
LEFT_OUT = frozenset({"stays", "gone"})
LOOKING = "it is looked whether it can be made"
NOTHING = "nothing"


def move_rows(answer: Answer) -> list[tuple[str, ...]]:
    """One row for each move, under `MOVE_COLUMNS`."""
    return [
        (
            *(cell(move.get(key)) for key in ("group_id", "from", "to", "stage")),
            _moved(move),
            moment(move.get("started_ms")),
            _verdict(move),
        )
        for move in mappings(answer.get("moves"))
    ]


def move_lines(move: Answer, *, is_tried: bool = False) -> list[str]:
    """What holds for the whole move: from where to where, how far it is, why not, and what to do then.

    `is_tried`: of a dry run, which is done when it has looked, and has moved nobody.
    """
    named = {key: cell(move.get(key)) for key in ("group_id", "from", "to", "stage")}
    if is_tried and move.get("stage") == "done":
        named["stage"] = "not moved"
    named["verdict"] = cell(move.get("verdict") or (LOOKING if is_prepared(move) else ""))
    lines = ["group {group_id}: {from} -> {to}, {stage}: {verdict}".format_map(named)]
    for obstacle in mappings(move.get("obstacles")):
        whom = f" (member {obstacle['member_id']})" if obstacle.get("member_id") else ""
        lines.append(f"{cell(obstacle.get('code'))}{whom}: {cell(obstacle.get('sentence'))}")
        lines.append(f"  remedy: {cell(obstacle.get('remedy'))}")
    counts = Counter(cell(member.get("stage")) for member in mappings(move.get("members")))
    if counts:
        lines.append("members: " + ", ".join(f"{count} {stage}" for stage, count in sorted(counts.items())))
    return lines


def moving_rows(move: Answer) -> list[tuple[str, ...]]:
    """One row for each member of a move, under `MOVING_COLUMNS`."""
    keys = ("member_id", "client_id", "client_host", "stage")
    is_foretold = move.get("stage") == "done"
    return [
        (*(cell(member.get(key)) for key in keys), _seen_by_client(member, is_foretold=is_foretold))
        for member in mappings(move.get("members"))
    ]


def _seen_by_client(member: Answer, *, is_foretold: bool) -> str:
    """What is said of it, or nothing where it has moved, or a dry run says that it would."""
    is_known = member.get("stage") == "moved" or (is_foretold and member.get("stage") == "waiting")
    return cell(member.get("detail") or (NOTHING if is_known else ""))


def _verdict(move: Answer) -> str:
    """With the reasons of a refusal: nothing else shows them once its order was given."""
    reasons = [f"{one.get('code')}: {one.get('sentence')}" for one in mappings(move.get("obstacles"))]
    why = reasons if move.get("stage") == "refused" else []
    return "; ".join([cell(move.get("verdict")), *why])


def is_prepared(move: Answer) -> bool:
    """Whether nobody knows yet if it can be made."""
    return move.get("stage") == PREPARING


def goes_on(move: Answer) -> bool:
    """Whether a move has not ended."""
    return move.get("stage") in GOING_ON


def moment(at_ms: object) -> str:
    """A time in milliseconds since 1970 as people write it, in UTC."""
    if not isinstance(at_ms, int):
        return NONE
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _moved(move: Answer) -> str:
    """`3/5`: so many of those who are to move have."""
    stages = [member.get("stage") for member in mappings(move.get("members"))]
    return f"{stages.count('moved')}/{sum(stage not in LEFT_OUT for stage in stages)}"
