"""The pages without a socket: requests go straight into the application."""

import json
from dataclasses import replace

import httpx
import pytest
from starlette.applications import Starlette

from bridge.admin.documents import encode, group_document, groups_document
from bridge.admin.pages import make_application
from bridge.admin.tokens import TokenPair, Tokens
from tests.support.admin_views import ORDERS, StillMetrics, StillSnapshots, still_sources


async def ask(path: str, snapshots: StillSnapshots | None = None, *, method: str = "GET") -> httpx.Response:
    """One answer of the application that only local callers may use."""
    return await ask_host("http://127.0.0.1:9190", path, method, application(snapshots))


async def ask_host(base: str, path: str, method: str, asked: Starlette) -> httpx.Response:
    """One answer to a caller that names this host."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(asked), base_url=base) as client:
        return await client.request(method, path)


def application(snapshots: StillSnapshots | None = None, *, only_local: bool = True) -> Starlette:
    """The application over snapshots that stand still."""
    return make_application(still_sources(snapshots), only_local=only_local)


async def test_livez_is_answered_even_when_not_ready() -> None:
    """Alive is not ready."""
    answer = await ask("/livez", StillSnapshots(reasons=["draining"]))
    assert (answer.status_code, answer.json()) == (200, {"alive": True})


async def test_readyz_without_reasons_is_ready() -> None:
    """200 says: send clients."""
    answer = await ask("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"ready": True, "reasons": [], "troubles": []})


async def test_readyz_with_troubles_is_200_and_names_them() -> None:
    """Other clients may come; whoever takes the bridge out for these would cut them off."""
    answer = await ask("/readyz", StillSnapshots(troubled=["a disk is full"]))
    assert (answer.status_code, answer.json()) == (200, {"ready": True, "reasons": [], "troubles": ["a disk is full"]})


async def test_readyz_with_reasons_is_503_and_names_them() -> None:
    """503 says why."""
    reasons = ["the bridge is shutting down", "no broker answers"]
    answer = await ask("/readyz", StillSnapshots(reasons=reasons))
    assert (answer.status_code, answer.json()) == (503, {"ready": False, "reasons": reasons, "troubles": []})


async def test_groups_are_listed() -> None:
    """The list as JSON."""
    answer = await ask("/groups")
    assert (answer.status_code, answer.content) == (200, encode(groups_document([ORDERS.summary])))
    assert answer.headers["content-type"] == "application/json"


async def test_group_is_shown() -> None:
    """One group as JSON."""
    answer = await ask("/groups/orders-billing")
    assert (answer.status_code, answer.content) == (200, encode(group_document(ORDERS)))


async def test_unknown_group_is_404_with_a_sentence() -> None:
    """What happened, the likely cause, the next step."""
    answer = await ask("/groups/a%2Fb%20%22")
    assert answer.status_code == 404
    assert answer.json()["code"] == "EB-ADMIN-004"
    assert answer.json()["error"].startswith("the bridge coordinates no group 'a/b \"'; ")


async def test_unknown_group_of_great_length_is_not_repeated() -> None:
    """A refusal stays short."""
    answer = await ask("/groups/" + "g" * 9_000)
    assert (answer.status_code, len(answer.content) < 500) == (404, True)


async def test_metrics_are_text_of_their_own_type() -> None:
    """As Prometheus asks for them."""
    answer = await ask("/metrics")
    assert (answer.content, answer.headers["content-type"]) == (StillMetrics().body, StillMetrics().content_type)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_other_methods_are_405_with_a_sentence(method: str) -> None:
    """What shows takes GET only."""
    answer = await ask("/groups", method=method)
    assert (answer.status_code, answer.json()["code"]) == (405, "EB-ADMIN-005")
    assert answer.json()["error"].startswith(f"{method} is not answered here")


async def test_unknown_page_is_404_and_names_the_pages() -> None:
    """A person at a terminal finds the way."""
    answer = await ask("/")
    assert (answer.status_code, answer.json()["code"]) == (404, "EB-ADMIN-005")
    assert "/readyz" in answer.json()["error"]


async def test_foreign_host_name_is_refused_on_loopback() -> None:
    """DNS rebinding: the browser's request names the attacker's host."""
    answer = await ask_host("http://attacker.example:9190", "/groups", "GET", application())
    assert (answer.status_code, answer.json()["code"]) == (403, "EB-ADMIN-006")


async def test_any_host_name_is_answered_beyond_loopback_with_a_token() -> None:
    """Who opens the listener gives it a name; which token it is does not matter to read."""
    asked = make_application(replace(still_sources(), tokens=Tokens(TokenPair(b"o" * 16, b"r" * 16))), only_local=False)
    for token in ("o" * 16, "r" * 16):
        transport = httpx.ASGITransport(asked)
        headers = {"authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://bridge.example:9190") as client:
            answer = await client.get("/groups", headers=headers)
        assert json.loads(answer.content)["groups"][0]["group_id"] == "orders-billing"


@pytest.mark.parametrize(
    "path", ["/groups", "/groups/orders-billing", "/moves", "/plans", "/census", "/doctor", "/events"]
)
async def test_nothing_is_shown_beyond_loopback_without_a_token(path: str) -> None:
    """Where there is none as well."""
    answer = await ask_host("http://bridge.example:9190", path, "GET", application(only_local=False))
    assert (answer.status_code, answer.json()["code"]) == (401, "EB-ADMIN-016")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "this bridge has none: set admin.token.path" in answer.json()["error"]


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
async def test_probes_and_collectors_need_no_token(path: str) -> None:
    """As of other proxies."""
    assert (await ask_host("http://bridge.example:9190", path, "GET", application(only_local=False))).status_code == 200


async def test_events_page_names_the_folder() -> None:
    """For `epochbridge trace` on the same machine; empty if no log is written."""
    answer = await ask("/events")
    assert (answer.status_code, answer.json()) == (200, {"path": ""})
