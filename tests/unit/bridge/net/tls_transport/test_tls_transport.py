"""A connection inside TLS keeps the promises of a plain one; both ends are in one task, on real sockets."""

import socket
import ssl
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from bridge.net.tls_socket import RECORD_BYTES_MAX, TlsSocket
from bridge.net.tls_transport import TlsTransport, shake_hands, subject_of, subject_text
from bridge.net.transport import PeerGone, Sender, send_all
from bridge.supervision import Task
from tests.support.certificates import Authority

ROOM = memoryview(bytearray(256 * 1024))
LONG = bytes(range(251)) * 8_000


async def pair(tmp_path: Path) -> tuple[TlsTransport, TlsTransport]:
    """A client and its server."""
    authority = Authority(tmp_path)
    ours, theirs = socket.socketpair()
    made: list[TlsTransport] = []

    async def greet() -> None:
        made.append(await shake_hands(theirs, authority.server("kafka"), None))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(greet)
        client = await shake_hands(ours, authority.context, "kafka")
    return client, made[0]


async def receive(transport: TlsTransport, count: int, room: memoryview = ROOM) -> bytes:
    """So many bytes, by waiting for the socket only where nothing is there."""
    received = b""
    while len(received) < count:
        got = transport.recv_into(room)
        if got is None:
            await transport.wait_readable()
        elif got == 0:
            break
        else:
            received += room[:got]
    return received


async def test_read_that_fills_less_than_the_room_has_emptied_the_connection(tmp_path: Path) -> None:
    """Who waits for the socket then waits for news; a small room leaves the rest of a record for the next read."""
    client, server = await pair(tmp_path)
    await send_all(client, bytes(3 * RECORD_BYTES_MAX + 7))
    assert server.recv_into(ROOM) == 3 * RECORD_BYTES_MAX + 7
    assert server.recv_into(ROOM) is None
    await send_all(client, bytes(10))
    assert [server.recv_into(ROOM[:4]) for _ in range(4)] == [4, 4, 2, None]
    client.close()
    assert (server.recv_into(ROOM), server.fault) == (0, "")
    server.close()


async def test_what_a_slow_end_does_not_take_comes_later_and_whole(tmp_path: Path) -> None:
    """More is added while a record waits half sent."""
    client, server = await pair(tmp_path)
    async with trio.open_nursery() as nursery:

        def spawn(task: Task, work: object) -> None:
            assert callable(work)
            nursery.start_soon(work)

        sender = Sender(client, spawn, lambda: None, lambda: None)
        for _ in range(3):
            sender.send_nowait(LONG)
        assert sender.unsent_bytes > 0
        assert await receive(server, 3 * len(LONG), ROOM[:1_000]) == LONG * 3
    assert sender.unsent_bytes == 0
    client.close()
    server.close()


async def test_end_of_the_other_side_is_an_end_and_no_bug(tmp_path: Path) -> None:
    """With and without a farewell; nothing can be sent then."""
    client, server = await pair(tmp_path)
    server.close()
    server.close()
    assert client.recv_into(ROOM) == 0
    with pytest.raises(PeerGone):
        await send_all(client, LONG)
    client.close()
    client, server = await pair(tmp_path)
    client.socket.shutdown(socket.SHUT_RDWR)
    assert server.recv_into(ROOM) == 0
    server.close()
    client.close()


async def test_kernel_moves_nothing_of_it(tmp_path: Path) -> None:
    """It would move what is encrypted."""
    client, server = await pair(tmp_path)
    assert (client.is_plain, server.is_plain) == (False, False)
    assert client.fileno() is not None
    client.close()
    server.close()


async def test_socket_is_closed_where_there_is_no_handshake(tmp_path: Path) -> None:
    """The caller has nothing to close."""
    authority = Authority(tmp_path)
    ours, theirs = socket.socketpair()
    theirs.send(b"\x00\x00\x00\x10plain bytes")
    with pytest.raises(ssl.SSLError):
        await shake_hands(ours, authority.server("kafka"), None)
    assert ours.fileno() == -1
    theirs.close()
    ours, theirs = socket.socketpair()
    with pytest.raises(UnicodeError):
        await shake_hands(ours, authority.context, ".kafka")
    assert ours.fileno() == -1
    theirs.close()


async def test_socket_is_closed_where_it_can_not_be_used_behind_the_handshake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options can't be set any more where the other end has gone, on some systems."""

    class Gone(TlsTransport):
        def __init__(self, tls: TlsSocket) -> None:
            if tls.session.server_side:
                raise OSError(1, "gone")
            super().__init__(tls)

    monkeypatch.setattr("bridge.net.tls_transport.TlsTransport", Gone)
    authority = Authority(tmp_path)
    ours, theirs = socket.socketpair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(shake_hands, theirs, authority.context, "kafka")
        with pytest.raises(OSError, match="gone"):
            await shake_hands(ours, authority.server("kafka"), None)
    assert ours.fileno() == -1
    theirs.close()


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((), ""),
        (
            ((("countryName", "DE"),), (("organizationName", "Shop"),), (("commonName", "orders"),)),
            "CN=orders,O=Shop,C=DE",
        ),
        (((("commonName", "a"), ("userId", "b")),), "CN=a+UID=b"),
        (((("commonName", 'a,b+c"d\\e<f>g;h'),),), 'CN=a\\,b\\+c\\"d\\\\e\\<f\\>g\\;h'),
        (((("commonName", " a "),),), "CN=\\ a\\ "),
        (((("commonName", "#a"),),), "CN=\\#a"),
        (((("emailAddress", "a@b"),),), "emailAddress=a@b"),
    ],
)
def test_parts_stand_from_the_last_to_the_first(parts: tuple[tuple[tuple[str, str], ...], ...], text: str) -> None:
    """With RFC 2253's short names and its escapes."""
    assert subject_text(parts) == text


def test_subject_is_that_of_the_certificate_that_was_shown(tmp_path: Path) -> None:
    """Nothing where none was."""
    authority = Authority(tmp_path)
    for shows in (True, False):
        server = authority.server("localhost")
        server.verify_mode = ssl.CERT_OPTIONAL
        authority.authority.configure_trust(server)
        client = authority.context
        if shows:
            authority.authority.issue_cert(common_name="orders", organization_name="Shop").configure_cert(client)
        one, other = socket.socketpair()
        with one, other:
            one.setblocking(False)
            other.setblocking(False)
            ends = TlsSocket(one, server, None), TlsSocket(other, client, "localhost")
            for _ in range(10):
                for end in ends:
                    with suppress(ssl.SSLWantReadError):
                        end.do_handshake()
            subject = subject_of(ends[0].session)
        assert subject.startswith("CN=orders,OU=Testing cert") if shows else not subject
        assert subject.endswith(",O=Shop") if shows else not subject
