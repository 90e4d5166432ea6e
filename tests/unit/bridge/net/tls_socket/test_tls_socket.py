"""However the other end cuts what it sends, it is read whole; and it costs a turn no more than a bounded read."""

import fcntl
import socket
import ssl
import termios
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from random import Random
from select import select

import pytest

from bridge.net.tls_socket import (
    EMPTY_RECORDS_MAX,
    ONLY_KEYS,
    PIECE_BYTES,
    POOR_SHARE,
    RECORD_BYTES_MAX,
    UNPAID_BYTES_MAX,
    EmptyRecords,
    TlsSocket,
)
from bridge.net.tls_transport import TlsTransport
from tests.support.certificates import Authority
from tests.support.key_updates import EndRecords, logging_context

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
    records, sent, received, wire = EndRecords(log), bytearray(), bytearray(), bytearray()
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
        while (got := server.recv_into(ROOM[: chance.choice((1, 300, len(ROOM)))])) is not None or unread_bytes(server):
            assert got != 0
            received += ROOM[: got or 0]
    assert received == sent
    close(client, server)


@pytest.mark.parametrize("cut_bytes", [1_000, 16_411, 50_000])
def test_openssl_is_asked_for_nothing_that_is_not_there(tmp_path: Path, cut_bytes: int) -> None:
    """It raises an exception to say so, of which each record that the bridge relayed had one."""
    client, server, log = pair(tmp_path)
    records, read, in_vain = EndRecords(log), server._read_into, 0

    def ask(count: int, room: memoryview) -> int:
        nonlocal in_vain
        try:
            return read(count, room)
        except ssl.SSLWantReadError:
            in_vain += 1
            raise

    server._read_into = ask
    sent, received = b"".join(bytes([number]) * RECORD_BYTES_MAX for number in range(20)), b""
    wire = b"".join(records.data(sent[at : at + RECORD_BYTES_MAX]) for at in range(0, len(sent), RECORD_BYTES_MAX))
    for at in range(0, len(wire), cut_bytes):
        client.raw.sendall(wire[at : at + cut_bytes])
        while (got := server.recv_into(ROOM)) is not None or unread_bytes(server):
            received += ROOM[: got or 0]
    assert received == sent
    assert not in_vain
    close(client, server)


def test_bytes_that_are_no_record_are_told_before_they_are_one(tmp_path: Path) -> None:
    """Whoever sends them may wait for the answer with the rest."""
    for header in (b"GET /", b"\x17\x03\x03\xff\xff", b"\x17\x05\x05\x00\x40"):
        client, server, _ = pair(tmp_path)
        assert server.recv_into(ROOM) is None
        client.raw.sendall(header + b"....")
        with pytest.raises(ssl.SSLError):
            server.recv_into(ROOM)
        close(client, server)


def test_new_keys_over_and_over_end_a_connection(tmp_path: Path) -> None:
    """8 MB of them once held up a whole bridge for 17 s, in one read; none of that is read beyond a bound."""
    client, server, log = pair(tmp_path)
    records, flood = EndRecords(log), bytearray()
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


def keys_and_a_little(records: EndRecords) -> Iterator[bytes]:
    """A word that pays for the keys behind it."""
    while True:
        yield records.data(b"word") + b"".join(records.key_update() for _ in range(5))


def pieces_of_keys(records: EndRecords, shares: tuple[int, ...]) -> Iterator[bytes]:
    """Pieces that are full of new keys, but for so many bytes of data in the first, and in the second."""
    for share in cycle(shares):
        piece = records.data(bytes(share))
        while len(piece) < PIECE_BYTES - 27:
            piece += records.key_update()
        yield piece


@pytest.mark.parametrize("shares", [(), (2_100,), (2_100, 1_100), (15_000, 100), (16_000, 16_000, 100)])
def test_keys_between_data_are_read_a_piece_a_turn(tmp_path: Path, shares: tuple[int, ...]) -> None:
    """Until their end, which comes soon, everybody else has a turn in between.

    An eighth of data once had the next piece read in the same turn, four times as large: 270 ms in one read.
    """
    client, server, log = pair(tmp_path)
    for end, option in ((client, socket.SO_SNDBUF), (server, socket.SO_RCVBUF)):
        end.raw.setsockopt(socket.SOL_SOCKET, option, 4 * FLOOD_BYTES)
    records, flood = EndRecords(log), bytearray()
    parts = pieces_of_keys(records, shares) if shares else keys_and_a_little(records)
    while len(flood) < FLOOD_BYTES:
        flood += next(parts)
    client.raw.sendall(flood)
    left, is_over = unread_bytes(server), False
    while left and not is_over:
        received = 0
        # Who asks again before the others had their turn hears that there is nothing.
        try:
            while (got := server.recv_into(ROOM)) is not None:
                received += got
        except EmptyRecords:
            is_over = True
        # Of what a turn read nearly all was data, but for the last piece.
        assert left - unread_bytes(server) <= PIECE_BYTES + received * POOR_SHARE // (POOR_SHARE - 1)
        left = unread_bytes(server)
    assert is_over, "it was read to its end"
    close(client, server)


def test_a_byte_does_not_pay_for_piece_after_piece_of_new_keys(tmp_path: Path) -> None:
    """64 connections of whoever did so, at 1.6 MB/s together, kept everybody waiting for 0.6 s at a time."""
    client, server, log = pair(tmp_path)
    records = EndRecords(log)
    parts = pieces_of_keys(records, (1,))
    client.raw.sendall(next(parts))
    assert server.recv_into(ROOM) == 1, "what paid for them is given"
    with pytest.raises(EmptyRecords, match="new keys"):
        server.recv_into(ROOM)
    close(client, server)


@pytest.mark.parametrize(("each", "cut_bytes"), [(1, 1), (1, 4), (1, PIECE_BYTES), (0, 3)])
def test_new_keys_beside_data_are_served_for_as_long_as_it_comes(tmp_path: Path, each: int, cut_bytes: int) -> None:
    """One with each record at most, wherever the reads are cut, and a few on top."""
    client, server, log = pair(tmp_path)
    records, received = EndRecords(log), bytearray()
    flood = bytearray().join(records.key_update() for _ in range(EMPTY_RECORDS_MAX - 1))
    for _ in range(3 * EMPTY_RECORDS_MAX):
        flood += b"".join(records.key_update() for _ in range(each)) + records.data(b"word")
    for start in range(0, len(flood), cut_bytes):
        client.raw.sendall(flood[start : start + cut_bytes])
        while unread_bytes(server):
            received += ROOM[: server.recv_into(ROOM) or 0]
    assert received == b"word" * 3 * EMPTY_RECORDS_MAX
    close(client, server)


def test_records_that_are_padded_to_their_full_size_are_served(tmp_path: Path) -> None:
    """So that nobody sees how long requests are (RFC 8446, 5.4): each held 100 bytes, and the fifth once was an end."""
    client, server, log = pair(tmp_path)
    records, received = EndRecords(log), bytearray()
    for _ in range(200):
        client.raw.sendall(records.data(b"q" * 100, padding_bytes=RECORD_BYTES_MAX - 100))
        while unread_bytes(server):
            received += ROOM[: server.recv_into(ROOM) or 0]
    assert received == b"q" * 20_000
    close(client, server)


@pytest.mark.parametrize("ending", ["goodbye", "alert", "nonsense"])
def test_what_ends_a_connection_in_one_piece_with_data_is_noticed_at_once(tmp_path: Path, ending: str) -> None:
    """All was read of the socket then: who waits for it would wait until the connection is idle for too long."""
    client, server, log = pair(tmp_path)
    records, transport = EndRecords(log), TlsTransport(server)
    data = records.data(b"request")
    ends = {
        "goodbye": lambda: records.alert(1, 0),
        "alert": lambda: records.alert(2, 49),
        "nonsense": lambda: bytes(100),
    }
    client.raw.sendall(data + ends[ending]())
    assert transport.recv_into(ROOM) == len(b"request")
    assert not unread_bytes(server)
    assert select([server.raw], [], [], 0)[0], "readable, so that nobody waits for it"
    for _ in range(3):
        assert transport.recv_into(ROOM) == 0
    assert transport.fault == ("it takes the certificate, but not who has it" if ending == "alert" else "")
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
    while unread_bytes(server):
        received += ROOM[: server.recv_into(ROOM) or 0]
    assert bytes(received) == data
    close(client, server)
