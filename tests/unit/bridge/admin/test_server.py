"""The listener over real loopback sockets."""

import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import httpx
import pytest
import trio

from bridge.admin import server
from bridge.admin.contracts import AdminError
from bridge.admin.server import HEADERS_BYTES_MAX, parse_address, serve_admin
from tests.support.admin_views import CONSUMER, ORDERS, StillSnapshots, still_sources

ANY_PORT = "127.0.0.1:0"


@asynccontextmanager
async def running(snapshots: StillSnapshots | None = None) -> AsyncIterator[str]:
    """The bound address of an admin API that ends with the block."""
    async with trio.open_nursery() as nursery:
        bound: str = await nursery.start(partial(serve_admin, ANY_PORT, still_sources(snapshots)))
        yield bound
        nursery.cancel_scope.cancel()


async def get(bound: str, path: str) -> httpx.Response:
    """One request with its own connection."""
    async with httpx.AsyncClient(base_url=f"http://{bound}", trust_env=False, timeout=20) as client:
        return await client.get(path)


async def talk(bound: str, sent: bytes) -> trio.SocketStream:
    """A connection that has sent these bytes."""
    host, port = parse_address(bound)
    stream = await trio.open_tcp_stream(host, port)
    await stream.send_all(sent)
    return stream


async def test_any_port_is_reported_and_answers() -> None:
    """Port 0 is for tests: the bound one is told."""
    async with running() as bound:
        assert parse_address(bound)[1] > 0
        answer = await get(bound, "/groups/orders-billing")
        assert answer.json()["members"][1]["client_id"] == "billing-2"
        assert "server" not in answer.headers


async def test_taken_port_is_refused_with_a_sentence() -> None:
    """EB-ADMIN-001 names the address and the way out."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(AdminError, match=f"EB-ADMIN-001: the admin API can't listen at {address}: .*--admin off"):
            await serve_admin(address, still_sources())


@pytest.mark.parametrize("address", ["", "9190", "127.0.0.1:", ":9190", "127.0.0.1:x", "127.0.0.1:65536"])
def test_what_is_no_address_is_refused(address: str) -> None:
    """EB-ADMIN-002 shows what was seen."""
    with pytest.raises(AdminError, match="EB-ADMIN-002"):
        parse_address(address)


def test_address_of_ipv6_has_brackets() -> None:
    """As in URLs."""
    assert parse_address("[::1]:9190") == ("::1", 9190)


async def test_listening_beyond_loopback_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    """There are no rights to check, so the log says it."""
    with caplog.at_level(logging.WARNING, "epochbridge.admin"):
        async with trio.open_nursery() as nursery:
            await nursery.start(partial(serve_admin, "0.0.0.0:0", still_sources()))
            nursery.cancel_scope.cancel()
    assert [record.getMessage().split(":")[0] for record in caplog.records] == ["EB-ADMIN-003"]


async def test_headers_beyond_the_limit_are_refused() -> None:
    """At most 16 KiB are held for a request's head."""
    async with running() as bound:
        stream = await talk(bound, b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * HEADERS_BYTES_MAX)
        with trio.fail_after(10):
            answer = await stream.receive_some()
        assert answer.split()[1] in {b"400", b"431"}
        await stream.aclose()


async def test_bytes_that_are_no_http_close_that_connection_only() -> None:
    """A Kafka client on the wrong port gets an end; the next caller an answer."""
    async with running() as bound:
        stream = await talk(bound, bytes.fromhex("0000001200120003") + b"\x00" * 14 + b"\r\n\r\n")
        with trio.fail_after(10):
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 400")
        await stream.aclose()
        assert (await get(bound, "/livez")).status_code == 200


async def test_half_a_request_holds_up_nobody() -> None:
    """A slow client waits alone."""
    async with running() as bound:
        stream = await talk(bound, b"GET /groups HTTP/1.1\r\nHost: local")
        with trio.fail_after(10):
            assert (await get(bound, "/groups")).status_code == 200
        await stream.aclose()


async def test_unread_answer_does_not_keep_the_bridge_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypercorn's writes can't be cancelled; the kernel gives the client up instead."""
    monkeypatch.setattr(server, "STALL_MAX_MS", 500)
    many = replace(ORDERS, members=tuple(replace(CONSUMER, member_id=f"m-{number}") for number in range(30_000)))
    with trio.fail_after(30):
        async with running(StillSnapshots(views=[many])) as bound:
            stream = await talk(bound, b"GET /groups/orders-billing HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await stream.receive_some(12)) == b"HTTP/1.1 200"
            assert (await get(bound, "/livez")).status_code == 200
    await stream.aclose()
