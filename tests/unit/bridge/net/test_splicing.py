"""Moving bytes inside the kernel."""

import os
import socket
import struct

import pytest
import trio

from bridge.net.splicing import FILLS_WITHOUT_CHECKPOINT, Pipes, can_splice, splice
from bridge.net.transport import PeerGone, SocketTransport
from tests.support.longest_turn import LongestTurn
from tests.support.scripted_broker import LOOPBACK


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    """Two connected TCP sockets, as between client and bridge."""
    with socket.create_server((LOOPBACK, 0)) as listening:
        one = socket.create_connection(listening.getsockname())
        return one, listening.accept()[0]


class Ends:
    """A source and a sink, with the sockets behind them."""

    def __init__(self) -> None:
        ours, self.feed = tcp_pair()
        other, self.drain = tcp_pair()
        self.source, self.sink = SocketTransport(ours), SocketTransport(other)

    def close(self) -> None:
        """Close all four."""
        for end in (self.source, self.sink, self.feed, self.drain):
            end.close()


async def read(sock: socket.socket, count: int) -> bytes:
    """Read exactly `count` bytes in a thread."""
    got = bytearray()
    while len(got) < count:
        got += await trio.to_thread.run_sync(sock.recv, 1 << 20)
    return bytes(got)


async def write(sock: socket.socket, data: bytes) -> None:
    """Write everything in a thread."""
    await trio.to_thread.run_sync(sock.sendall, data)


async def test_exactly_the_counted_bytes_move() -> None:
    """What follows the frame stays in the source; the pipe goes back empty."""
    ends, pipes, moved = Ends(), Pipes(), list[int]()
    count, tail = 2_048_000, b"the next frame"
    data = bytes(range(256)) * 8_000
    async with trio.open_nursery() as nursery:
        nursery.start_soon(write, ends.feed, data + tail)
        nursery.start_soon(splice, pipes, ends.source, ends.sink, count, moved.append)
        assert await read(ends.drain, count) == data
    await ends.source.wait_readable()
    left = memoryview(bytearray(100))
    assert ends.source.recv_into(left) == len(tail)
    assert sum(moved) == count
    pipe = pipes.borrow()
    pipes.give_back(pipe, is_empty=True)
    assert pipes.borrow() is pipe
    pipes.give_back(pipe, is_empty=False)
    pipes.close()
    ends.close()


async def test_ends_that_are_both_quick_let_others_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame may have 2 GiB, and neither end ever makes the loop wait."""
    ends, pipes, longest = Ends(), Pipes(), LongestTurn(monkeypatch, os, "splice")
    pipe = pipes.borrow()
    pipe.capacity = 1_000
    pipes.give_back(pipe, is_empty=True)
    count = 3 * FILLS_WITHOUT_CHECKPOINT * pipe.capacity
    await write(ends.feed, bytes(count))
    with longest:
        assert await splice(pipes, ends.source, ends.sink, count, lambda _: None)
    assert 0 < longest.most <= 2 * FILLS_WITHOUT_CHECKPOINT
    pipes.close()
    ends.close()


async def test_source_that_ends_early_is_told() -> None:
    """False, after what came has moved."""
    ends, pipes = Ends(), Pipes()
    ends.feed.sendall(b"abc")
    ends.feed.close()
    assert await splice(pipes, ends.source, ends.sink, 10, lambda _: None) is False
    assert ends.drain.recv(10) == b"abc"
    pipes.close()
    ends.close()


async def test_sink_that_is_gone_raises_and_its_pipe_is_not_used_again() -> None:
    """Bytes left in a pipe must never reach another connection."""
    ends, pipes = Ends(), Pipes()
    ends.feed.sendall(b"abc")
    # A close that resets at once: the first bytes sent to nobody must fail.
    ends.drain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    ends.drain.close()
    with pytest.raises(PeerGone):
        await splice(pipes, ends.source, ends.sink, 3, lambda _: None)
    pipe = pipes.borrow()
    assert can_splice(ends.source, ends.sink)
    ends.source.close()
    assert not can_splice(ends.source, ends.sink)
    pipe.close()
    ends.close()


def test_no_more_pipes_are_lent_than_there_may_be() -> None:
    """Whoever sends half of a large request keeps one: 64 of them had every descriptor that is kept for brokers, the
    journal and the admin API. Who gets none is copied for.
    """
    pipes = Pipes(2)
    assert pipes.can_lend()
    first = pipes.borrow()
    assert pipes.can_lend()
    second = pipes.borrow()
    assert not pipes.can_lend()
    pipes.give_back(first, is_empty=True)
    assert pipes.can_lend()
    assert pipes.borrow() is first
    pipes.give_back(second, is_empty=False)
    assert pipes.can_lend()
    pipes.give_back(first, is_empty=True)
    pipes.close()
