"""What whoever started the bridge reads, and what a service manager hears by datagrams of its own socket."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import trio
import trio.testing

from bridge.app.service_notices import ServiceNotices, announce
from bridge.wire.apis import ApiKey
from tests.support.front import Front, running, settings_for
from tests.support.ports import free_port
from tests.support.scripted_broker import ScriptedBroker

NOW_US = 1_234_567


@contextmanager
def manager(name: str) -> Iterator[socket.socket]:
    """A socket under this name, `@` for the abstract ones."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(f"\0{name[1:]}" if name.startswith("@") else name)
        listener.setblocking(False)
        yield listener


def notices(name: str) -> ServiceNotices:
    """Notices to that socket, at a time that stands still."""
    return ServiceNotices({"NOTIFY_SOCKET": name}, lambda: NOW_US)


@pytest.mark.parametrize("is_abstract", [False, True])
def test_notices_are_what_systemd_reads(tmp_path: Path, is_abstract: bool) -> None:
    """One datagram each, a line for each variable."""
    name = f"@{tmp_path}" if is_abstract else str(tmp_path / "notify")
    with manager(name) as listener:
        told = notices(name)
        told.ready("clients a:1,\nbrokers 1@2")
        told.reloading()
        told.stopping(3_000)
        heard = [listener.recv(4096).decode().split("\n") for _ in range(3)]
    assert heard == [
        ["READY=1", "STATUS=clients a:1, brokers 1@2"],
        ["RELOADING=1", f"MONOTONIC_USEC={NOW_US}", "STATUS=reading the configuration again"],
        ["STOPPING=1", "EXTEND_TIMEOUT_USEC=13000000", "STATUS=draining"],
    ]


def test_who_waits_for_a_cluster_asks_the_manager_to_wait_on(tmp_path: Path) -> None:
    """No reload is told before READY=1, and the end of one does not make the bridge ready."""
    with manager(str(tmp_path / "notify")) as listener:
        told = notices(str(tmp_path / "notify"))
        told.waiting("no broker")
        told.reloading()
        told.reloaded("read again")
        told.ready("clients")
        told.reloaded("read again")
        heard = [listener.recv(4096).decode().split("\n") for _ in range(4)]
    assert heard == [
        ["STATUS=no broker", "EXTEND_TIMEOUT_USEC=120000000"],
        ["STATUS=read again"],
        ["READY=1", "STATUS=clients"],
        ["READY=1", "STATUS=read again"],
    ]


@pytest.mark.parametrize("text", ["\ud800", "x" * 1_000_000, "é" * 1_000_000])
def test_whatever_the_status_the_manager_hears_that_it_is_ready(tmp_path: Path, text: str) -> None:
    """A datagram has a length, and text of a file need not be Unicode; without READY=1 the manager ends the bridge."""
    with manager(str(tmp_path / "notify")) as listener:
        notices(str(tmp_path / "notify")).ready(text)
        assert listener.recv(65_536).decode().startswith("READY=1\nSTATUS=")


def test_nobody_is_told_without_a_manager(caplog: pytest.LogCaptureFixture) -> None:
    """Started by hand or in a container: no socket, no line."""
    ServiceNotices({}, lambda: NOW_US).ready("all")
    assert caplog.messages == []


def test_manager_that_is_gone_is_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The bridge goes on."""
    with caplog.at_level(logging.WARNING):
        notices(str(tmp_path / "gone")).stopping(0)
    (line,) = caplog.messages
    assert line.startswith(
        f"EB-SERVICE-001: the service manager at NOTIFY_SOCKET={tmp_path / 'gone'} could not be told STOP"
    )
    assert "No such file or directory" in line


def test_manager_that_hangs_is_not_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its socket is full, which is one line until it takes notices again; each was a second for all clients."""
    name = str(tmp_path / "notify")
    with manager(name) as listener, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
        stranger.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                stranger.sendto(b"x", name)
        told = notices(name)
        with caplog.at_level(logging.WARNING):
            assert not any(told.ready("all") for _ in range(3))
        (line,) = caplog.messages
        assert "could not be told READY=1 (Resource temporarily unavailable)" in line
        with suppress(BlockingIOError):
            while True:
                listener.recv(16)
        assert told.ready("all")
        assert listener.recv(4096) == b"READY=1\nSTATUS=all"


ADMIN = "127.0.0.1:9190"


@dataclass
class Told(ServiceNotices):
    """What a terminal shows and a service manager hears."""

    lines: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    untaken: int = 0
    """So many notices at first."""

    def waiting(self, why: str) -> None:
        """Not yet."""
        self.heard.append(f"waiting: {why}")

    def ready(self, status: str) -> bool:
        """Now; whether it was taken."""
        self.heard.append(f"ready: {status}")
        return len(self.heard) > self.untaken

    async def announce(self, front: Front) -> None:
        """What is tested."""
        await announce(front.proxy, ADMIN, self.lines.append, self)


async def test_cluster_that_answers_makes_it_ready_at_once() -> None:
    """One line, the manager hears the same."""
    broker, told = ScriptedBroker(), Told()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        async with running(settings_for(broker)) as front:
            await told.announce(front)
            place, port = front.proxy.bootstrap, front.proxy.broker_addresses[1].port
        nursery.cancel_scope.cancel()
    assert told.lines == [f"epochbridge ready: clients {place}, brokers 1@{port}, admin {ADMIN}"]
    assert told.heard == [f"ready: {told.lines[0]}"]


async def test_nothing_is_ready_before_a_broker_has_answered(autojump_clock: trio.testing.MockClock) -> None:
    """Each reason is a line, once; the manager hears of every look, and of the end."""
    broker, told = ScriptedBroker(port=free_port()), Told()
    async with trio.open_nursery() as nursery, running(settings_for(broker)) as front:
        nursery.start_soon(told.announce, front)
        await trio.sleep(5)
        assert len(told.lines) == 1
        assert told.lines[0].startswith(f"epochbridge waits: clients {front.proxy.bootstrap}, admin {ADMIN}; the clust")
        assert "nobody listens there: start the broker, or correct host and port" in told.lines[0]
        assert len(told.heard) > 2
        broker.hangs_up_at, broker.hangs_up_too = ApiKey.METADATA, ApiKey.SASL_HANDSHAKE
        await nursery.start(broker.serve)
        await trio.sleep(5)
        assert "EB-NET-202" in told.lines[1]
        broker.hangs_up_at = None
        await trio.sleep(5)
        assert told.lines[2:] == [told.heard[-1].removeprefix("ready: ")]
        assert told.lines[2].startswith("epochbridge ready: ")
        nursery.cancel_scope.cancel()
    assert all(one.startswith("waiting: the cluster can't be worked with: ") for one in told.heard[:-1])


async def test_manager_hears_although_nobody_reads_standard_output() -> None:
    """The terminal, or what collects the lines, may be gone."""
    broker, told = ScriptedBroker(), Told()

    def refuse(_: str) -> None:
        raise BrokenPipeError

    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        async with running(settings_for(broker)) as front:
            await announce(front.proxy, ADMIN, refuse, told)
        nursery.cancel_scope.cancel()
    assert [one.partition(":")[0] for one in told.heard] == ["ready"]


async def test_manager_that_took_nothing_is_told_again(autojump_clock: trio.testing.MockClock) -> None:
    """It would end a bridge that it has not heard of; unless that ends anyway."""
    broker, told, hung = ScriptedBroker(), Told(untaken=2), Told(untaken=1_000)
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        async with running(settings_for(broker)) as front:
            await told.announce(front)
            nursery.start_soon(hung.announce, front)
            await trio.sleep(5)
            await front.proxy.drain(0)
            await trio.sleep(2)
            count = len(hung.heard)
            await trio.sleep(5)
        nursery.cancel_scope.cancel()
    assert (len(told.lines), len(told.heard)) == (1, 3)
    assert 5 <= count == len(hung.heard)


async def test_bridge_that_ends_before_says_nothing_more(autojump_clock: trio.testing.MockClock) -> None:
    """A cluster that comes while the bridge drains makes nobody ready."""
    broker, told = ScriptedBroker(port=free_port()), Told()
    async with trio.open_nursery() as nursery, running(settings_for(broker)) as front:
        nursery.start_soon(told.announce, front)
        await trio.sleep(2)
        await front.proxy.drain(0)
        await nursery.start(broker.serve)
        await trio.sleep(3)
        nursery.cancel_scope.cancel()
    assert [line.partition(":")[0] for line in told.lines] == ["epochbridge waits"]
