"""Plain sockets as the pump sees them."""

import socket

import pytest
import trio
import trio.testing

from bridge.net.transport import PeerGone, SocketTransport, hear_end, send_all


def pair() -> tuple[SocketTransport, socket.socket]:
    """A transport and the socket at its other end."""
    ours, theirs = socket.socketpair()
    return SocketTransport(ours), theirs


async def test_receiving_tells_nothing_yet_from_bytes_from_the_end() -> None:
    """None, a count, 0."""
    transport, peer = pair()
    buffer = memoryview(bytearray(10))
    assert transport.recv_into(buffer) is None
    peer.sendall(b"abc")
    await transport.wait_readable()
    assert (transport.recv_into(buffer), bytes(buffer[:3])) == (3, b"abc")
    peer.close()
    await transport.wait_readable()
    assert transport.recv_into(buffer) == 0
    transport.close()


@pytest.mark.parametrize("ends_here", [True, False])
async def test_end_is_heard_whatever_is_said_before(autojump_clock: trio.testing.MockClock, *, ends_here: bool) -> None:
    """And whichever side it is at."""
    transport, peer = pair()
    has_ended = trio.Event()

    async def hear() -> None:
        await hear_end(transport)
        has_ended.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(hear)
        peer.sendall(bytes(5_000))
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert not has_ended.is_set()
        (transport if ends_here else peer).close()
        await has_ended.wait()
    transport.close()
    peer.close()


async def test_sending_takes_what_fits_and_all_in_the_end() -> None:
    """A full socket takes 0 and is waited for; nothing is lost."""
    transport, peer = pair()
    data = bytes(4_000_000)
    taken = transport.try_send(data)
    assert 0 < taken < len(data)
    assert transport.try_send(data) == 0
    got = 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(send_all, transport, data[taken:])
        while got < len(data):
            got += len(await trio.to_thread.run_sync(peer.recv, 1 << 20))
    assert got == len(data)
    transport.close()
    peer.close()


async def test_sending_to_nobody_says_so() -> None:
    """A closed peer is PeerGone, not an OSError of some kind."""
    transport, peer = pair()
    peer.close()
    with pytest.raises(PeerGone):
        await send_all(transport, b"x")
    transport.close()


async def test_closed_transport_has_no_descriptor_and_wakes_who_waits() -> None:
    """Closing twice is harmless."""
    transport, peer = pair()
    assert transport.fileno() is not None
    woken: list[type[Exception]] = []

    async def wait() -> None:
        try:
            await transport.wait_readable()
        except PeerGone as error:
            woken.append(type(error))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        transport.close()
        transport.close()
    assert woken == [PeerGone]
    with pytest.raises(PeerGone):
        await transport.wait_writable()
    assert transport.fileno() is None
    peer.close()
