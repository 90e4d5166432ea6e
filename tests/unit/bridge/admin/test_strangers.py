"""Tokens over real sockets: the running admin API beyond loopback, asked by an HTTP client and by the commands."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from socket import gethostname

import httpx
import pytest
import trio

from bridge.admin.addresses import parse_address
from bridge.admin.server import serve_admin
from bridge.admin.tokens import Tokens
from bridge.cli.main import run
from tests.support.admin_views import ObedientCommands, still_sources

ORDER, READ = "order-token-order", "read-token-read-token"
BODY = json.dumps({"group": "orders-billing", "all": True}).encode()


@asynccontextmanager
async def beyond_loopback(tokens: Tokens, commands: ObedientCommands | None = None) -> AsyncIterator[int]:
    """The port of an admin API that listens everywhere."""
    sources = replace(still_sources(commands=commands), tokens=tokens)
    async with trio.open_nursery() as nursery:
        bound: str = await nursery.start(partial(serve_admin, "0.0.0.0:0", sources))
        yield parse_address(bound)[1]
        nursery.cancel_scope.cancel()


async def call(
    port: int, token: str, method: str = "GET", path: str = "/groups", *, host: str = "b.example"
) -> httpx.Response:
    """One request that names a host of elsewhere, as one through a network does."""
    headers = {"host": f"{host}:{port}", **({"authorization": f"Bearer {token}"} if token else {})}
    content = None
    if method == "POST":
        headers["content-type"], content = "application/json", BODY
    async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
        return await client.request(method, f"http://127.0.0.1:{port}{path}", headers=headers, content=content)


async def test_roles_read_and_order() -> None:
    """The one reads, the other reads and orders; none and a wrong one do nothing."""
    commands = ObedientCommands()
    tokens = Tokens(order=ORDER.encode(), read=READ.encode())
    told: dict[tuple[str, str], tuple[int, str]] = {}
    async with beyond_loopback(tokens, commands) as port:
        for token in (ORDER, READ, "wrong-token-wrong", ""):
            for method, path in (("GET", "/groups"), ("POST", "/remove-members")):
                answer = await call(port, token, method, path)
                told[token, method] = (answer.status_code, str(answer.json().get("code", "")))
    assert told == {
        (ORDER, "GET"): (200, ""),
        (ORDER, "POST"): (200, ""),
        (READ, "GET"): (200, ""),
        (READ, "POST"): (403, "EB-ADMIN-017"),
        ("wrong-token-wrong", "GET"): (401, "EB-ADMIN-016"),
        ("wrong-token-wrong", "POST"): (401, "EB-ADMIN-016"),
        ("", "GET"): (401, "EB-ADMIN-016"),
        ("", "POST"): (403, "EB-ADMIN-007"),
    }
    assert len(commands.orders) == 1
    assert tokens.refused == 3


async def test_programs_of_this_machine_need_none() -> None:
    """As inside a container, whose admin API listens everywhere so that its port can be published."""
    async with beyond_loopback(Tokens(order=ORDER.encode())) as port:
        assert (await call(port, "", host="127.0.0.1")).status_code == 200
        assert (await call(port, "", "POST", "/remove-members", host="127.0.0.1")).status_code == 200


async def test_tokens_are_in_no_log_and_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    """Wrong ones neither: they may be right elsewhere. The log says so less and less often."""
    with caplog.at_level(logging.DEBUG):
        async with beyond_loopback(Tokens(order=ORDER.encode())) as port:
            answers = [await call(port, "another-bridges-token") for _ in range(5)]
            await call(port, ORDER)
    assert all("another-bridges-token" not in answer.text and ORDER not in answer.text for answer in answers)
    assert "another-bridges-token" not in caplog.text
    assert ORDER not in caplog.text
    told = [record.getMessage() for record in caplog.records if "EB-ADMIN-016" in record.getMessage()]
    assert [sentence.split()[1] for sentence in told] == ["1", "2", "4"]


async def test_commands_bring_the_token_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By option or by the variable that the bridge reads as well."""
    file = tmp_path / "token"
    file.write_text(f"{READ}\n")
    async with beyond_loopback(Tokens(order=ORDER.encode(), read=READ.encode())) as port:
        words = ["groups", "--json", "--admin", f"{gethostname()}:{port}"]
        codes = [await trio.to_thread.run_sync(run, [*words, "--admin-token-path", str(file)])]
        monkeypatch.setenv("EPOCHBRIDGE_ADMIN_TOKEN_PATH", str(file))
        codes.append(await trio.to_thread.run_sync(run, words))
        monkeypatch.delenv("EPOCHBRIDGE_ADMIN_TOKEN_PATH")
        codes.append(await trio.to_thread.run_sync(run, words))
        codes.append(await trio.to_thread.run_sync(run, [*words, "--admin-token-path", str(tmp_path / "none")]))
    shown = capsys.readouterr()
    assert codes == [0, 0, 1, 1]
    assert shown.out.count("orders-billing") >= 2
    assert "EB-ADMIN-016" in shown.err
    assert "EB-ADMIN-019" in shown.err
