"""What the web server does with odd requests, over real loopback sockets."""

import trio

from bridge.admin.web_server import HEADERS_BYTES_MAX
from tests.support.admin_asked import get, running, talk


async def test_answer_does_not_say_what_serves_it() -> None:
    """Who asks need not know."""
    async with running() as bound:
        assert "server" not in (await get(bound, "/livez")).headers


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
