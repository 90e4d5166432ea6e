"""What the web server does with odd requests, over real loopback sockets."""

from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from typing import cast

import httpx
import pytest
import trio
import trio.testing
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, Event, ResponseReceived
from h2.settings import SettingCodes, Settings

from bridge.admin import web_server
from bridge.admin.web_server import HEADERS_BYTES_MAX, Connections
from bridge.supervision import ADMIN, Failures
from tests.support.admin_asked import get, running, talk

LIFE = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
PATIENCE_S = 60.0
"""For what comes at once, on a machine that is busy."""


async def test_answer_does_not_say_what_serves_it() -> None:
    """Who asks need not know."""
    async with running() as bound:
        assert "server" not in (await get(bound, "/livez")).headers


async def test_headers_beyond_the_limit_are_refused() -> None:
    """At most 16 KiB are held for a request's head."""
    async with running() as bound:
        stream = await talk(bound, b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * HEADERS_BYTES_MAX)
        with trio.fail_after(PATIENCE_S):
            answer = await stream.receive_some()
        assert answer.split()[1] in {b"400", b"431"}
        await stream.aclose()


async def test_bytes_that_are_no_http_close_that_connection_only() -> None:
    """A Kafka client on the wrong port gets an end; the next caller an answer."""
    async with running() as bound:
        stream = await talk(bound, bytes.fromhex("0000001200120003") + b"\x00" * 14 + b"\r\n\r\n")
        with trio.fail_after(PATIENCE_S):
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 400")
        await stream.aclose()
        assert (await get(bound, "/livez")).status_code == 200


async def test_half_a_request_holds_up_nobody() -> None:
    """A slow client waits alone."""
    async with running() as bound:
        stream = await talk(bound, b"GET /groups HTTP/1.1\r\nHost: local")
        with trio.fail_after(PATIENCE_S):
            assert (await get(bound, "/groups")).status_code == 200
        await stream.aclose()


async def test_what_fails_on_one_connection_ends_that_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under trio's listeners it ended all of them, and the server with them."""
    serve, failed = Connections._serve_in_its_way, list[trio.SocketStream]()

    async def fail_once(self: Connections, stream: trio.SocketStream) -> None:
        if not failed:
            failed.append(stream)
            raise ValueError("a bug")
        await serve(self, stream)

    monkeypatch.setattr(Connections, "_serve_in_its_way", fail_once)
    failures = Failures()
    async with running(supervised=failures) as bound:
        async with await talk(bound, b"") as unlucky:
            with trio.fail_after(PATIENCE_S):
                assert await unlucky.receive_some() == b""
        assert (await get(bound, "/livez")).status_code == 200
    assert failures.counts[ADMIN.name] == 1


async def is_served(bound: str) -> bool:
    """Whether an answer comes."""
    try:
        return (await get(bound, "/livez")).status_code == 200
    except httpx.TransportError:
        return False


async def test_more_than_some_connections_are_turned_away() -> None:
    """Each takes a descriptor; whoever comes when one has gone is served."""
    async with running(connections_max=1) as bound:
        async with await talk(bound, b"GET /livez HTTP/1.1\r\n"), await talk(bound, b"") as second:
            with trio.fail_after(PATIENCE_S):
                assert await second.receive_some() == b""
        with trio.fail_after(PATIENCE_S):
            while not await is_served(bound):
                await trio.testing.wait_all_tasks_blocked(0.01)


async def test_who_holds_many_connections_leaves_some_to_others(caplog: pytest.LogCaptureFixture) -> None:
    """A stranger kept as many open as there may be, and the scheduler's probes were turned away."""
    async with running(connections_max=8) as bound, AsyncExitStack() as stack:
        for _ in range(2):
            await stack.enter_async_context(await talk(bound, b"GET /livez HTTP/1.1\r\n", "127.0.0.2"))
        stream = await stack.enter_async_context(await talk(bound, b"", "127.0.0.2"))
        with trio.fail_after(PATIENCE_S):
            assert await stream.receive_some() == b""
            assert await is_served(bound)
            assert "EB-ADMIN-027: 1 connections to the admin API were turned away so far because 2 from" in caplog.text
            assert "the last one from 127.0.0.2; see" in caplog.text
            await stack.aclose()
            served = b""
            while not served:
                async with await talk(bound, LIFE, "127.0.0.2") as again:
                    # Until those that have gone are noticed to have, it is closed with what was said unread.
                    with suppress(trio.BrokenResourceError):
                        served = await again.receive_some()
            assert served.startswith(b"HTTP/1.1 200")


async def test_each_of_many_connections_of_one_address_ends_behind_its_answer() -> None:
    """Those who look again and again keep theirs, and would have others turned away; a few may."""
    async with running(connections_max=8) as bound, await talk(bound, LIFE, "127.0.0.2") as first:
        with trio.fail_after(PATIENCE_S):
            assert b"connection: close" not in (await first.receive_some()).lower()
            async with await talk(bound, LIFE, "127.0.0.2") as second:
                answer = b""
                while said := await second.receive_some():
                    answer += said
            assert (answer[:12], b"\r\nconnection: close\r\n" in answer.lower()) == (b"HTTP/1.1 200", True)
            async with await talk(bound, LIFE, "127.0.0.3") as other:
                assert b"connection: close" not in (await other.receive_some()).lower()


async def test_answers_that_are_not_taken_are_few() -> None:
    """In HTTP/2 a client opens as many requests as it may, and a window of nothing: each answer stayed in memory."""
    asking = H2Connection(H2Configuration(client_side=True))
    asking.local_settings = Settings(client=True, initial_values={SettingCodes.INITIAL_WINDOW_SIZE: 0})
    asking.initiate_connection()
    head = [(":method", "GET"), (":scheme", "http"), (":authority", "localhost"), (":path", "/metrics")]
    asking.send_headers(1, head, end_stream=True)
    one = asking.data_to_send()
    asking.send_headers(3, head, end_stream=True)
    async with running() as bound, await talk(bound, one) as stream:
        with trio.fail_after(PATIENCE_S):
            while not any(isinstance(event, ResponseReceived) for event in await heard(asking, stream)):
                pass
            await stream.send_all(asking.data_to_send())
            while not any(isinstance(event, ConnectionTerminated) for event in await heard(asking, stream)):
                pass


async def heard(asking: H2Connection, stream: trio.SocketStream) -> Sequence[Event]:
    """What a server says next."""
    data = await stream.receive_some()
    assert data, "it ends with a word"
    return asking.receive_data(data)


@pytest.mark.parametrize(
    ("host", "place"),
    [
        ("10.0.0.9", "10.0.0.9"),
        ("::1", "::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("2001:db8:0:7:a:b:c:d", "2001:db8:0:7::/64"),
        ("::ffff:10.0.0.9", "10.0.0.9"),
    ],
)
def test_addresses_of_one_network_are_one_place(host: str, place: str) -> None:
    """Whoever has an IPv6 address has 2 to the power of 64 of them."""

    class Socket:
        def getpeername(self) -> tuple[str, int]:
            return host, 1

    class Stream:
        socket = Socket()

    assert web_server._place_of(cast(trio.SocketStream, Stream())) == place
