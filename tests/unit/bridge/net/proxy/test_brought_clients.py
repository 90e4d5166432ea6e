"""Clients whom a load balancer brings: known by their own addresses, here and at the next bridge."""

import ipaddress
from dataclasses import replace
from pathlib import Path

import pytest
import trio
import trio.testing

from bridge.net.tls import ClientTls, TlsIdentity
from bridge.session.balancers import Balancers
from bridge.session.broker_addresses import Address
from bridge.session.close_reasons import CloseReason
from bridge.session.limits import Limits
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import encode_request
from bridge.wire.proxy_protocol import LOCAL_HEADER, Peer, Route, header
from tests.support.certificates import Authority
from tests.support.front import Front, front_of, running, settings_for
from tests.support.scripted_broker import LOOPBACK, RawClient, ScriptedBroker, request
from tests.support.tls_tunnel import dial_tls
from translators.dialects.classic import Heartbeat
from translators.dialects.ids import GroupId, MemberId

ROUTE = Route(Peer("203.0.113.9", 40_000), Peer("10.0.0.2", 9192))
HERE = Balancers(networks=(ipaddress.ip_network("127.0.0.0/8"),), is_required=True)
ELSEWHERE = replace(HERE, networks=(ipaddress.ip_network("10.0.0.0/8"),))
ASK_METADATA = request(ApiKey.METADATA, 1, 1, bytes(4))
BEAT = encode_request(ApiKey.HEARTBEAT, 3, 2, "c", Heartbeat(GroupId("embedded-x"), 1, MemberId("m"), None))
PATIENCE_S = 60.0


async def host_of(front: Front, client: RawClient) -> str:
    """Where the client is known to come from, by those who answer for groups."""
    before = len(front.groups.submitted)
    await client.send(BEAT)
    with trio.fail_after(PATIENCE_S):
        while len(front.groups.submitted) == before:
            await trio.testing.wait_all_tasks_blocked(0.01)
    return front.groups.submitted[-1][3].client_host


async def ends_with(front: Front, reason: CloseReason) -> None:
    """Return once one connection was closed for this reason."""
    with trio.fail_after(PATIENCE_S):
        while not front.closed(reason):
            await trio.testing.wait_all_tasks_blocked(0.01)
    assert front.closed(reason) == 1


async def test_client_is_known_by_the_address_that_is_said(caplog: pytest.LogCaptureFixture) -> None:
    """Members' hosts, and logs."""
    broker = ScriptedBroker()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        async with running(replace(settings_for(broker), balancers=HERE)) as front:
            client = await front.dial()
            await client.send(header(ROUTE), ASK_METADATA)
            assert await client.ids(1) == [1]
            assert await host_of(front, client) == ROUTE.source.host
            bad = await front.dial()
            await bad.send(header(ROUTE), b"GET / HTTP/1.1\r\n\r\n")
            assert await bad.is_closed()
            assert f"of {ROUTE.source.host} " in caplog.text
            own = await front.dial()
            await own.send(LOCAL_HEADER)
            assert await host_of(front, own) == LOOPBACK
        nursery.cancel_scope.cancel()


async def test_nobody_else_comes_in_where_a_header_is_required() -> None:
    """Neither without one nor from elsewhere."""
    broker = ScriptedBroker()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        async with running(replace(settings_for(broker), balancers=HERE)) as front:
            client = await front.dial()
            await client.send(ASK_METADATA)
            assert await client.is_closed()
            await ends_with(front, CloseReason.BAD_ANNOUNCEMENT)
        async with running(replace(settings_for(broker), balancers=ELSEWHERE)) as front:
            assert await (await front.dial()).is_closed()
            await ends_with(front, CloseReason.NOT_BROUGHT)
        nursery.cancel_scope.cancel()


async def test_others_come_in_where_headers_are_optional() -> None:
    """From a balancer without a word, and from elsewhere; there a header is not believed."""
    broker = ScriptedBroker()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        for balancers in (HERE, ELSEWHERE):
            optional = replace(settings_for(broker), balancers=replace(balancers, is_required=False))
            async with running(optional) as front:
                assert await host_of(front, await front.dial()) == LOOPBACK
                if balancers is ELSEWHERE:
                    forged = await front.dial()
                    await forged.send(header(ROUTE), ASK_METADATA)
                    assert await forged.is_closed()
                    await ends_with(front, CloseReason.PROXY_HEADER)
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("start", [header(ROUTE), b"PROXY TCP4 203.0.113.9 10.0.0.2 1 2\r\n"])
async def test_header_that_nobody_reads_is_named(start: bytes) -> None:
    """Where the key is off."""
    async with front_of(ScriptedBroker()) as front:
        client = await front.dial()
        await client.send(start)
        assert await client.is_closed()
        await ends_with(front, CloseReason.PROXY_HEADER)


async def test_new_connections_are_counted_by_whom_they_bring() -> None:
    """Not by the balancer, whose address is everybody's."""
    broker = ScriptedBroker()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        settings = replace(settings_for(broker, Limits(new_connections_max=1)), balancers=HERE)
        async with running(settings) as front:
            for number in range(5):
                client = await front.dial()
                await client.send(header(replace(ROUTE, source=Peer(f"203.0.113.{number}", 1))), ASK_METADATA)
                assert await client.ids(1) == [1]
            for _ in range(20):
                client = await front.dial()
                await client.send(header(ROUTE), ASK_METADATA)
            with trio.fail_after(PATIENCE_S):
                while not front.closed(CloseReason.TOO_MANY_NEW_CONNECTIONS):
                    await trio.testing.wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()


async def test_open_connections_are_counted_by_whom_they_bring() -> None:
    """A balancer has as many as it brings, and who comes by it no more than others."""
    broker = ScriptedBroker()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        settings = replace(settings_for(broker, Limits(address_connections_max=1)), balancers=HERE)
        async with running(settings) as front:
            clients = [await front.dial() for _ in range(5)]
            for number, client in enumerate(clients):
                await client.send(header(replace(ROUTE, source=Peer(f"203.0.113.{number}", 1))), ASK_METADATA)
                assert await client.ids(1) == [1]
            again = await front.dial()
            await again.send(header(replace(ROUTE, source=Peer("203.0.113.4", 1))), ASK_METADATA)
            assert await again.is_closed()
            await clients[4].stream.aclose()
            await trio.testing.wait_all_tasks_blocked(0.01)
            again = await front.dial()
            await again.send(header(replace(ROUTE, source=Peer("203.0.113.4", 1))), ASK_METADATA)
            assert await again.ids(1) == [1]
        nursery.cancel_scope.cancel()


async def test_clients_that_say_nothing_are_counted_as_anybody() -> None:
    """Also in a network that is believed: it may be everybody's, as that of a Kubernetes cluster is."""
    broker = ScriptedBroker()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        optional = replace(HERE, is_required=False)
        settings = replace(settings_for(broker, Limits(new_connections_max=1)), balancers=optional)
        async with running(settings) as front:
            for _ in range(20):
                client = await front.dial()
                await client.send(ASK_METADATA)
            with trio.fail_after(PATIENCE_S):
                while not front.closed(CloseReason.TOO_MANY_NEW_CONNECTIONS):
                    await trio.testing.wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()


async def test_header_comes_before_tls(tmp_path: Path) -> None:
    """In plain bytes; a port with TLS that reads none names it."""
    authority, broker = Authority(tmp_path), ScriptedBroker()
    tls = ClientTls(identity=TlsIdentity(certificate=authority.pair(LOOPBACK)))
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        settings = replace(settings_for(broker), client_tls=tls)
        async with running(replace(settings, balancers=HERE)) as front:
            client = await dial_tls(front.proxy.bootstrap.port, authority.context, first=header(ROUTE))
            assert await host_of(front, client) == ROUTE.source.host
            await trio.aclose_forcefully(client.stream)
        async with running(settings) as front:
            client = await front.dial()
            await client.send(header(ROUTE))
            assert await client.is_closed()
            await ends_with(front, CloseReason.PROXY_HEADER)
        nursery.cancel_scope.cancel()


async def test_what_one_bridge_hears_the_next_one_hears_from_it() -> None:
    """From the first balancer to the bridge that is before the brokers; its own questions bring nobody."""
    broker = ScriptedBroker()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        async with running(replace(settings_for(broker), balancers=HERE)) as inner:
            outer_settings = replace(
                settings_for(broker),
                rules=(),
                bootstrap=(Address(LOOPBACK, inner.proxy.bootstrap.port),),
                balancers=replace(HERE, is_required=False),
                announces_clients=True,
            )
            async with running(outer_settings) as outer:
                client = await outer.dial()
                await client.send(header(ROUTE))
                assert await host_of(inner, client) == ROUTE.source.host
                plain = await outer.dial()
                assert await host_of(inner, plain) == LOOPBACK
                assert inner.closed(CloseReason.BAD_ANNOUNCEMENT) == 0
        nursery.cancel_scope.cancel()


async def test_broker_that_reads_no_headers_is_told_as_such() -> None:
    """Kafka itself."""
    broker = ScriptedBroker()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        async with running(replace(settings_for(broker), balancers=ELSEWHERE)) as inner:
            settings = replace(settings_for(broker), bootstrap=(Address(LOOPBACK, inner.proxy.bootstrap.port),))
            async with running(replace(settings, announces_clients=True)) as outer:
                assert "upstream.proxy-protocol is v2" in outer.proxy.why_not_ready
        nursery.cancel_scope.cancel()
