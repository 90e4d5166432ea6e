"""A connection inside TLS as a stream, over a real pair of sockets."""

import socket
from pathlib import Path

import pytest
import trio

from bridge.net.tls_transport import TlsStream, shake_hands
from tests.support.certificates import Authority


async def pair(folder: Path) -> tuple[TlsStream, TlsStream]:
    """Both ends, client first."""
    authority = Authority(folder)
    ours, theirs = socket.socketpair()
    ends: list[TlsStream] = []

    async def shake_client() -> None:
        ends.insert(0, TlsStream(await shake_hands(ours, authority.context, "bridge"), lambda: None))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(shake_client)
        server = await shake_hands(theirs, authority.server("bridge"), None)
    ends.append(TlsStream(server, lambda: None))
    return ends[0], ends[1]


async def test_what_one_end_sends_the_other_receives(tmp_path: Path) -> None:
    """More than sockets hold, in pieces as large as are asked for; and the end is an end."""
    client, server = await pair(tmp_path)
    sent, received = bytes(range(256)) * 8_192, bytearray()

    async def send() -> None:
        await server.do_handshake()
        await server.send_all(sent)
        await server.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(send)
        while data := await client.receive_some(1_000):
            assert len(data) <= 1_000
            received += data
    assert bytes(received) == sent
    await client.aclose()
    await client.aclose()


async def test_ends_are_told_as_trio_tells_them(tmp_path: Path) -> None:
    """The other end gone; closed here, also while somebody waits."""
    client, server = await pair(tmp_path)
    assert server.transport_stream.socket.fileno() >= 0
    assert server.selected_alpn_protocol() is None
    await client.aclose()
    with pytest.raises(trio.BrokenResourceError):
        await server.send_all(bytes(8_388_608))
    await server.aclose()
    with pytest.raises(trio.ClosedResourceError):
        await server.receive_some()
    client, server = await pair(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_wait_for_the_end, server)
        await trio.testing.wait_all_tasks_blocked()
        await server.aclose()
    await client.aclose()


async def _wait_for_the_end(stream: TlsStream) -> None:
    with pytest.raises(trio.ClosedResourceError):
        await stream.receive_some()
