"""`POST /config`, without a socket."""

from dataclasses import replace

import httpx
import pytest

from bridge.admin.contracts import Reload, Reloading
from bridge.admin.pages import make_application
from tests.support.admin_views import ObedientReloading, still_sources


async def ask(order: object, reloading: Reloading | None) -> httpx.Response:
    """One order of a program on this machine."""
    application = make_application(replace(still_sources(), reloading=reloading), only_local=True)
    transport = httpx.ASGITransport(application, client=("127.0.0.1", 4711))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:9190") as client:
        return await client.post("/config", json=order)


async def test_what_changed_is_told() -> None:
    """And what was asked is what was written."""
    reloading = ObedientReloading(Reload(changes=("a: b",), findings=("EB-RULE-001: x",)))
    answer = await ask({"dry_run": True, "log_level": "debug"}, reloading)
    assert (answer.status_code, answer.json()) == (
        200,
        {"changes": ["a: b"], "findings": ["EB-RULE-001: x"], "is_dry_run": False},
    )
    assert (await ask({}, reloading)).status_code == 200
    assert reloading.asked == [(True, "debug"), (False, "")]


async def test_configuration_that_can_not_be_used_is_an_error() -> None:
    """400 with every reason."""
    answer = await ask({}, ObedientReloading(Reload(error="f.yaml:3: nonsense [EB-CONFIG-003]")))
    assert (answer.status_code, answer.json()["code"]) == (400, "EB-ADMIN-015")
    assert answer.json()["error"].endswith("nothing has changed: f.yaml:3: nonsense [EB-CONFIG-003]")


@pytest.mark.parametrize(
    ("order", "status", "code"),
    [({"dry_run": 3}, 400, "EB-ADMIN-009"), ({"log_level": 3}, 400, "EB-ADMIN-009"), ({}, 501, "EB-ADMIN-014")],
)
async def test_what_can_not_be_done(order: object, status: int, code: str) -> None:
    """An order that can't be read, a bridge that can't read anything again."""
    answer = await ask(order, None)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
