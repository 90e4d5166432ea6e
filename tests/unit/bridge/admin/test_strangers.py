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
from bridge.admin.tokens import TokenPair, Tokens
from bridge.cli.main import run
from tests.support.admin_views import ObedientCommands, still_sources

ORDER, READ = "order-token-order", "read-token-read-token"
BODY = json.dumps({"group": "orders-billing", "all": True}).encode()


@asynccontextmanager
async def beyond_loopback(
    tokens: Tokens, commands: ObedientCommands | None = None, place: str = "0.0.0.0:0"
) -> AsyncIterator[int]:
    """The port of an admin API that listens everywhere, or at another place."""
    sources = replace(still_sources(commands=commands), tokens=tokens)
    async with trio.open_nursery() as nursery:
        bound: str = await nursery.start(partial(serve_admin, place, sources))
        yield parse_address(bound)[1]
        nursery.cancel_scope.cancel()


async def call(
    port: int, token: str, method: str = "GET", path: str = "/groups", *, host: str = "b.example", **more: str
) -> httpx.Response:
    """One request that names a host of elsewhere, as one through a network does; `more` headers with it."""
    headers = {
        "host": f"{host}:{port}",
        **{name.replace("_", "-"): value for name, value in more.items()},
        **({"authorization": f"Bearer {token}"} if token else {}),
    }
    content = None
    if method == "POST":
        headers["content-type"], content = "application/json", BODY
    async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
        return await client.request(method, f"http://127.0.0.1:{port}{path}", headers=headers, content=content)


async def test_roles_read_and_order() -> None:
    """The one reads, the other reads and orders; none and a wrong one do nothing."""
    commands = ObedientCommands()
    tokens = Tokens(TokenPair(order=ORDER.encode(), read=READ.encode()))
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
    assert tokens.refused == 5


async def test_programs_of_this_machine_need_none() -> None:
    """As inside a container, whose admin API listens everywhere so that its port can be published."""
    async with beyond_loopback(Tokens(TokenPair(order=ORDER.encode()))) as port:
        assert (await call(port, "", host="127.0.0.1")).status_code == 200
        assert (await call(port, "", "POST", "/remove-members", host="127.0.0.1")).status_code == 200


@pytest.mark.parametrize("place", ["0.0.0.0:0", "127.0.0.1:0"])
async def test_proxy_on_this_machine_speaks_for_others(place: str) -> None:
    """A sidecar asks by loopback and a loopback name for whoever asked it, and says so in a header."""
    commands = ObedientCommands()
    async with beyond_loopback(Tokens(TokenPair(order=ORDER.encode())), commands, place) as port:
        for header in ("x_forwarded_for", "forwarded", "via"):
            passed_on = {"host": "127.0.0.1", header: "203.0.113.9"}
            assert (await call(port, "", **passed_on)).status_code == 401
            assert (await call(port, "", "POST", "/remove-members", **passed_on)).status_code == 403
            assert (await call(port, ORDER, **passed_on)).status_code == 200
    assert commands.orders == []


@pytest.mark.parametrize("host", ["a{b.example", 'a"b.example', "b.example:x"])
async def test_name_that_cannot_be_read_is_no_name_of_this_machine(host: str) -> None:
    """The web framework takes the listener's own address for it, and a foreign page would have found a way in."""
    async with beyond_loopback(Tokens(), place="127.0.0.1:0") as port:
        answer = await call(port, "", host=host)
    assert (answer.status_code, "orders-billing" in answer.text) == (403, False)


async def test_tokens_are_in_no_log_and_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    """Wrong ones neither: they may be right elsewhere. The log says so less and less often."""
    with caplog.at_level(logging.DEBUG):
        async with beyond_loopback(Tokens(TokenPair(order=ORDER.encode()))) as port:
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
    async with beyond_loopback(Tokens(TokenPair(order=ORDER.encode(), read=READ.encode()))) as port:
        words = ["groups", "--json", "--admin", f"{gethostname()}:{port}"]
        codes = [await trio.to_thread.run_sync(run, [*words, "--admin-token-path", str(file)])]
        monkeypatch.setenv("EPOCHBRIDGE_ADMIN_TOKEN_FILE", str(file))
        codes.append(await trio.to_thread.run_sync(run, words))
        monkeypatch.delenv("EPOCHBRIDGE_ADMIN_TOKEN_FILE")
        codes.append(await trio.to_thread.run_sync(run, words))
        codes.append(await trio.to_thread.run_sync(run, [*words, "--admin-token-path", str(tmp_path / "none")]))
    shown = capsys.readouterr()
    assert codes == [0, 0, 1, 1]
    assert shown.out.count("orders-billing") >= 2
    assert "EB-ADMIN-016" in shown.err
    assert "EB-ADMIN-019" in shown.err


async def test_wrong_file_is_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A key that was named by mistake would be quoted by the library that refuses the header."""
    file = tmp_path / "key.pem"
    file.write_text("-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n")
    words = ["groups", "--admin", "127.0.0.1:1", "--admin-token-path", str(file)]
    assert await trio.to_thread.run_sync(run, words) == 1
    shown = capsys.readouterr()
    assert "EB-ADMIN-019" in shown.err
    assert "c2VjcmV0" not in shown.err + shown.out
