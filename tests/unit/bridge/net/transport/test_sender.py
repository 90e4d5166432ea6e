"""Sending without waiting."""

import socket

import trio
import trio.testing

from bridge.net.transport import Sender, SocketTransport, Spawn
from bridge.supervision import SENDER, Task, Work


def spawn_in(nursery: trio.Nursery) -> Spawn:
    """Tasks without a guard: what they raise fails the test."""

    def spawn(task: Task, work: Work) -> None:
        assert task is SENDER
        nursery.start_soon(work)

    return spawn


async def test_what_does_not_fit_is_drained_in_order() -> None:
    """Nothing is lost or reordered, and the drained sender holds nothing."""
    ours, theirs = socket.socketpair()
    transport, events = SocketTransport(ours), list[str]()
    data = bytes(range(256)) * 16_000
    async with trio.open_nursery() as nursery:
        sender = Sender(transport, spawn_in(nursery), lambda: events.append("drained"), lambda: events.append("gone"))
        sender.send_nowait(data)
        assert sender.unsent_bytes > 0
        sender.send_nowait(b"behind")
        got = bytearray()
        while len(got) < len(data) + 6:
            got += await trio.to_thread.run_sync(theirs.recv, 1 << 20)
    assert bytes(got) == data + b"behind"
    assert (sender.unsent_bytes, events) == (0, ["drained"])
    transport.close()
    theirs.close()


async def test_peer_that_is_gone_is_told_once_and_takes_nothing() -> None:
    """What is sent afterwards goes nowhere and is not kept."""
    ours, theirs = socket.socketpair()
    transport, events = SocketTransport(ours), list[str]()
    theirs.close()
    async with trio.open_nursery() as nursery:
        sender = Sender(transport, spawn_in(nursery), lambda: events.append("drained"), lambda: events.append("gone"))
        sender.send_nowait(b"x")
        sender.send_nowait(b"y")
    assert (events, sender.unsent_bytes) == (["gone"], 0)
    transport.close()


async def test_transport_that_is_closed_while_something_waits_to_be_sent_is_no_news() -> None:
    """A broker half-closes, is taken for gone and closed here while a request still waits: that ended the process."""
    ours, theirs = socket.socketpair()
    transport, events = SocketTransport(ours), list[str]()
    async with trio.open_nursery() as nursery:
        sender = Sender(transport, spawn_in(nursery), lambda: events.append("drained"), lambda: events.append("gone"))
        sender.send_nowait(bytes(4_000_000))
        await trio.testing.wait_all_tasks_blocked()
        sender.stop()
        transport.close()
        sender.send_nowait(b"more")
    assert (events, sender.unsent_bytes) == ([], 0)
    theirs.close()


async def test_transport_that_breaks_while_something_waits_to_be_sent_is_told() -> None:
    """The other end reset the connection."""
    ours, theirs = socket.socketpair()
    transport, events = SocketTransport(ours), list[str]()
    async with trio.open_nursery() as nursery:
        sender = Sender(transport, spawn_in(nursery), lambda: events.append("drained"), lambda: events.append("gone"))
        sender.send_nowait(bytes(4_000_000))
        await trio.testing.wait_all_tasks_blocked()
        theirs.close()
    assert (events, sender.unsent_bytes) == (["gone"], 0)
    transport.close()
