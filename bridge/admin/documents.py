"""The JSON of every page: which keys there are, what they hold, and the answers that carry it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from starlette.responses import Response

from bridge.admin.contracts import ConversionResult, GroupSummary, GroupView, RemovalResult
from bridge.migration.orders import MoveProgress

Document = Mapping[str, object]


def groups_document(groups: Sequence[GroupSummary]) -> Document:
    """`{"groups": [summary, …]}`, by group id."""
    return {"groups": [asdict(group) for group in sorted(groups, key=lambda group: group.group_id)]}


def group_document(group: GroupView) -> Document:
    """The keys of the summary, and `members` by client id and then member id."""
    members = sorted(group.members, key=lambda member: (member.client_id, member.member_id))
    shown = [asdict(member) for member in members]
    return {**asdict(group.summary), "members": shown}


def removal_document(result: RemovalResult) -> Document:
    """`{"error": …, "seats": [{"member_id": …, "instance_id": …, "error": …}, …]}`, in the order asked."""
    return asdict(result)


def conversion_document(result: ConversionResult) -> Document:
    """The result's own keys, members by client id and then member id."""
    members = sorted(result.members, key=lambda member: (member.client_id, member.member_id))
    return {**asdict(result), "members": [asdict(member) for member in members]}


def move_document(progress: MoveProgress) -> Document:
    """What was ordered (`group_id`, `from`, `to`, `only_members`, `allow_rebalance`), how far it has come, obstacles
    and members in the order that the move has them; roads and stages by their names.
    """
    order = progress.order
    return {
        "group_id": order.group_id,
        "from": progress.origin.value,
        "to": order.destination.value,
        "only_members": list(order.members),
        "allow_rebalance": order.allow_rebalance,
        "stage": progress.stage.value,
        "started_ms": progress.started_ms,
        "ended_ms": progress.ended_ms,
        "verdict": progress.verdict,
        "obstacles": [asdict(obstacle) for obstacle in progress.obstacles],
        "members": [asdict(member) for member in progress.members],
    }


def moves_document(moves: Sequence[MoveProgress]) -> Document:
    """`{"moves": [move, …]}`, the one begun last first."""
    return {"moves": [move_document(move) for move in moves]}


def readiness_document(reasons: Sequence[str], troubles: Sequence[str] = ()) -> Document:
    """`{"ready": …, "reasons": [sentence, …], "troubles": [sentence, …]}`."""
    return {"ready": not reasons, "reasons": list(reasons), "troubles": list(troubles)}


def error_document(code: str, sentence: str) -> Document:
    """`{"code": …, "error": sentence}`."""
    return {"code": code, "error": sentence}


def encode(document: Document) -> bytes:
    """One line of JSON in UTF-8, ending in a line break so that a terminal shows it well."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n"


JSON = "application/json"
NAME_CHARS_SHOWN = 100


async def show(document: Document, status: int = 200) -> Response:
    """A short document."""
    return Response(encode(document), status, media_type=JSON)


async def unknown_group(name: str) -> Response:
    """404 with a sentence: there is no such group."""
    shown = name if len(name) <= NAME_CHARS_SHOWN else f"{name[:NAME_CHARS_SHOWN]}…"
    sentence = (
        f"the bridge coordinates no group {shown!r}; one on road pass is its broker's, and `epochbridge census` shows "
        "it; others appear with their first member, and `epochbridge groups` lists them"
    )
    return await show(error_document("EB-ADMIN-004", sentence), 404)
