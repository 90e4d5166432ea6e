"""What the bridge says about a group through its admin API, as far as the demo shows it.
It must not know the bridge's insides, only the JSON of `/groups/NAME`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from urllib.parse import quote

TIMEOUT_S = 2.0
ANSWER_BYTES_MAX = 4_194_304


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """One member as the bridge sees it; numbers are None where the member's protocol has none."""

    client_id: str
    protocol: str
    state: str
    generation: int | None
    member_epoch: int | None


Views = Mapping[tuple[str, str], MemberView]
"""By client id and protocol: a seat that is being rolled may have two members for a moment."""


def ask_views(admin: str, group: str) -> Views:
    """Ask the admin API at HOST:PORT; empty while it can't answer. Blocks up to 2 s."""
    host, _, port = admin.rpartition(":")
    connection = HTTPConnection(host, int(port), timeout=TIMEOUT_S)
    try:
        connection.request("GET", f"/groups/{quote(group, safe='')}")
        answer = connection.getresponse()
        text = answer.read(ANSWER_BYTES_MAX).decode(errors="replace")
        return parse_views(text) if answer.status == 200 else {}
    except (OSError, HTTPException):
        return {}
    finally:
        connection.close()


def parse_views(text: str) -> Views:
    """The members in an answer; what is no group's JSON has none, for the table only adds what the bridge knows."""
    try:
        answer: object = json.loads(text)
    except json.JSONDecodeError:
        return {}
    members = answer.get("members") if isinstance(answer, dict) else None
    rows = [_member(row) for row in members if isinstance(row, dict)] if isinstance(members, list) else []
    return {(view.client_id, view.protocol): view for view in rows}


def _member(row: Mapping[str, object]) -> MemberView:
    return MemberView(
        client_id=str(row.get("client_id", "")),
        protocol=str(row.get("protocol", "")),
        state=str(row.get("state", "")),
        generation=_number(row.get("generation")),
        member_epoch=_number(row.get("member_epoch")),
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None
