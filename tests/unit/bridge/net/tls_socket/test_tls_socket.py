"""However the other end cuts what it sends, it is read whole; and it costs a turn no more than a bounded read."""

import fcntl
import socket
import ssl
import termios
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from bridge.net.tls_socket import ONLY_KEYS, PIECE_BYTES, UNPAID_BYTES_MAX, EmptyRecords, TlsSocket
from bridge.net.tls_transport import TlsTransport
from tests.support.certificates import Authority
from tests.support.key_updates import ClientRecords, logging_context

ROOM = memoryview(bytearray(256 * 1024))
FLOOD_BYTES = 90_000
"""Less than a pair of sockets holds."""


def pair(folder: Path) -> tuple[TlsSocket, TlsSocket, Path]:
    """A client and its server, and the client's secrets."""
    authority, log = Authority(folder), folder / "secrets"
    client_socket, server_socket = socket.socketpair()
    for end in (client_socket, server_socket):
        end.setblocking(False)
    client = TlsSocket(client_socket, logging_context(authority.context, log), "kafka")
    server = TlsSocket(server_socket, authority.server("kafka"), None)
    for _ in range(4):
        for side in (client, server):
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
    return client, server, log


def unread_bytes(end: TlsSocket) -> int:
    """What a socket holds that nobody has read."""
    count = bytearray(4)
    fcntl.ioctl(end.raw.fileno(), termios.FIONREAD, count)
    return int.from_bytes(count, "little")


def close(*ends: TlsSocket) -> None:
    """Both."""
    for end in ends:
        end.raw.close()


@pytest.mark.parametrize("seed", range(6))
def test_records_come_whole_however_they_are_cut(tmp_path: Path, seed: int) -> None:
    """Split in their headers, several together, a byte at a time."""
    chance = Random(seed)
    client, server, log = pair(tmp_path)
    records, sent, received, wire = ClientRecords(log), bytearray(), bytearray(), bytearray()
    for _ in range(40):
        content = chance.randbytes(chance.choice((0, 1, 7, 100, 5_000, 16_384)))
        sent += content
        wire += records.data(content)
        if chance.random() < 0.2:
            wire += records.key_update()
    most = chance.choice((1, 6, 700, 40_000)) if seed else 3
    while wire:
        count = chance.randint(1, max(most, len(wire) // 10_000))
        client.raw.sendall(wire[:count])
        del wire[:count]
        while (got := server.recv_into(ROOM[: chance.choice((1, 300, len(ROOM)))])) is not None:
            assert got
            received += ROOM[:got]
    assert received == sent
    close(client, server)


def test_new_keys_over_and_over_end_a_connection(tmp_path: Path) -> None:
    """8 MB of them once held up a whole bridge for 17 s, in one read; none of that is read beyond a bound."""
    client, server, log = pair(tmp_path)
    records, flood = ClientRecords(log), bytearray()
    while len(flood) < FLOOD_BYTES:
        flood += records.key_update()
    client.raw.sendall(flood)
    transport = TlsTransport(server)
    left = unread_bytes(server)
    while (got := transport.recv_into(ROOM)) is None:
        assert left - unread_bytes(server) <= PIECE_BYTES, "others have their turn behind each piece"
        left = unread_bytes(server)
    assert (got, transport.fault) == (0, ONLY_KEYS)
    assert unread_bytes(server) >= len(flood) - UNPAID_BYTES_MAX - PIECE_BYTES
    with pytest.raises(EmptyRecords):
        server.recv_into(ROOM)
    close(client, server)


def test_keys_between_a_little_data_are_read_a_piece_a_turn(tmp_path: Path) -> None:
    """Who pays for them with some bytes is served, and so is everybody else in between."""
    client, server, log = pair(tmp_path)
    records, flood, said = ClientRecords(log), bytearray(), bytearray()
    while len(flood) < FLOOD_BYTES:
        flood += records.data(b"word") + b"".join(records.key_update() for _ in range(5))
        said += b"word"
    client.raw.sendall(flood)
    left, heard = unread_bytes(server), bytearray()
    while left:
        got = server.recv_into(ROOM)
        heard += ROOM[: got or 0]
        assert 0 < left - unread_bytes(server) <= PIECE_BYTES
        left = unread_bytes(server)
    assert heard == said
    close(client, server)


def test_what_came_before_an_end_is_given_before_it(tmp_path: Path) -> None:
    """A producer that wants no answers may hang up without a farewell."""
    client, server, _ = pair(tmp_path)
    assert client.send(memoryview(b"request")) == len(b"request")
    client.raw.close()
    assert server.recv_into(ROOM) == len(b"request")
    # A reset, for it has not read all that came with the handshake.
    with pytest.raises(OSError, match="reset"):
        server.recv_into(ROOM)
    close(server)


def test_what_is_not_taken_is_said_once_it_comes_again(tmp_path: Path) -> None:
    """With more behind it, as a sender that waits has by then."""
    client, server, _ = pair(tmp_path)
    data, sent, received = bytes(range(256)) * 4_096, 0, bytearray()
    while sent < len(data):
        # No more than was there before, and then what there is: bytes that were encrypted count for what they were.
        taken = client.send(memoryview(data)[sent : sent + 1_000 + sent % 3_000])
        sent += taken
        while not taken and (got := server.recv_into(ROOM)):
            received += ROOM[:got]
    while got := server.recv_into(ROOM):
        received += ROOM[:got]
    assert received == data
    close(client, server)
