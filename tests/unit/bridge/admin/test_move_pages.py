"""Moves by the admin API, without a socket: ordered, tried, looked at, ended."""

import json

import httpx
import pytest

from bridge.admin.move_pages import read_move
from bridge.admin.orders import OrderRefused
from bridge.admin.pages import make_application
from bridge.migration.orders import MoveOrder
from bridge.migration.route import Road
from tests.support.admin_views import still_sources
from tests.support.obedient_moves import BEGAN_MS, STUCK, ObedientMoves
from translators.dialects.ids import GroupId, MemberId

TO_UPSTREAM = {"to": "upstream"}


async def ask(method: str, path: str, order: object = None, moves: ObedientMoves | None = None) -> httpx.Response:
    """One request of a program on this machine."""
    application = make_application(still_sources(moves=moves), only_local=True)
    transport = httpx.ASGITransport(application, client=("127.0.0.1", 4711))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:9190") as client:
        return await client.request(method, path, json=order)


async def test_move_is_begun_and_told() -> None:
    """The order as it was written, and every key that programs read."""
    moves = ObedientMoves()
    written = {"to": "upstream", "members": ["m-1", "m-1"], "allow_rebalance": True}
    answer = await ask("POST", "/groups/payments/move", written, moves)
    order = MoveOrder(GroupId("payments"), Road.UPSTREAM, (MemberId("m-1"),), allow_rebalance=True)
    assert (answer.status_code, moves.orders, moves.checked) == (200, [order], [])
    assert moves.is_prepared
    assert answer.json() == {
        "group_id": "payments",
        "from": "pass",
        "to": "upstream",
        "only_members": ["m-1"],
        "allow_rebalance": True,
        "stage": "preparing",
        "started_ms": BEGAN_MS,
        "ended_ms": None,
        "verdict": "asking the broker",
        "obstacles": [],
        "members": [
            {
                "member_id": name,
                "client_id": f"client of {name}",
                "client_host": "/10.0.0.1",
                "stage": "waiting",
                "detail": "",
            }
            for name in ("m-1", "m-2")
        ],
    }


async def test_dry_run_begins_nothing() -> None:
    """An answer with obstacles is an answer."""
    moves = ObedientMoves()
    answer = await ask("POST", f"/groups/{STUCK}/move", {**TO_UPSTREAM, "dry_run": True}, moves)
    assert (moves.orders, moves.checked) == ([], [MoveOrder(STUCK, Road.UPSTREAM)])
    assert (answer.status_code, answer.json()["stage"]) == (200, "refused")
    assert answer.json()["obstacles"] == [
        {
            "code": "EB-MOVE-001",
            "sentence": "user data can't be rewritten",
            "remedy": "play it again later",
            "member_id": "m-2",
        }
    ]


async def test_move_is_looked_at_and_ended() -> None:
    """One by its group, all of them, and no more once it has ended."""
    moves = ObedientMoves(turns=(lambda move: move,))
    await ask("POST", "/groups/a%2Fmove/move", TO_UPSTREAM, moves)
    one = await ask("GET", "/moves?group=a%2Fmove", moves=moves)
    every = await ask("GET", "/moves", moves=moves)
    assert (one.json()["group_id"], every.json()["moves"]) == ("a/move", [one.json()])
    ended = await ask("DELETE", "/groups/a%2Fmove/move", {}, moves)
    again = await ask("DELETE", "/groups/a%2Fmove/move", {}, moves)
    assert (ended.status_code, ended.json()["stage"]) == (200, "stopped")
    assert (again.status_code, again.json()["code"]) == (404, "EB-MOVE-301")


@pytest.mark.parametrize(
    ("method", "path", "order", "status", "code"),
    [
        ("GET", "/moves?group=nobody", None, 404, "EB-MOVE-301"),
        ("DELETE", "/groups/nobody/move", {}, 404, "EB-MOVE-301"),
        ("DELETE", "/groups/nobody/move", None, 415, "EB-ADMIN-008"),
        ("POST", "/groups/g/move", {"to": "elsewhere"}, 400, "EB-ADMIN-009"),
        ("POST", "/groups/g/move", {"to": "pass", "dry_run": "perhaps"}, 400, "EB-ADMIN-009"),
        ("PUT", "/groups/g/move", {"to": "pass"}, 405, "EB-ADMIN-005"),
    ],
)
async def test_what_is_not_there_or_can_not_be_read(
    method: str, path: str, order: object, status: int, code: str
) -> None:
    """A sentence and a code, and nothing has happened."""
    moves = ObedientMoves()
    answer = await ask(method, path, order, moves)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert (moves.orders, moves.moves) == ([], {})


@pytest.mark.parametrize(
    ("method", "path", "order"),
    [("GET", "/moves", None), ("POST", "/groups/g/move", TO_UPSTREAM), ("DELETE", "/groups/g/move", {})],
)
async def test_bridge_without_moves_says_so(method: str, path: str, order: object) -> None:
    """501."""
    answer = await ask(method, path, order)
    assert (answer.status_code, answer.json()["code"]) == (501, "EB-MOVE-302")


@pytest.mark.parametrize(
    "written",
    [{}, {"to": 3}, {"to": "PASS"}, {"to": "pass", "members": "m"}, {"to": "pass", "members": [""]}],
)
def test_order_that_can_not_be_read(written: dict[str, object]) -> None:
    """Refused before anybody is asked."""
    with pytest.raises(OrderRefused):
        read_move("g", json.loads(json.dumps(written)))
