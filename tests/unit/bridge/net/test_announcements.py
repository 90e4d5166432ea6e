"""What a balancer says is heard in pieces of any size, to its last byte and not beyond."""

import socket
from collections.abc import Iterator

import pytest
import trio
import trio.testing

from bridge.net.announcements import Heard, announce, hear
from bridge.session.close_reasons import CloseReason
from bridge.session.requests import Rejected
from bridge.wire.proxy_protocol import LOCAL_HEADER, SIGNATURE, Peer, Route, header, read_prefix, read_route

ROUTE = Route(Peer("203.0.113.9", 40_000), Peer("10.0.0.2", 9192))
BEHIND = b"\x00\x00\x00\x10what follows"
LIMIT_S = 30.0


@pytest.fixture(name="ends")
def _ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The bridge's end and the balancer's."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize("is_required", [True, False])
@pytest.mark.parametrize("step", [1, 5, 16, 1_000])
async def test_header_is_taken_and_nothing_behind_it(
    ends: tuple[socket.socket, socket.socket], step: int, is_required: bool
) -> None:
    """However it comes."""
    ours, theirs = ends
    data = header(ROUTE) + BEHIND
    heard: list[Heard | Rejected] = []

    async def listen() -> None:
        heard.append(await hear(ours, LIMIT_S, is_required=is_required))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(listen)
        for start in range(0, len(data), step):
            theirs.send(data[start : start + step])
            await trio.testing.wait_all_tasks_blocked()
    assert heard == [Heard(ROUTE)]
    assert ours.recv(100) == BEHIND


@pytest.mark.parametrize("data", [BEHIND, b"\x16\x03\x01 a hello"])
async def test_without_a_header_nothing_is_taken_where_none_is_required(
    ends: tuple[socket.socket, socket.socket], data: bytes
) -> None:
    """Kafka's requests and hellos of TLS begin otherwise."""
    ends[1].send(data)
    assert await hear(ends[0], LIMIT_S, is_required=False) == Heard(None, is_said=False)
    assert ends[0].recv(100) == data


async def test_balancer_s_own_look_is_heard(ends: tuple[socket.socket, socket.socket]) -> None:
    """LOCAL."""
    ends[1].send(LOCAL_HEADER)
    assert await hear(ends[0], LIMIT_S, is_required=True) == Heard(None)


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (BEHIND, "no header: 00"),
        (b"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n", "a header of version 1"),
        (b"PROXY", "no header: 50"),
        (SIGNATURE + b"\x21\x11\x00\x02zz", "2 bytes of addresses, not 12"),
    ],
)
async def test_other_words_are_refused_with_what_was_seen(
    ends: tuple[socket.socket, socket.socket], data: bytes, seen: str
) -> None:
    """Also where fewer bytes come than a header has."""
    ends[1].send(data)
    rejected = await hear(ends[0], LIMIT_S, is_required=True)
    assert isinstance(rejected, Rejected)
    assert rejected.reason is CloseReason.BAD_ANNOUNCEMENT
    assert rejected.detail.startswith(seen)


async def test_silence_ends(ends: tuple[socket.socket, socket.socket], autojump_clock: trio.testing.MockClock) -> None:
    """In the middle, too."""
    del autojump_clock
    ends[1].send(SIGNATURE)
    assert await hear(ends[0], LIMIT_S, is_required=False) == Rejected(CloseReason.SLOW_ANNOUNCEMENT, "")


@pytest.mark.parametrize("data", [b"", SIGNATURE])
async def test_end_before_the_header_s_is_one(ends: tuple[socket.socket, socket.socket], data: bytes) -> None:
    """As balancers look whether a port is open."""
    ends[1].send(data)
    ends[1].close()
    rejected = await hear(ends[0], LIMIT_S, is_required=True)
    assert isinstance(rejected, Rejected)
    assert rejected.reason is CloseReason.CLIENT_GONE


def test_clients_are_announced_as_they_came() -> None:
    """By a balancer's word, else by the connection itself; who has gone is nobody."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        accepted, peer = server.accept()
        with accepted:
            said = announce(accepted, None)
        assert read_route(read_prefix(said[:16]), said[16:]) == Route(Peer(*peer), Peer(*server.getsockname()))
        assert client.getsockname() == peer
    with socket.socket() as nobody:
        assert announce(nobody, ROUTE) == header(ROUTE)
        assert announce(nobody, None) == LOCAL_HEADER
