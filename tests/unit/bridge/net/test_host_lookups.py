"""Names of hosts: a resolver that hangs keeps nobody waiting who does not want that name."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import extract_tb

import pytest
import trio
import trio.testing

from bridge.net.broker_connection import connect
from bridge.net.host_lookups import AT_ONCE_MAX, AddressQuestion, Found, HostLookups, NameQuestion
from bridge.ports import BrokerUnreachable
from bridge.session.broker_addresses import Address
from tests.support.scripted_broker import LOOPBACK, ScriptedBroker

WAIT_S = 30
"""For threads, on a machine that is very busy."""


class Resolver:
    """Knows every name; those that begin with `slow` only once it is let."""

    def __init__(self) -> None:
        self.asked: list[bytes | None] = []
        self.let = threading.Event()

    def __call__(self, asked: AddressQuestion) -> Found:
        """Loopback."""
        host, port, *_ = asked
        self.asked.append(host)
        if host is not None and host.startswith(b"slow"):
            assert self.let.wait(WAIT_S)
        if host is not None and host.endswith(b"nobody.test"):
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        assert isinstance(port, int)
        return [(socket.AddressFamily.AF_INET, socket.SocketKind.SOCK_STREAM, 6, "", (LOOPBACK, port))]


@contextmanager
def resolving() -> Iterator[Resolver]:
    """Names go by such a resolver until the end of the block; no thread is left behind."""
    resolver = Resolver()
    before = trio.socket.set_custom_hostname_resolver(HostLookups(resolver))
    try:
        yield resolver
    finally:
        resolver.let.set()
        trio.socket.set_custom_hostname_resolver(before)


async def test_name_that_hangs_is_asked_for_once_and_holds_up_nobody_else() -> None:
    """Forty clients of one broker took all threads that the admin API, and others' brokers, had to wait for."""
    broker = ScriptedBroker()
    with resolving() as resolver, trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            await nursery.start(broker.serve)

            async def fail() -> None:
                with pytest.raises(BrokerUnreachable, match="did not take a connection within"):
                    await connect(Address("slow.test", broker.port), 0.05)

            async with trio.open_nursery() as clients:
                for _ in range(100):
                    clients.start_soon(fail)
            assert resolver.asked == [b"slow.test"]
            (await connect(Address("quick.test", broker.port), WAIT_S)).close()
            assert await trio.to_thread.run_sync(lambda: 7) == 7
            resolver.let.set()
            (await connect(Address("slow.test", broker.port), WAIT_S)).close()
            nursery.cancel_scope.cancel()


async def test_name_that_nobody_knows_is_said_to_all_who_ask_and_asked_again() -> None:
    """As by trio itself."""
    with resolving() as resolver, trio.fail_after(WAIT_S):
        for count in (1, 2):
            with pytest.raises(BrokerUnreachable, match="no such host is known"):
                await connect(Address("nobody.test", 1), WAIT_S)
            assert len(resolver.asked) == count


async def test_error_that_many_hear_leads_each_to_its_own_place_alone() -> None:
    """It is one for all: 10,000 clients that waited for a name kept each other's frames, and whoever showed it showed
    50,000 lines.
    """
    depths = list[int]()
    with resolving() as resolver, trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:

            async def fail() -> None:
                with pytest.raises(BrokerUnreachable) as caught:
                    await connect(Address("slow.nobody.test", 1), WAIT_S)
                cause = caught.value.__cause__
                depths.append(0 if cause is None else len(extract_tb(cause.__traceback__)))

            for _ in range(100):
                nursery.start_soon(fail)
            await trio.testing.wait_all_tasks_blocked()
            resolver.let.set()
    assert len(depths) == 100
    assert 0 < max(depths) <= 2 * min(depths)


async def test_names_that_are_looked_up_at_once_are_bounded() -> None:
    """Each is a thread that may hang; addresses take none."""
    with resolving() as resolver, trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            for number in range(AT_ONCE_MAX):
                nursery.start_soon(trio.socket.getaddrinfo, f"slow{number}.test", 1)
            await trio.testing.wait_all_tasks_blocked()
            with pytest.raises(socket.gaierror):
                await trio.socket.getaddrinfo("quick.test", 1)
            assert await trio.socket.getaddrinfo(LOOPBACK, 1)
            resolver.let.set()
        assert await trio.socket.getaddrinfo("quick.test", 1)


async def test_name_of_an_address_is_asked_of_the_system_as_without_us() -> None:
    """Who asked trio for one heard NotImplementedError: our resolver stands in the place of the system's for both."""
    numeric = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV
    with resolving(), trio.fail_after(WAIT_S):
        assert await trio.socket.getnameinfo((LOOPBACK, 9092), numeric) == (LOOPBACK, "9092")
        with pytest.raises(socket.gaierror):
            await trio.socket.getnameinfo(("no address", 9092), numeric)


async def test_name_of_an_address_that_hangs_is_asked_for_once_and_holds_up_nobody_else() -> None:
    """As names are: in a thread of its own, one for all who want that one."""
    asked, let = list[NameQuestion](), threading.Event()

    def ask(question: NameQuestion) -> tuple[str, str]:
        asked.append(question)
        if question.sockaddr[1] == 1:
            assert let.wait(WAIT_S)
        return "host.test", "service"

    lookups = HostLookups(Resolver(), ask)
    with trio.fail_after(WAIT_S):
        try:
            async with trio.open_nursery() as nursery:
                for _ in range(100):
                    nursery.start_soon(lookups.getnameinfo, (LOOPBACK, 1), 0)
                await trio.testing.wait_all_tasks_blocked()
                assert await lookups.getnameinfo((LOOPBACK, 2), 0) == ("host.test", "service")
                assert await trio.to_thread.run_sync(lambda: 7) == 7
                let.set()
        finally:
            let.set()
    assert sorted(question.sockaddr[1] for question in asked) == [1, 2]
