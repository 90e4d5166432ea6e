"""The admin API in TLS over real sockets: who is let in, what certificates allow, and what the others are told."""

import json
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx
import pytest
import trio
import trio.testing
import trustme

from bridge.admin.addresses import parse_address
from bridge.admin.server import serve_admin
from bridge.admin.tokens import TokenPair, Tokens
from bridge.app.admin_door import AdminDoor, make_door, renewed
from bridge.config.faults import ConfigError
from bridge.config.keys import Settings
from bridge.net.tls_transport import shake_hands
from tests.support.admin_views import ObedientCommands, still_sources
from tests.support.certificates import Authority
from tests.support.key_updates import EndRecords, logging_context

HOST, TOKEN = "b.example", "order-token-order"
BODY = json.dumps({"group": "orders-billing", "all": True}).encode()


def settings(authority: Authority, auth: str = "requested", roles: str = "") -> Settings:
    """Of a bridge that has TLS at its admin API."""
    pair = authority.pair(HOST, "localhost", "127.0.0.1")
    chosen = Settings(admin_tls=True, admin_tls_certificate_path=str(pair), admin_tls_client_auth=auth)
    if auth != "none":
        chosen = replace(chosen, admin_tls_trust_path=str(authority.trust))
    if roles:
        path = authority.folder / "roles"
        path.write_text(roles, encoding="utf-8")
        chosen = replace(chosen, admin_tls_clients_path=str(path))
    return chosen


def door_of(chosen: Settings) -> AdminDoor:
    """The door that is configured."""
    door = make_door(chosen)
    assert door is not None, "TLS is on"
    return door


@asynccontextmanager
async def served(
    door: AdminDoor, commands: ObedientCommands | None = None, place: str = "0.0.0.0:0"
) -> AsyncIterator[int]:
    """The port of an admin API behind that door."""
    tokens = Tokens(TokenPair(order=TOKEN.encode()))
    sources = replace(still_sources(commands=commands), tokens=tokens)
    async with trio.open_nursery() as nursery:
        bound: str = await nursery.start(partial(serve_admin, place, sources, None, door.shake))
        yield parse_address(bound)[1]
        nursery.cancel_scope.cancel()


def shown(authority: Authority, name: str = "", by: Authority | None = None) -> ssl.SSLContext:
    """Of a program that trusts the authority, and shows a certificate of that name."""
    context = authority.context
    if name:
        leaf: trustme.LeafCert = (by or authority).authority.issue_cert("x.example", common_name=name)
        leaf.configure_cert(context)
    return context


async def call(
    port: int, context: ssl.SSLContext, method: str = "GET", path: str = "/groups", **more: str
) -> httpx.Response:
    """One request that names a host of elsewhere."""
    headers = {"host": f"{HOST}:{port}", "content-type": "application/json", **more}
    content = BODY if method == "POST" else None
    async with httpx.AsyncClient(trust_env=False, timeout=20, verify=context) as client:
        return await client.request(method, f"https://127.0.0.1:{port}{path}", headers=headers, content=content)


def ask_on_a_socket(port: int, context: ssl.SSLContext) -> None:
    """As commands do; trio's streams do not say why they end."""
    httpx.get(f"https://127.0.0.1:{port}/livez", verify=context, trust_env=False, timeout=20)


async def test_roles_come_of_certificates_and_tokens(tmp_path: Path) -> None:
    """Who shows nothing, or is in no line, needs a token; probes need neither."""
    authority, commands = Authority(tmp_path), ObedientCommands()
    roles = "CN=ops,* order\nCN=watch*,* read\n"
    told: dict[tuple[str, str], tuple[int, str]] = {}
    async with served(door_of(settings(authority, roles=roles)), commands) as port:
        for name in ("ops", "watcher", "stranger", ""):
            context = shown(authority, name)
            for method, path in (("GET", "/groups"), ("POST", "/remove-members")):
                answer = await call(port, context, method, path)
                told[name, method] = (answer.status_code, str(answer.json().get("code", "")))
            assert (await call(port, context, path="/livez")).status_code == 200
        with_token = await call(
            port, shown(authority, "watcher"), "POST", "/remove-members", authorization=f"Bearer {TOKEN}"
        )
        refusal = await call(port, shown(authority, "stranger"))
        foreign = await call(
            port, shown(authority, "ops"), "POST", "/remove-members", origin="https://elsewhere.example"
        )
        own = await call(port, shown(authority, "ops"), "POST", "/remove-members", origin=f"https://{HOST}:{port}")
    assert told == {
        ("ops", "GET"): (200, ""),
        ("ops", "POST"): (200, ""),
        ("watcher", "GET"): (200, ""),
        ("watcher", "POST"): (403, "EB-ADMIN-017"),
        ("stranger", "GET"): (401, "EB-ADMIN-016"),
        ("stranger", "POST"): (403, "EB-ADMIN-007"),
        ("", "GET"): (401, "EB-ADMIN-016"),
        ("", "POST"): (403, "EB-ADMIN-007"),
    }
    assert with_token.status_code == 200
    assert "no line of admin.tls.clients.path means the certificate of 'CN=stranger," in refusal.json()["error"]
    assert (foreign.status_code, foreign.json()["code"]) == (403, "EB-ADMIN-018")
    assert own.status_code == 200
    assert len(commands.orders) == 3


async def test_without_a_file_every_valid_certificate_reads(tmp_path: Path) -> None:
    """And gives no orders."""
    authority = Authority(tmp_path)
    async with served(door_of(settings(authority, "required"))) as port:
        context = shown(authority, "anybody")
        assert (await call(port, context)).status_code == 200
        assert (await call(port, context, "POST", "/remove-members")).json()["code"] == "EB-ADMIN-017"


async def test_who_gets_no_tls_is_told_of_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """No certificate, one of another authority, none accepted of ours: each with the next step; then others go on."""
    authority, other = Authority(tmp_path), Authority(tmp_path, "other")
    with caplog.at_level(logging.WARNING, "epochbridge.admin"):
        async with served(door_of(settings(authority, "required"))) as port:
            for context in (shown(authority), shown(authority, "a", by=other)):
                with pytest.raises(httpx.TransportError):
                    await call(port, context)
            with pytest.raises(httpx.ConnectError):
                await trio.to_thread.run_sync(ask_on_a_socket, port, other.context)
            assert (await call(port, shown(authority, "a"))).status_code == 200
    assert "EB-ADMIN-020" in caplog.text
    assert "it shows no certificate, as admin.tls.client.auth wants" in caplog.text
    assert "signed by nobody that is trusted" in caplog.text
    assert "--admin-ca-path of commands" in caplog.text
    assert "without TLS" not in caplog.text


async def test_program_that_sends_nothing_but_new_keys_is_ended_and_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It needs no token for that."""
    authority, log = Authority(tmp_path), tmp_path / "secrets"
    with caplog.at_level(logging.WARNING, "epochbridge.admin"):
        async with served(door_of(settings(authority, "none"))) as port:
            sock = socket.create_connection(("127.0.0.1", port))
            program = await shake_hands(sock, logging_context(authority.context, log), "localhost")
            records = EndRecords(log)
            while "EB-NET-069" not in caplog.text:
                # It may be reset while it still sends.
                with suppress(OSError):
                    program.socket.send(b"".join(records.key_update() for _ in range(100)))
                await trio.testing.wait_all_tasks_blocked(0.01)
            program.close()
    assert "EB-NET-069: a connection of a program at 127.0.0.1 that asks the admin API was ended" in caplog.text


async def test_plain_request_is_told_to_come_in_tls(tmp_path: Path) -> None:
    """In plain HTTP, which it understands; health checks hear that the process lives, and who says nothing is left."""
    authority = Authority(tmp_path)
    async with served(door_of(settings(authority, "none"))) as port:
        silent = await trio.open_tcp_stream("127.0.0.1", port)
        await silent.send_eof()
        assert await silent.receive_some() == b""
        await silent.aclose()
        async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
            answer = await client.get(f"http://127.0.0.1:{port}/groups")
            life = await client.get(f"http://127.0.0.1:{port}/livez")
    assert (life.status_code, life.json()) == (200, {"alive": True})
    assert (answer.status_code, answer.json()["code"]) == (400, "EB-ADMIN-021")


async def test_files_that_change_count_for_those_who_come_then(tmp_path: Path) -> None:
    """Certificates and roles alike; what can't be used changes nothing."""
    authority = Authority(tmp_path)
    chosen = settings(authority, roles="CN=a,* read\n")
    door = door_of(chosen)
    files = renewed(door, 1_000)
    async with served(door) as port:
        assert (await call(port, shown(authority, "b"))).status_code == 401
        (tmp_path / "roles").write_text("CN=b,* read\n", encoding="utf-8")
        assert await files.read_changed() == ("admin.tls: its files have changed and count for new connections",)
        assert (await call(port, shown(authority, "b"))).status_code == 200
        (tmp_path / "roles").write_text("CN=b,* reader\n", encoding="utf-8")
        (told,) = await files.read_changed()
        assert "'reader' for a role" in told
        assert (await call(port, shown(authority, "b"))).status_code == 200
    assert await renewed(None, 1_000).read_changed() == ()


def test_no_door_where_no_tls_is_wanted(tmp_path: Path) -> None:
    """And no bridge begins with a file that can't be used."""
    assert make_door(Settings()) is None
    with pytest.raises(ConfigError, match="'admin' for a role"):
        make_door(settings(Authority(tmp_path), roles="CN=a admin"))
