"""Orders without a socket: who may give them, and how they are read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bridge.admin.contracts import Conversion, Removal
from bridge.admin.move_pages import read_move
from bridge.admin.orders import NAME_BYTES_MAX, ORDER_BYTES_MAX, OrderRefused, read_conversion, read_removal
from bridge.admin.pages import make_application
from tests.support.admin_views import ObedientCommands, still_sources

JSON = {"content-type": "application/json; charset=utf-8"}
ALL = json.dumps({"group": "orders-billing", "all": True}).encode()


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who gives an order."""

    host: str = "127.0.0.1:9190"
    peer: str = "127.0.0.1"
    headers: Mapping[str, str] = field(default_factory=lambda: JSON)


async def order(
    body: bytes = ALL,
    caller: Caller | None = None,
    *,
    commands: ObedientCommands | None = None,
    page: str = "/remove-members",
) -> httpx.Response:
    """One order to an API that anybody may read."""
    who = caller or Caller()
    application = make_application(still_sources(commands=commands), only_local=False)
    transport = httpx.ASGITransport(application, client=(who.peer, 4711))
    async with httpx.AsyncClient(transport=transport, base_url=f"http://{who.host}") as client:
        return await client.post(page, content=body, headers=dict(who.headers))


async def test_order_is_carried_out_and_answered_seat_by_seat() -> None:
    """The order as it was written, the answer in its order."""
    commands = ObedientCommands()
    body = json.dumps({"group": "orders-billing", "member_ids": ["m"], "instance_ids": ["stranger"]}).encode()
    answer = await order(body, commands=commands)
    assert (answer.status_code, answer.json()) == (
        200,
        {
            "error": "",
            "seats": [
                {"member_id": "m", "instance_id": None, "error": ""},
                {"member_id": "", "instance_id": "stranger", "error": "UNKNOWN_MEMBER_ID"},
            ],
        },
    )
    assert commands.orders == [Removal(group="orders-billing", member_ids=("m",), instance_ids=("stranger",))]


@pytest.mark.parametrize(
    ("host", "peer", "headers", "status", "code"),
    [
        ("127.0.0.1:9190", "10.0.0.9", JSON, 403, "EB-ADMIN-007"),
        ("bridge.example:9190", "127.0.0.1", JSON, 403, "EB-ADMIN-007"),
        ("127.0.0.1:9190", "127.0.0.1", {"content-type": "text/plain"}, 415, "EB-ADMIN-008"),
        ("127.0.0.1:9190", "127.0.0.1", {}, 415, "EB-ADMIN-008"),
    ],
)
async def test_strangers_and_web_pages_give_no_orders(
    host: str, peer: str, headers: dict[str, str], status: int, code: str
) -> None:
    """Also where the listener can be reached from elsewhere; a browser sends no foreign JSON without asking (CORS)."""
    commands = ObedientCommands()
    answer = await order(caller=Caller(host, peer, headers), commands=commands)
    assert (answer.status_code, answer.json()["code"], commands.orders) == (status, code, [])


ORIGIN = "http://127.0.0.1:9190"


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:8080", "https://127.0.0.1:9190"])
async def test_pages_of_other_places_give_no_orders(origin: str) -> None:
    """A browser on this machine says whose page it is that asks."""
    commands = ObedientCommands()
    answer = await order(caller=Caller(headers={**JSON, "origin": origin}), commands=commands)
    assert (answer.status_code, answer.json()["code"], commands.orders) == (403, "EB-ADMIN-018", [])


async def test_pages_of_the_bridge_itself_give_orders() -> None:
    """Its own origin is its own address."""
    assert (await order(caller=Caller(headers={**JSON, "origin": ORIGIN}))).status_code == 200


async def test_unknown_group_is_404() -> None:
    """As for the page that shows it."""
    answer = await order(b'{"group": "x", "all": true}')
    assert (answer.status_code, answer.json()["code"]) == (404, "EB-ADMIN-004")


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b"\xff", b"{}" + b" " * ORDER_BYTES_MAX, b'{"group": 3, "all": true}']
)
async def test_what_is_no_order_is_refused(body: bytes) -> None:
    """400 with what was seen."""
    answer = await order(body)
    assert (answer.status_code, answer.json()["code"]) == (400, "EB-ADMIN-009")


@pytest.mark.parametrize(
    "written",
    [
        {"group": "g"},
        {"group": "g", "all": False},
        {"group": "g", "all": True, "member_ids": ["m"]},
        {"group": "g", "all": "yes"},
        {"group": "g", "member_ids": "m"},
        {"group": "g", "member_ids": [""]},
        {"group": "g", "instance_ids": [1]},
        {"all": True},
    ],
)
def test_removal_names_members_or_all_of_them(written: dict[str, object]) -> None:
    """Nobody is removed by accident."""
    with pytest.raises(OrderRefused):
        read_removal(written)


async def test_conversion_is_carried_out_and_told_member_by_member() -> None:
    """The same answer for a dry run but for what it says of itself."""
    commands = ObedientCommands()
    body = json.dumps({"group": "orders-billing", "to": "classic", "dry_run": True}).encode()
    answer = (await order(body, commands=commands, page="/convert")).json()
    assert (answer["is_dry_run"], answer["error"]) == (True, "")
    assert [(member["member_id"], member["is_disturbed"]) for member in answer["members"]] == [
        ("m-2", False),
        ("m-1", True),
    ]
    assert commands.conversions == [Conversion(group="orders-billing", to="classic", is_dry_run=True)]


async def test_unknown_group_is_not_converted() -> None:
    """As for the page that shows it."""
    answer = await order(b'{"group": "x", "to": "classic"}', page="/convert")
    assert (answer.status_code, answer.json()["code"]) == (404, "EB-ADMIN-004")


@pytest.mark.parametrize(
    "written",
    [{"group": "g"}, {"group": "g", "to": "share"}, {"to": "classic"}, {"group": "g", "to": "classic", "dry_run": 1}],
)
def test_conversion_names_a_group_and_a_kind(written: dict[str, object]) -> None:
    """Nothing is guessed."""
    with pytest.raises(OrderRefused):
        read_conversion(written)


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"group":' * 50_000, b'{"group": "g", "all": ' + b"[" * 5_000])
async def test_deeply_nested_order_is_refused(body: bytes) -> None:
    """A reader that calls itself has a depth, which is said rather than reached."""
    answer = await order(body)
    assert (answer.status_code, answer.json()["code"]) == (400, "EB-ADMIN-009")


ANY_NAME = st.text(st.characters(exclude_categories=()), min_size=1) | st.integers(1, 40_000).map("é".__mul__)


@given(ANY_NAME)
@example("x" * NAME_BYTES_MAX)
@example("x" * (NAME_BYTES_MAX + 1))
@example("\ud800")
def test_every_name_of_an_order_fits_into_a_string_of_kafka(name: str) -> None:
    """Or the order is refused: the name of a group that is moved goes to a broker, which failed the move's task."""
    may_be = len(name.encode("utf-8", "surrogatepass")) <= NAME_BYTES_MAX and not any(
        "\ud800" <= letter <= "\udfff" for letter in name
    )
    reads = (
        lambda: read_removal({"group": name, "all": True}),
        lambda: read_removal({"group": "g", "member_ids": [name]}),
        lambda: read_removal({"group": "g", "instance_ids": ["i", name]}),
        lambda: read_conversion({"group": name, "to": "consumer"}),
        lambda: read_move(name, {"to": "pass"}),
        lambda: read_move("g", {"to": "pass", "members": [name]}),
    )
    for read in reads:
        if may_be:
            read()
        else:
            with pytest.raises(OrderRefused):
                read()
