"""TLS to brokers, by real sockets: what is relayed arrives as it was, and each kind of refusal has its sentence."""

import socket
import ssl
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from bridge.net.broker_connection import connect, exchange
from bridge.net.tls import BrokerTls, TlsIdentity, TlsTrust, broker_context
from bridge.net.tls_transport import shake_hands
from bridge.ports import BrokerUnreachable
from bridge.session.broker_addresses import Address
from bridge.wire.apis import ApiKey
from tests.support.certificates import Authority, key_store, store_word, trust_store, written
from tests.support.key_updates import OF_SERVER, EndRecords, logging_context
from tests.support.ports import free_port
from tests.support.scripted_broker import LOOPBACK, ScriptedBroker, request
from tests.support.tls_tunnel import front_of_tls, tunnel

ANSWER = bytes(range(256)) * 4_000
"""A megabyte, and so many records."""


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Whom bridge and broker trust."""
    return Authority(tmp_path)


def trusting(authority: Authority) -> BrokerTls:
    """Brokers of this authority."""
    return BrokerTls(trust=TlsTrust(authorities=authority.trust))


async def told(context: ssl.SSLContext, tls: BrokerTls, host: str = LOOPBACK) -> str:
    """What is said of a broker with this context, when it is asked for Metadata once."""
    async with trio.open_nursery() as nursery:
        broker = ScriptedBroker()
        await nursery.start(broker.serve)
        port: int = await nursery.start(tunnel, context, broker.port)
        with pytest.raises(BrokerUnreachable) as found:
            await ask_once(Address(host, port), broker_context(tls))
        nursery.cancel_scope.cancel()
    return str(found.value)


async def test_broker_that_sends_nothing_but_new_keys_is_told_apart_from_one_that_refuses(
    authority: Authority, tmp_path: Path
) -> None:
    """It was the bridge that ended it; the broker's certificates have nothing to do with it."""
    context, log = logging_context(authority.server(LOOPBACK), tmp_path / "secrets"), tmp_path / "secrets"

    async def flood(stream: trio.SocketStream) -> None:
        server = await shake_hands(socket.socket(fileno=stream.socket.detach()), context, None)
        records = EndRecords(log, OF_SERVER)
        try:
            while True:
                await server.wait_writable()
                # It may be reset while it still sends.
                with suppress(OSError):
                    server.socket.send(b"".join(records.key_update() for _ in range(100)))
        finally:
            server.close()

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, flood, 0)
        with pytest.raises(BrokerUnreachable) as found:
            await ask_once(Address(LOOPBACK, listeners[0].socket.getsockname()[1]), broker_context(trusting(authority)))
        nursery.cancel_scope.cancel()
    assert str(found.value).startswith("EB-NET-069: the bridge ended its connection to the broker: it sends records")


async def ask_once(address: Address, context: ssl.SSLContext) -> None:
    """Connect, ask for Metadata, and go: with TLS 1.3 a broker refuses a certificate behind the handshake."""
    transport = await connect(address, 5, context)
    try:
        await exchange(transport, request(ApiKey.METADATA, 1, 1), 1_000)
    finally:
        transport.close()


async def test_large_requests_and_answers_pass_unchanged(authority: Authority) -> None:
    """Also those that the kernel would move between plain connections."""
    broker = ScriptedBroker(bodies={ApiKey.FETCH: ANSWER, ApiKey.PRODUCE: b"taken"})
    async with front_of_tls(broker, authority.server(LOOPBACK), trusting(authority)) as front:
        client = await front.dial()
        await client.send(request(ApiKey.PRODUCE, 3, 1, ANSWER), request(ApiKey.FETCH, 4, 2))
        assert await client.answer() == (1, b"taken")
        assert await client.answer() == (2, ANSWER)
        assert [size for key, _, size in broker.requests if key == ApiKey.PRODUCE] == [
            len(request(ApiKey.PRODUCE, 3, 1, ANSWER))
        ]
        assert front.proxy.is_ready


async def test_bytes_of_every_length_arrive(authority: Authority) -> None:
    """Around the size of a record, one answer behind the other on one connection."""
    async with trio.open_nursery() as nursery:
        broker = ScriptedBroker()
        await nursery.start(broker.serve)
        port: int = await nursery.start(tunnel, authority.server(LOOPBACK), broker.port)
        transport = await connect(Address(LOOPBACK, port), 5, broker_context(trusting(authority)))
        for number, size in enumerate((0, 1, 16_375, 16_376, 16_377, 16_384, 32_768, 65_535, 300_000)):
            broker.bodies[ApiKey.FETCH] = bytes([number]) * size
            frame = await exchange(transport, request(ApiKey.FETCH, 4, number, bytes(size)), 1_000_000)
            assert frame[8:] == broker.bodies[ApiKey.FETCH]
        transport.close()
        nursery.cancel_scope.cancel()


async def test_certificates_that_are_not_accepted_are_told_apart(authority: Authority, tmp_path: Path) -> None:
    """Expired, of another host, of another authority: each has another remedy."""
    tls = trusting(authority)
    assert "it has expired; renew it" in await told(authority.server(LOOPBACK, is_expired=True), tls)
    assert f"names other hosts than '{LOOPBACK}'" in await told(authority.server("kafka-1"), tls)
    foreign = await told(Authority(tmp_path).server(LOOPBACK), tls)
    assert foreign.startswith(f"EB-NET-045: the certificate of {LOOPBACK}:")
    assert "add the authority that signed it" in foreign
    assert "upstream.tls.trust.path" in await told(authority.server(LOOPBACK), BrokerTls())
    leaf = authority.authority.create_child_ca().issue_cert(LOOPBACK)
    alone = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    alone.load_cert_chain(
        written(tmp_path / "alone.pem", leaf.private_key_pem.bytes() + leaf.cert_chain_pems[0].bytes())
    )
    assert "have the broker send the certificates in between" in await told(alone, tls)


async def test_host_is_not_looked_at_where_that_is_wanted(authority: Authority) -> None:
    """Its authority still is."""
    tls = BrokerTls(trust=TlsTrust(authorities=authority.trust), verifies_hostname=False)
    broker = ScriptedBroker(bodies={ApiKey.FETCH: b"here"})
    async with front_of_tls(broker, authority.server("elsewhere"), tls) as front:
        client = await front.dial()
        await client.send(request(ApiKey.FETCH, 4, 1))
        assert await client.answer() == (1, b"here")


async def test_brokers_that_want_a_certificate_get_the_bridges(authority: Authority, tmp_path: Path) -> None:
    """As PEM in one file, as PKCS#12; and the sentence for who has none names the key."""
    context = authority.server(LOOPBACK, wants_certificate=True)
    as_pem = TlsIdentity(certificate=authority.pair("bridge"))
    store = TlsIdentity(certificate=key_store(tmp_path, authority.issue("bridge")), password=store_word(tmp_path))
    for identity in (as_pem, store):
        tls = BrokerTls(trust=TlsTrust(authorities=authority.trust), identity=identity)
        async with front_of_tls(ScriptedBroker(bodies={ApiKey.FETCH: b"here"}), context, tls) as front:
            client = await front.dial()
            await client.send(request(ApiKey.FETCH, 4, 1))
            assert await client.answer() == (1, b"here")
    refused = await told(context, trusting(authority))
    assert refused.startswith("EB-NET-046: the broker refused the connection in TLS: it wants a certificate; see")
    assert "upstream.tls.certificate.path" in refused


async def test_foreign_certificate_of_the_bridge_is_told(authority: Authority, tmp_path: Path) -> None:
    """In the words of the broker's alert."""
    stranger = Authority(tmp_path, "stranger")
    tls = BrokerTls(
        trust=TlsTrust(authorities=authority.trust), identity=TlsIdentity(certificate=stranger.pair("bridge"))
    )
    refused = await told(authority.server(LOOPBACK, wants_certificate=True), tls)
    assert "EB-NET-046" in refused
    assert "it does not trust who signed the certificate" in refused


async def test_authorities_come_out_of_a_java_store(authority: Authority) -> None:
    """Which holds no key."""
    trust = TlsTrust(authorities=trust_store(authority), password=store_word(authority.folder))
    async with front_of_tls(ScriptedBroker(), authority.server(LOOPBACK), BrokerTls(trust=trust)) as front:
        assert front.proxy.is_ready


async def test_listener_without_tls_is_told_from_one_that_is_not_there(authority: Authority) -> None:
    """Kafka reads a TLS hello as a huge request and hangs up; others answer."""

    async def hang_up(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.aclose()

    async def answer(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await stream.aclose()

    context = broker_context(trusting(authority))
    for serve in (hang_up, answer):
        async with trio.open_nursery() as nursery:
            listeners = await nursery.start(trio.serve_tcp, serve, 0)
            with pytest.raises(BrokerUnreachable, match=r"EB-NET-044.*upstream.tls: false"):
                await connect(Address(LOOPBACK, listeners[0].socket.getsockname()[1]), 5, context)
            nursery.cancel_scope.cancel()
    with pytest.raises(BrokerUnreachable, match="nobody listens there"):
        await connect(Address(LOOPBACK, free_port()), 5, context)


async def test_listener_that_takes_connections_and_says_nothing_is_left(authority: Authority) -> None:
    """Within the time for one attempt."""

    async def hang(stream: trio.SocketStream) -> None:
        await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, hang, 0)
        with pytest.raises(BrokerUnreachable, match="EB-NET-047"):
            await connect(
                Address(LOOPBACK, listeners[0].socket.getsockname()[1]), 1.0, broker_context(trusting(authority))
            )
        nursery.cancel_scope.cancel()


async def test_reason_is_told_to_who_asks_for_readiness(authority: Authority) -> None:
    """Also after the first look, where the log is silent."""
    tls = trusting(authority)
    async with front_of_tls(ScriptedBroker(), authority.server(LOOPBACK, is_expired=True), tls) as front:
        assert not front.proxy.is_ready
        assert "it has expired; renew it at the broker" in front.proxy.why_not_ready
