"""The host of a hello is what stands in it, whole or in pieces, in both versions of TLS."""

import socket
import ssl

import pytest
import trio

from bridge.net import client_hello
from bridge.net.client_hello import NO_NAME, HelloReader, PartialHello

HOST = "b1.kafka.example"
LOOPBACK = "127.0.0.1"
PATIENCE_S = 60.0


def hello(host: str | None, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> bytes:
    """What a client begins with."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = version
    said = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), said, server_hostname=host)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return said.read()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("host", [HOST, None])
def test_host_is_the_one_that_is_asked_for(version: ssl.TLSVersion, host: str | None) -> None:
    """Of part of a hello nothing is said."""
    reader, data = HelloReader(), hello(host, version)
    assert reader.read(data) == host
    for size in (1, 5, len(data) - 1):
        with pytest.raises(PartialHello):
            reader.read(data[:size])


def test_what_is_no_hello_or_no_ascii_names_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    """The handshake itself says what is wrong."""
    reader = HelloReader()
    assert reader.read(b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00") == NO_NAME
    assert reader.read(hello(HOST).replace(HOST.encode(), b"b\xff.kafka.example")) == NO_NAME
    assert capsys.readouterr().err == ""


def pair_of_sockets(family: socket.AddressFamily) -> tuple[socket.socket, socket.socket]:
    """Of TCP, or of a kind that knows no least number of bytes to be readable."""
    if family is socket.AF_UNIX:
        return socket.socketpair()
    with socket.create_server((LOOPBACK, 0)) as listener:
        end = socket.create_connection(listener.getsockname())
        return end, listener.accept()[0]


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_UNIX])
async def test_hello_may_come_in_pieces_and_is_left_where_it_is(
    family: socket.AddressFamily, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy on the way may cut it anywhere."""
    monkeypatch.setattr(client_hello, "STILL_MAX", 1_000_000)
    data, (end, client) = hello(HOST), pair_of_sockets(family)
    heard = list[str | None]()

    async def peek() -> None:
        heard.append(await HelloReader().peek(client))

    with end, client, trio.fail_after(PATIENCE_S):
        client.setblocking(False)
        async with trio.open_nursery() as nursery:
            end.sendall(data[:7])
            nursery.start_soon(peek)
            for start, stop in ((7, 60), (60, len(data))):
                await trio.sleep(2 * client_hello.STILL_S)
                assert heard == []
                end.sendall(data[start:stop])
        assert heard == [HOST]
        assert client.recv(len(data) + 1) == data


async def test_hello_that_ends_or_has_no_end_names_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever hangs up in the middle is not waited for, and no more is looked at than a limit."""
    monkeypatch.setattr(client_hello, "HELLO_BYTES_MAX", 50)
    for data, hangs_up in ((hello(HOST)[:40], True), (hello(HOST), False)):
        end, client = socket.socketpair()
        with end, client, trio.fail_after(PATIENCE_S):
            client.setblocking(False)
            end.sendall(data)
            if hangs_up:
                end.shutdown(socket.SHUT_WR)
            assert await HelloReader().peek(client) == NO_NAME


def records(message: bytes, size: int) -> bytes:
    """A handshake message cut into many records."""
    parts = [message[start : start + size] for start in range(0, len(message), size)]
    return b"".join(b"\x16\x03\x01" + len(part).to_bytes(2) + part for part in parts)


class Dripping(socket.socket):
    """Byte by byte comes what it is to say; it is readable where the least number of bytes has come."""

    said = b""
    come_bytes = 1
    least_bytes = 1

    def recv(self, size: int, _: int = 0, /) -> bytes:
        """What has come, left where it is."""
        return self.said[: min(size, self.come_bytes)]

    def setsockopt(self, *values: object) -> None:
        """Only of the least number of bytes."""
        assert isinstance(values[2], int)
        self.least_bytes = values[2]

    async def wait(self, _: socket.socket) -> None:
        """In place of trio's."""
        await trio.lowlevel.checkpoint()
        self.come_bytes = max(self.come_bytes + 1, self.least_bytes)


@pytest.mark.parametrize(
    ("said", "host", "looks_max"),
    [
        (hello(HOST), HOST, 1),
        (records(b"\x01" + (3_000).to_bytes(3) + bytes(3_000), 1), NO_NAME, client_hello.LOOKS_MAX),
    ],
    ids=["one record", "a record for each byte"],
)
async def test_looks_do_not_grow_with_the_pieces(
    said: bytes, host: str, looks_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look has OpenSSL read all that came: one at every byte would be the square of what a stranger sends."""
    looks = list[int]()
    read = HelloReader.read

    def counted(self: HelloReader, data: bytes) -> str | None:
        looks.append(len(data))
        return read(self, data)

    monkeypatch.setattr(HelloReader, "read", counted)
    with Dripping() as client, trio.fail_after(PATIENCE_S):
        client.said = said
        monkeypatch.setattr(trio.lowlevel, "wait_readable", client.wait)
        assert await HelloReader().peek(client) == host
    assert len(looks) <= looks_max
