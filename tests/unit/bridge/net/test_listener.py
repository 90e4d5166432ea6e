"""Listening and accepting."""

import socket

import pytest
import trio

from bridge.net.listener import CannotListen, accept_from, bound_port, listen
from bridge.session.broker_addresses import Address
from tests.support.scripted_broker import LOOPBACK


def never(_sock: socket.socket, error: OSError) -> bool:
    """Every connection can be accepted."""
    raise AssertionError(error)


async def test_connections_are_handed_over_with_their_host() -> None:
    """Several that came at once are all taken."""
    listening = listen(Address(LOOPBACK, 0))
    port, taken, all_taken = bound_port(listening), list[tuple[socket.socket, str]](), trio.Event()

    def take(sock: socket.socket, host: str) -> None:
        taken.append((sock, host))
        if len(taken) == len(clients):
            all_taken.set()

    clients = [socket.create_connection((LOOPBACK, port)) for _ in range(5)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(accept_from, listening, take, never)
        await all_taken.wait()
        nursery.cancel_scope.cancel()
    assert [host for _, host in taken] == [LOOPBACK] * 5
    for sock in [listening, *clients, *(one for one, _ in taken)]:
        sock.close()


def test_taken_port_and_unknown_host_say_what_to_do() -> None:
    """A code, the address, the likely cause."""
    taken = r"EB-NET-020: can't listen on 127\.0\.0\.1:\d+: .*another process"
    with listen(Address(LOOPBACK, 0)) as listening, pytest.raises(CannotListen, match=taken):
        listen(Address(LOOPBACK, bound_port(listening)))
    with pytest.raises(CannotListen, match="EB-NET-020"):
        listen(Address("no such host", 0))
    # No resolver is ever asked for these: Python itself says that no name is like that, and not by an OSError.
    for host in ("a..b", "a" * 64):
        with pytest.raises(CannotListen, match=r"EB-NET-020: .*; name an address of this machine"):
            listen(Address(host, 0))


def test_address_of_another_machine_is_not_called_taken() -> None:
    """Nobody else has that port; the address is what is wrong (192.0.2.0/24 is nobody's)."""
    with pytest.raises(CannotListen, match=r"EB-NET-020: .* no interface of this machine has that address"):
        listen(Address("192.0.2.1", 9192))


def test_port_beyond_the_last_says_how_to_count_lower() -> None:
    """Ports of brokers are counted up from the bootstrap's."""
    with pytest.raises(CannotListen, match=r"EB-NET-020: .*65536: .*listen\.ports\.first"):
        listen(Address(LOOPBACK, 65_536))


async def test_connection_that_nobody_takes_is_closed() -> None:
    """What goes wrong with it is the caller's to tell; the listener stays open."""
    listening = listen(Address(LOOPBACK, 0))

    def take(_sock: socket.socket, _host: str) -> None:
        raise ValueError("a bug")

    with listening, socket.create_connection((LOOPBACK, bound_port(listening))) as client:
        with pytest.raises(ValueError, match="a bug"):
            await accept_from(listening, take, never)
        assert listening.fileno() >= 0
        assert await trio.to_thread.run_sync(client.recv, 1) == b""
