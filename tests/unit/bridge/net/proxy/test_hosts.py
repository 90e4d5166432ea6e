"""One port for all brokers: which one a client wants is the host that it asks for in TLS."""

import socket
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import trio
import trio.testing

from bridge.net.tls import ClientTls, TlsIdentity
from bridge.session.broker_addresses import Address, HostPattern
from bridge.session.close_reasons import CloseReason
from bridge.wire.apis import ApiKey
from bridge.wire.endpoints import Endpoint, brokers_in
from bridge.wire.frames import response_frame
from tests.support.certificates import Authority
from tests.support.front import Front, running, settings_for
from tests.support.scripted_broker import LOOPBACK, RawClient, ScriptedBroker, request
from tests.support.tls_tunnel import dial_tls

DOMAIN = "kafka.example"
BOOTSTRAP = f"bootstrap.{DOMAIN}"
PATTERN = HostPattern(prefix="b", suffix=f".{DOMAIN}")
ASK_METADATA = request(ApiKey.METADATA, 1, 1, bytes(4))
PATIENCE_S = 60.0


@dataclass(slots=True)
class World:
    """Two brokers of one cluster behind one port."""

    front: Front
    brokers: tuple[ScriptedBroker, ScriptedBroker]
    client: ssl.SSLContext

    async def dial(self, host: str) -> RawClient:
        """A client that asks for this host; closed at the end."""
        self.front.clients.append(await dial_tls(self.front.proxy.bootstrap.port, self.client, host))
        return self.front.clients[-1]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Whose certificate the bridge has."""
    return Authority(tmp_path)


@asynccontextmanager
async def world_of(authority: Authority, pattern: HostPattern = PATTERN) -> AsyncIterator[World]:
    """A certificate for the whole domain, bootstrap at the first broker, the second at a port of its own."""
    tls = ClientTls(identity=TlsIdentity(certificate=authority.pair(f"*.{DOMAIN}")))
    first, second = ScriptedBroker(node_ids=(1,)), ScriptedBroker(node_ids=(1,))
    async with trio.open_nursery() as nursery:
        for broker in (first, second):
            await nursery.start(broker.serve)
        settings = replace(settings_for(first), client_tls=tls, advertised_host=BOOTSTRAP, host_pattern=pattern)
        async with running(settings) as front:
            yield World(front, (first, second), authority.context)
        nursery.cancel_scope.cancel()


async def test_host_leads_to_its_broker_also_one_that_came_later(authority: Authority) -> None:
    """Without a port of its own; answers name hosts and the one port."""
    async with world_of(authority) as world:
        proxy = world.front.proxy
        port = proxy.bootstrap.port
        client = await world.dial(BOOTSTRAP)
        await client.send(ASK_METADATA)
        _, body = await client.answer()
        told = brokers_in(ApiKey.METADATA, 1, response_frame(3, 1, 1, body))
        assert told == (Endpoint(1, f"b1.{DOMAIN}", port),)
        proxy.cluster.learn((Endpoint(22, LOOPBACK, world.brokers[1].port),))
        assert proxy.broker_addresses[22] == Address(f"b22.{DOMAIN}", port)
        for host, broker in ((f"b1.{DOMAIN}", world.brokers[0]), (f"B22.{DOMAIN}", world.brokers[1])):
            before = len(broker.requests)
            named = await world.dial(host)
            await named.send(request(ApiKey.FETCH, 11, 4))
            assert await named.ids(1) == [4]
            assert len(broker.requests) == before + 1
            await trio.aclose_forcefully(named.stream)
        await trio.aclose_forcefully(client.stream)


async def test_session_that_is_taken_up_again_does_not_lead_to_the_broker_of_its_first_host(
    authority: Authority,
) -> None:
    """In TLS 1.2 it has a host of its own, and OpenSSL tells that one."""
    context = authority.context
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    question = request(ApiKey.FETCH, 11, 4)

    def come(port: int, host: str, session: ssl.SSLSession | None) -> tuple[ssl.SSLSession | None, bool | None]:
        sock = socket.create_connection((LOOPBACK, port), PATIENCE_S)
        with context.wrap_socket(sock, server_hostname=host, session=session) as client:
            client.sendall(question)
            assert client.recv(1)
            return client.session, client.session_reused

    async with world_of(authority) as world:
        proxy, session = world.front.proxy, None
        proxy.cluster.learn((Endpoint(22, LOOPBACK, world.brokers[1].port),))
        for host, counts in ((f"b1.{DOMAIN}", (1, 0)), (f"b22.{DOMAIN}", (1, 1)), (f"b1.{DOMAIN}", (2, 1))):
            before = session
            session, is_reused = await trio.to_thread.run_sync(come, proxy.bootstrap.port, host, before)
            assert (is_reused, before is not None) in {(True, True), (False, False)}
            assert tuple(len(broker.requests) for broker in world.brokers) == counts


async def test_session_does_not_let_a_client_in_by_a_host_of_nobody(authority: Authority) -> None:
    """The host of its first handshake is known, the one that it asks for now is not."""
    context = authority.context
    context.maximum_version, context.check_hostname = ssl.TLSVersion.TLSv1_2, False

    def come(port: int, host: str, session: ssl.SSLSession | None) -> ssl.SSLSession | None:
        sock = socket.create_connection((LOOPBACK, port), PATIENCE_S)
        with context.wrap_socket(sock, server_hostname=host, session=session) as client:
            client.sendall(ASK_METADATA)
            assert client.recv(1)
            return client.session

    async with world_of(authority) as world:
        port = world.front.proxy.bootstrap.port
        session = await trio.to_thread.run_sync(come, port, f"b1.{DOMAIN}", None)
        with pytest.raises(ssl.SSLError, match="UNRECOGNIZED_NAME"):
            await trio.to_thread.run_sync(come, port, f"c1.{DOMAIN}", session)
        await ends_with(world, CloseReason.UNKNOWN_HOST)


async def test_port_that_clients_are_told_may_be_a_load_balancers(authority: Authority) -> None:
    """It is in the pattern then."""
    async with world_of(authority, replace(PATTERN, port=443)) as world:
        with trio.fail_after(PATIENCE_S):
            # On a busy machine the bridge serves before a broker has answered.
            while not world.front.proxy.broker_addresses:
                await trio.testing.wait_all_tasks_blocked(0.01)
        assert world.front.proxy.broker_addresses == {1: Address(f"b1.{DOMAIN}", 443)}


async def ends_with(world: World, reason: CloseReason) -> None:
    """Return once one connection was closed for this reason."""
    with trio.fail_after(PATIENCE_S):
        while not world.front.closed(reason):
            await trio.testing.wait_all_tasks_blocked(0.01)
    assert world.front.closed(reason) == 1


async def ending_of(port: int, context: ssl.SSLContext, host: str | None) -> str:
    """What OpenSSL says of the end of a client that asks for this host."""

    def come() -> str:
        with socket.create_connection((LOOPBACK, port), PATIENCE_S) as sock:
            try:
                with context.wrap_socket(sock, server_hostname=host):
                    return "served"
            except OSError as error:
                return str(error)

    return await trio.to_thread.run_sync(come)


@pytest.mark.parametrize(
    ("host", "reason", "seen"),
    [
        (f"c1.{DOMAIN}", CloseReason.UNKNOWN_HOST, f"'c1.{DOMAIN}'"),
        ("b1.elsewhere.example", CloseReason.UNKNOWN_HOST, "'b1.elsewhere.example'"),
        (None, CloseReason.NO_HOST, ""),
        (LOOPBACK, CloseReason.NO_HOST, ""),
    ],
)
async def test_other_hosts_and_none_are_refused_with_a_reason_on_both_sides(
    authority: Authority, host: str | None, reason: CloseReason, seen: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Not served by any broker: a client that means a certain one would be told again and again that it is another."""
    async with world_of(authority) as world:
        context = authority.context
        context.check_hostname = False
        assert "UNRECOGNIZED_NAME" in await ending_of(world.front.proxy.bootstrap.port, context, host)
        await ends_with(world, reason)
    (line,) = [record.message for record in caplog.records if record.message.startswith(reason.code)]
    assert line.endswith(seen)


async def test_host_of_nobody_is_looked_for_and_refused(authority: Authority) -> None:
    """The cluster is asked again: another bridge may have told of a broker that this one has not met."""
    async with world_of(authority) as world:
        world.brokers[0].node_ids = (1, 5)
        there = await world.dial(f"b5.{DOMAIN}")
        await there.send(request(ApiKey.FETCH, 11, 4))
        assert await there.ids(1) == [4]
        nobody = await world.dial(f"b6.{DOMAIN}")
        assert await nobody.is_closed()
        assert world.front.closed(CloseReason.UNKNOWN_BROKER) == 1
        await trio.aclose_forcefully(there.stream)


async def test_host_that_is_no_text_is_refused_without_a_traceback(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's ssl would print one for each such client."""
    heard: list[sys.UnraisableHookArgs] = []
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    hello = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        authority.context.wrap_bio(ssl.MemoryBIO(), hello, server_hostname=f"b1.{DOMAIN}").do_handshake()
    spoilt = hello.read().replace(b"b1.kafka", b"b1.k\xfffka")
    async with world_of(authority) as world:
        client = await world.front.dial()
        await client.stream.send_all(spoilt)
        await ends_with(world, CloseReason.UNKNOWN_HOST)
    assert not [one for one in heard if isinstance(one.exc_value, UnicodeDecodeError)]
