"""TLS with clients, by real sockets: what passes is what it was without, and each failure has a reason, told once."""

import socket
import ssl
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import trio
import trio.testing

from bridge.net.client_handshakes import Handshakes
from bridge.net.tls import ClientCertificates, ClientTls, TlsIdentity, TlsTrust, client_context
from bridge.net.tls_transport import TlsTransport, shake_hands
from bridge.session.close_reasons import CloseReason
from bridge.session.limits import Limits
from bridge.session.requests import Rejected
from bridge.wire.apis import ApiKey
from bridge.wire.proxy_protocol import SIGNATURE
from tests.support.certificates import Authority, key_store, store_word
from tests.support.front import Front, running, settings_for
from tests.support.key_updates import EndRecords, logging_context
from tests.support.scripted_broker import LOOPBACK, RawClient, ScriptedBroker, request
from tests.support.tls_tunnel import dial_tls

ASK_METADATA = request(ApiKey.METADATA, 1, 1, bytes(4))
ANSWER = bytes(range(256)) * 4_000
"""A megabyte, and so many records."""
AT_ONCE = 300
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class World:
    """Whom both sides trust, and the files that the bridge has of it."""

    authority: Authority

    def tls(self, certificates: ClientCertificates = ClientCertificates.NONE, *, is_expired: bool = False) -> ClientTls:
        """What the bridge is told."""
        trust = None if certificates is ClientCertificates.NONE else TlsTrust(authorities=self.authority.trust)
        identity = TlsIdentity(certificate=self.authority.pair(LOOPBACK, is_expired=is_expired, name="bridge"))
        return ClientTls(identity=identity, certificates=certificates, trust=trust)

    def client(self, signer: Authority | None = None, *, is_expired: bool = False) -> ssl.SSLContext:
        """A client with a certificate of its own."""
        context = self.authority.context
        (signer or self.authority).issue("client", is_expired=is_expired).configure_cert(context)
        return context

    @asynccontextmanager
    async def front(
        self, tls: ClientTls, broker: ScriptedBroker | None = None, limits: Limits | None = None
    ) -> AsyncIterator[Front]:
        """A proxy with TLS before a broker without."""
        broker = broker or ScriptedBroker()
        async with trio.open_nursery() as nursery:
            await nursery.start(broker.serve)
            async with running(replace(settings_for(broker, limits), client_tls=tls)) as front:
                yield front
            nursery.cancel_scope.cancel()


@pytest.fixture
def world(tmp_path: Path) -> World:
    """One authority."""
    return World(Authority(tmp_path))


async def is_served(client: RawClient) -> bool:
    """Whether it is answered; at its end the client says nothing more."""
    try:
        await client.send(ASK_METADATA)
        return await client.ids(1) == [1]
    except (EOFError, trio.BrokenResourceError):
        return False
    finally:
        await trio.aclose_forcefully(client.stream)


async def end_of(port: int, context: ssl.SSLContext) -> str:
    """What OpenSSL says of the end of a client that sends a request at once: trio's own would keep back its alerts."""

    def come() -> str:
        with socket.create_connection((LOOPBACK, port), PATIENCE_S) as sock:
            try:
                with context.wrap_socket(sock, server_hostname=LOOPBACK) as client:
                    client.sendall(ASK_METADATA)
                    return f"{len(client.recv(1))} bytes"
            except OSError as error:
                return str(error)

    return await trio.to_thread.run_sync(come)


async def is_closed_for(front: Front, reason: CloseReason) -> None:
    """Return once one connection was closed for this reason."""
    with trio.fail_after(PATIENCE_S):
        while not front.closed(reason):
            await trio.testing.wait_all_tasks_blocked(0.01)
    assert front.closed(reason) == 1


def lines_of(caplog: pytest.LogCaptureFixture, reason: CloseReason) -> list[str]:
    """What the log says of it."""
    return [record.message for record in caplog.records if record.message.startswith(reason.code)]


async def test_large_requests_and_answers_pass_unchanged(world: World) -> None:
    """Also those that the kernel would move between plain connections, to a client that reads late."""
    broker = ScriptedBroker(bodies={ApiKey.FETCH: ANSWER, ApiKey.PRODUCE: b"taken"})
    async with world.front(world.tls(), broker) as front:
        client = await dial_tls(front.proxy.bootstrap.port, world.authority.context)
        await client.send(request(ApiKey.PRODUCE, 3, 1, ANSWER), *(request(ApiKey.FETCH, 4, n) for n in range(2, 9)))
        assert await client.answer() == (1, b"taken")
        for number in range(2, 9):
            assert await client.answer() == (number, ANSWER)
        assert broker.requests[0][2] == len(request(ApiKey.PRODUCE, 3, 1, ANSWER))
        await trio.aclose_forcefully(client.stream)


async def test_ports_of_brokers_have_tls_too(world: World) -> None:
    """Whatever clients are told leads there."""
    async with world.front(world.tls()) as front:
        (address,) = front.proxy.broker_addresses.values()
        assert await is_served(await dial_tls(address.port, world.authority.context))


@pytest.mark.parametrize("certificates", [ClientCertificates.REQUESTED, ClientCertificates.REQUIRED])
async def test_clients_with_a_certificate_are_served(world: World, certificates: ClientCertificates) -> None:
    """Where one is wished for, and where it is wanted."""
    async with world.front(world.tls(certificates)) as front:
        assert await is_served(await dial_tls(front.proxy.bootstrap.port, world.client()))
        assert not front.proxy.statistics().closed.get(CloseReason.NO_CERTIFICATE)


async def test_clients_without_one_are_served_where_it_is_not_required(world: World) -> None:
    """Requested means that one that is shown must be good."""
    async with world.front(world.tls(ClientCertificates.REQUESTED)) as front:
        assert await is_served(await dial_tls(front.proxy.bootstrap.port, world.authority.context))
        foreign = world.client(Authority(world.authority.folder, "foreign"))
        assert "ALERT" in await end_of(front.proxy.bootstrap.port, foreign)
        await is_closed_for(front, CloseReason.CERTIFICATE_REFUSED)


@pytest.mark.parametrize(
    ("kind", "reason", "seen"),
    [
        ("none", CloseReason.NO_CERTIFICATE, ""),
        ("foreign", CloseReason.CERTIFICATE_REFUSED, "nobody that is trusted"),
        ("expired", CloseReason.CERTIFICATE_REFUSED, "it has expired"),
    ],
)
async def test_wrong_client_certificate_ends_its_connection_and_no_other(
    world: World, caplog: pytest.LogCaptureFixture, kind: str, reason: CloseReason, seen: str
) -> None:
    """The client hears an alert, also where it sent its first request before; the log has one line with the cause."""
    contexts = {
        "none": world.authority.context,
        "foreign": world.client(Authority(world.authority.folder, "foreign")),
        "expired": world.client(is_expired=True),
    }
    async with world.front(world.tls(ClientCertificates.REQUIRED)) as front:
        other = await dial_tls(front.proxy.bootstrap.port, world.client())
        assert "ALERT" in await end_of(front.proxy.bootstrap.port, contexts[kind])
        await is_closed_for(front, reason)
        assert await is_served(other)
    (line,) = lines_of(caplog, reason)
    assert seen in line


async def test_certificate_that_the_client_refuses_is_told(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """By the client's own word: it is expired, or signed by somebody else."""
    async with world.front(world.tls(is_expired=True)) as front:
        assert "certificate has expired" in await end_of(front.proxy.bootstrap.port, world.authority.context)
        await is_closed_for(front, CloseReason.CERTIFICATE_NOT_TRUSTED)
    assert lines_of(caplog, CloseReason.CERTIFICATE_NOT_TRUSTED)


async def test_old_version_of_tls_is_told(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Both sides hear that there is none in common."""
    context = world.authority.context
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    async with world.front(replace(world.tls(), version_min="TLSv1.3")) as front:
        assert "VERSION" in await end_of(front.proxy.bootstrap.port, context)
        await is_closed_for(front, CloseReason.NO_TLS)
    assert "listen.tls.version.min" in lines_of(caplog, CloseReason.NO_TLS)[0]


@pytest.mark.parametrize("data", [ASK_METADATA, b"GET / HTTP/1.1\r\n\r\n"])
async def test_plain_bytes_are_closed_without_an_answer(
    world: World, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    """An alert would be taken for an answer of 352 MB. Who comes again and again is counted, and told once."""
    async with world.front(world.tls()) as front:
        for _ in range(3):
            plain = await front.dial()
            with suppress(trio.BrokenResourceError):
                await plain.send(data)
            assert await plain.is_closed()
        assert front.closed(CloseReason.PLAIN_ON_TLS_PORT) == 3
        assert await is_served(await dial_tls(front.proxy.bootstrap.port, world.authority.context))
    told, counted = lines_of(caplog, CloseReason.PLAIN_ON_TLS_PORT)
    assert counted.startswith(told)
    assert "1 times more" in counted


async def test_who_goes_before_there_is_tls_is_nobodys_business(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Load balancers look whether a port is open, every second."""
    async with world.front(world.tls()) as front:
        for data in (b"", b"\x16\x03\x01\x00"):
            client = await front.dial()
            await client.send(data)
            await client.stream.send_eof()
            assert await client.is_closed()
        assert front.proxy.statistics().closed == {CloseReason.CLIENT_GONE: 2}
    assert not lines_of(caplog, CloseReason.CLIENT_GONE)


async def test_who_says_nothing_is_closed_in_time(world: World) -> None:
    """Others are served meanwhile."""
    async with world.front(world.tls(), limits=Limits(handshake_time_max_ms=200)) as front:
        silent = await front.dial()
        with trio.fail_after(PATIENCE_S):
            assert await silent.is_closed()
        assert front.closed(CloseReason.SLOW_HANDSHAKE) == 1


async def test_more_than_are_allowed_at_once_are_closed(world: World) -> None:
    """Who has TLS counts no more, and places that are free again are taken."""
    async with world.front(world.tls(), limits=Limits(handshakes_max=2)) as front:
        served = await dial_tls(front.proxy.bootstrap.port, world.authority.context)
        # They are accepted in the order in which they come.
        silent = [await front.dial() for _ in range(2)]
        with trio.fail_after(PATIENCE_S):
            assert await (await front.dial()).is_closed()
        assert front.closed(CloseReason.TOO_MANY_HANDSHAKES) == 1
        await silent[0].stream.send_eof()
        await is_closed_for(front, CloseReason.CLIENT_GONE)
        assert await is_served(served)
        assert await is_served(await dial_tls(front.proxy.bootstrap.port, world.authority.context))


async def test_many_at_once_are_all_served_and_keep_nobody_waiting(world: World) -> None:
    """Others have their turn every few steps, not behind all of them."""
    async with world.front(world.tls()) as front:
        port, context = front.proxy.bootstrap.port, world.authority.context
        other = await dial_tls(port, context)
        served: list[bool] = []

        async def come() -> None:
            served.append(await is_served(await dial_tls(port, context)))

        async with trio.open_nursery() as nursery:
            for _ in range(AT_ONCE):
                nursery.start_soon(come)
            assert await is_served(other)
        assert served == [True] * AT_ONCE


async def test_steps_of_handshakes_come_in_turns(world: World) -> None:
    """A hundred hellos that are there already: whoever else runs is served between every few of them."""
    ends: list[tuple[socket.socket, socket.socket]] = []
    for _ in range(100):
        ours, theirs = socket.socketpair()
        hello = ssl.MemoryBIO()
        with suppress(ssl.SSLWantReadError):
            world.authority.context.wrap_bio(ssl.MemoryBIO(), hello, server_hostname=LOOPBACK).do_handshake()
        theirs.send(hello.read())
        ends.append((ours, theirs))
    handshakes = Handshakes(client_context(world.tls()), Limits())
    passes = 0
    async with trio.open_nursery() as nursery:
        for ours, _ in ends:
            nursery.start_soon(handshakes.shake, ours)
        while any(not _has_answer(theirs) for _, theirs in ends):
            passes += 1
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert passes >= 25
    assert handshakes.under_way == 0
    for ours, theirs in ends:
        assert ours.fileno() == -1
        theirs.close()


def _has_answer(end: socket.socket) -> bool:
    end.setblocking(False)
    with suppress(BlockingIOError):
        return bool(end.recv(1, socket.MSG_PEEK))
    return False


async def test_context_that_is_put_in_place_counts_for_who_comes_then(world: World) -> None:
    """Who is here goes on with what there was."""
    other = Authority(world.authority.folder, "other")
    handshakes = Handshakes(client_context(world.tls()), Limits())
    first = await _meet(handshakes, world.authority.context)
    handshakes.use(client_context(World(other).tls()))
    second = await _meet(handshakes, other.context)
    third = await _meet(handshakes, world.authority.context)
    assert isinstance(third, Rejected)
    assert third.reason is CloseReason.CERTIFICATE_NOT_TRUSTED
    for transport in (first, second):
        assert isinstance(transport, TlsTransport)
        assert transport.try_send(b"still here") == 10
        transport.close()


async def _meet(handshakes: Handshakes, context: ssl.SSLContext) -> TlsTransport | Rejected:
    ours, theirs = socket.socketpair()

    def greet() -> None:
        with suppress(OSError), context.wrap_socket(theirs, server_hostname=LOOPBACK) as client:
            client.recv(1)

    thread = threading.Thread(target=greet)
    thread.start()
    found = await handshakes.shake(ours)
    if isinstance(found, Rejected):
        await trio.to_thread.run_sync(thread.join)
    return found


async def test_key_store_of_java_serves_as_well(world: World, tmp_path: Path) -> None:
    """PKCS#12, with a password in a file."""
    store = key_store(tmp_path, world.authority.issue(LOOPBACK))
    identity = TlsIdentity(certificate=store, password=store_word(tmp_path))
    async with world.front(ClientTls(identity=identity)) as front:
        assert await is_served(await dial_tls(front.proxy.bootstrap.port, world.authority.context))


async def test_client_that_sends_nothing_but_new_keys_is_ended_and_named(world: World, tmp_path: Path) -> None:
    """It needs no login for that, and is nobody's ordinary end."""
    async with world.front(world.tls()) as front:
        sock = socket.create_connection((LOOPBACK, front.proxy.bootstrap.port))
        client = await shake_hands(sock, logging_context(world.authority.context, tmp_path / "secrets"), LOOPBACK)
        records = EndRecords(tmp_path / "secrets")
        while not front.closed(CloseReason.EMPTY_RECORDS):
            # It may be reset while it still sends.
            with suppress(OSError):
                client.socket.send(b"".join(records.key_update() for _ in range(100)))
            await trio.testing.wait_all_tasks_blocked(0.01)
        client.close()
        assert [one for one in CloseReason if front.closed(one)] == [CloseReason.EMPTY_RECORDS]


async def test_balancer_before_a_port_with_tls_is_told_of_its_header(world: World) -> None:
    """In either version, and not that a client lacks its TLS."""
    async with world.front(world.tls()) as front:
        for number, start in enumerate((SIGNATURE, b"PROXY TCP4 203.0.113.9 10.0.0.1 40000 9092\r\n"), 1):
            client = await front.dial()
            await client.send(start)
            assert await client.is_closed()
            assert front.closed(CloseReason.PROXY_HEADER) == number
