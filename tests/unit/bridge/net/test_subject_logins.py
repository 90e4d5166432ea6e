"""Clients with certificates, for whom the bridge logs in."""

import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import trio

from bridge.log_lines import RateLimitedLog
from bridge.net import client_rights
from bridge.net.broker_connection import connect
from bridge.net.own_login import PasswordFile, TokenFile
from bridge.net.shared import LOG
from bridge.net.subject_logins import SubjectLogin, SubjectLogins, read_subject_logins
from bridge.net.tls import ClientCertificates, ClientTls, TlsIdentity, TlsTrust, TlsUnusable
from bridge.net.transport import SocketTransport
from bridge.session.broker_addresses import Address
from bridge.session.close_reasons import CloseReason
from bridge.wire.apis import ApiKey
from bridge.wire.frames import RequestHeader
from bridge.wire.proxy_protocol import PREFIX_BYTES, read_prefix, read_route
from bridge.wire.sasl import Mechanism
from tests.support.certificates import Authority, written
from tests.support.front import Front, running, settings_for
from tests.support.scripted_broker import LOOPBACK, RawClient, ScriptedBroker, request
from tests.support.tls_tunnel import dial_tls
from tests.unit.bridge.net.test_client_rights import beat

ASK_METADATA = request(ApiKey.METADATA, 1, 1, bytes(4))
TAKEN = b"\x00\x00\x00\x00\x00\x01\x00\x05PLAIN"
REFUSED = b"\x00\x3a\x00\x02no\x00\x00\x00\x00" + bytes(8)


def let_in(lifetime_ms: int = 0) -> bytes:
    """A broker's word on a login."""
    return b"\x00\x00\xff\xff\x00\x00\x00\x00" + lifetime_ms.to_bytes(8, "big")


def test_lines_are_read_in_their_order(tmp_path: Path) -> None:
    """Quotes as in a shell; what stands behind # is for people."""
    word = written(tmp_path / "word", b"a.secret")
    text = f'# who is who\n"CN=orders-*,O=Big Shop" PLAIN orders {word}\n\nCN=x OAUTHBEARER {word} # a token\n'
    assert read_subject_logins(written(tmp_path / "clients", text.encode())) == (
        SubjectLogin("CN=orders-*,O=Big Shop", PasswordFile(Mechanism.PLAIN, "orders", str(word)), 2),
        SubjectLogin("CN=x", TokenFile(str(word)), 4),
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "can't be read: No such file"),
        (b"\xff", "it is no UTF-8"),
        (b"# nobody\n", "has no lines"),
        (b'"CN=x PLAIN u w\n', "line 1 can't be read: No closing quotation"),
        (b"\nCN=x PLAIN u\n", "line 2 has 3 words, or a mechanism in second place that there is not"),
        (b"CN=x s3cret u w\n", "line 1 has 4 words"),
        (b"CN=x OAUTHBEARER u w\n", "line 1 has 4 words"),
        (b"CN=x PLAIN u /nowhere\n", "line 1: /nowhere can't be read"),
    ],
)
def test_file_that_can_not_be_used_is_told_by_its_line(text: bytes | None, told: str, tmp_path: Path) -> None:
    """And never quoted: a password may stand in the wrong place."""
    path = tmp_path / "clients"
    if text is not None:
        path.write_bytes(text)
    with pytest.raises(TlsUnusable) as found:
        read_subject_logins(path)
    assert told in found.value.seen
    assert "s3cret" not in str(found.value)
    assert "SUBJECT MECHANISM USERNAME PASSWORD-FILE" in found.value.allowed


def test_first_line_that_means_a_subject_counts() -> None:
    """Small and capital letters differ; nobody means what is in no line."""
    entries = [
        SubjectLogin(pattern, PasswordFile(Mechanism.PLAIN, name, "p"), 1)
        for pattern, name in (("CN=a*", "1"), ("*", "2"))
    ]
    logins = SubjectLogins((entries[0],), RateLimitedLog(LOG))
    assert logins.find("CN=b") is None
    assert logins.find("cn=abc") is None
    logins.use(tuple(entries))
    names = [found[0] for subject in ("CN=abc", "CN=b") if (found := logins.find(subject)) is not None]
    assert names == ["1", "2"]


@dataclass(slots=True)
class CountingBroker(ScriptedBroker):
    """Counts logins, those that the bridge makes included."""

    logins: int = 0

    async def answer(self, stream: trio.SocketStream, header: RequestHeader) -> None:
        """See ScriptedBroker."""
        self.logins += header.api_key == ApiKey.SASL_AUTHENTICATE
        await ScriptedBroker.answer(self, stream, header)


@pytest.mark.parametrize(
    ("pattern", "subject", "is_meant"),
    [
        ("CN=a[bc]", "CN=a[bc]", True),
        ("CN=a[bc]", "CN=ab", False),
        ("CN=a?", "CN=a?", True),
        ("CN=a?", "CN=ab", False),
        ("CN=a", "CN=a,O=x", False),
        ("CN=a*,O=x", "CN=a\\,O=x,O=x", True),
        ("CN=a,*", "CN=ab,O=x", False),
    ],
)
def test_star_alone_stands_for_anything(pattern: str, subject: str, *, is_meant: bool) -> None:
    """Other signs of a pattern would let in somebody whom the line does not name."""
    entry = SubjectLogin(pattern, TokenFile("p"), 1)
    assert (SubjectLogins((entry,), RateLimitedLog(LOG)).find(subject) is not None) is is_meant


@dataclass(slots=True)
class World:
    """A broker that wants a login, clients with certificates, and a file that says who is who."""

    folder: Path
    broker: CountingBroker
    authority: Authority = field(init=False)

    def __post_init__(self) -> None:
        self.authority = Authority(self.folder)
        written(self.folder / "word", b"word")
        self.write("CN=orders,*", "orders")

    def write(self, pattern: str, name: str) -> None:
        """The file with one line."""
        written(self.folder / "clients", f'"{pattern}" PLAIN {name} {self.folder / "word"}\n'.encode())

    def client(self, name: str) -> ssl.SSLContext:
        """One with a certificate of this common name."""
        context = self.authority.context
        self.authority.authority.issue_cert(common_name=name).configure_cert(context)
        return context

    @asynccontextmanager
    async def front(self, *, is_mapped: bool = True, announces_clients: bool = False) -> AsyncIterator[Front]:
        """A proxy that logs in for its clients."""
        tls = ClientTls(
            identity=TlsIdentity(certificate=self.authority.pair(LOOPBACK, name="bridge")),
            certificates=ClientCertificates.REQUIRED,
            trust=TlsTrust(authorities=self.authority.trust),
            clients=self.folder / "clients" if is_mapped else None,
        )
        async with trio.open_nursery() as nursery:
            await nursery.start(self.broker.serve)
            settings = replace(settings_for(self.broker), client_tls=tls, certificates_watch_ms=20)
            settings = replace(settings, announces_clients=announces_clients)
            async with running(settings) as front:
                yield front
            nursery.cancel_scope.cancel()


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Logins are let in for ever."""
    return World(tmp_path, CountingBroker(bodies={ApiKey.SASL_HANDSHAKE: TAKEN, ApiKey.SASL_AUTHENTICATE: let_in()}))


async def is_served(client: RawClient) -> bool:
    """Whether a request is answered."""
    await client.send(ASK_METADATA)
    return await client.ids(1) == [1]


async def ended(client: RawClient) -> bool:
    """Whether the bridge ends it without an answer."""
    try:
        await client.send(ASK_METADATA)
        return await client.is_closed()
    except trio.BrokenResourceError:
        return True
    finally:
        await trio.aclose_forcefully(client.stream)


async def test_client_is_logged_in_before_its_first_request(world: World) -> None:
    """It knows nothing of it, and one login serves all its requests."""
    async with world.front() as front:
        client = await dial_tls(front.proxy.bootstrap.port, world.client("orders"))
        assert [await is_served(client) for _ in range(3)] == [True] * 3
        await trio.aclose_forcefully(client.stream)
    # The proxy's own question for brokers has no login.
    assert world.broker.logins == 1


async def test_client_is_announced_on_the_connection_that_is_logged_in(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that logs in by itself; the broker here reads no headers, so none is sent."""
    said: list[bytes] = []

    async def recorded(
        address: Address, timeout_s: float, tls: ssl.SSLContext | None, announcement: bytes
    ) -> SocketTransport:
        said.append(announcement)
        return await connect(address, timeout_s, tls)

    monkeypatch.setattr("bridge.net.cluster.connect", recorded)
    async with world.front(announces_clients=True) as front:
        client = await dial_tls(front.proxy.bootstrap.port, world.client("orders"))
        assert await is_served(client)
        await trio.aclose_forcefully(client.stream)
    routes = [read_route(read_prefix(one[:PREFIX_BYTES]), one[PREFIX_BYTES:]) for one in said]
    (route,) = (route for route in routes if route is not None)
    assert (route.source.host, route.destination) == (LOOPBACK, tuple(front.proxy.bootstrap))


async def test_client_in_no_line_is_turned_away_until_there_is_one(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Its subject is in the log, as it has to be written."""
    async with world.front() as front:
        client = await dial_tls(front.proxy.bootstrap.port, world.client("billing"))
        assert await ended(client)
        assert front.closed(CloseReason.NO_KEPT_LOGIN) == 1
        (line,) = (line for line in caplog.messages if line.startswith("EB-NET-207"))
        assert "seen: subject 'CN=billing,OU=Testing cert" in line
        world.write("CN=billing,*", "billing")
        await front.proxy.certificates.read_changed()
        client = await dial_tls(front.proxy.bootstrap.port, world.client("billing"))
        assert await is_served(client)
        await trio.aclose_forcefully(client.stream)
    assert "word" not in caplog.text.replace("password", "")


async def test_login_that_the_broker_refuses_ends_the_clients_connection(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """With the broker's word in the log."""
    world.broker.bodies[ApiKey.SASL_AUTHENTICATE] = REFUSED
    async with world.front() as front:
        assert await ended(await dial_tls(front.proxy.bootstrap.port, world.client("orders")))
        assert front.closed(CloseReason.KEPT_LOGIN_REFUSED) == 1
    (line,) = (line for line in caplog.messages if line.startswith("EB-NET-208"))
    assert "SASL_AUTHENTICATION_FAILED: no" in line


async def test_login_that_runs_out_is_made_again_between_requests(world: World) -> None:
    """On a connection of its own; the client's stays (KIP-368)."""
    world.broker.bodies[ApiKey.SASL_AUTHENTICATE] = let_in(50)
    async with world.front() as front:
        client = await dial_tls(front.proxy.bootstrap.port, world.client("orders"))
        assert await is_served(client)
        before = len(world.broker.streams), world.broker.logins
        with trio.fail_after(30):
            while world.broker.logins < before[1] + 2:
                await trio.sleep(0.01)
                assert await is_served(client)
        assert len(world.broker.streams) >= before[0] + 2
        await trio.aclose_forcefully(client.stream)


async def test_broker_hears_now_and_then_of_each_client_of_a_kept_login(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another connection's answer serves: it would take one that is silent for idle."""
    monkeypatch.setattr(client_rights, "OWN_WORD_MS", 10)
    async with world.front() as front:
        front.groups.beats = []
        clients = [await dial_tls(front.proxy.broker_addresses[1].port, world.client("orders")) for _ in range(2)]
        for client in clients:
            await client.send(beat(5))
            with trio.fail_after(30):
                while not front.groups.submitted:
                    await trio.lowlevel.checkpoint()
            front.groups.submitted.clear()
        world.broker.hangs_up_at = ApiKey.METADATA
        with trio.fail_after(30):
            for client in clients:
                assert await client.is_closed()
                await trio.aclose_forcefully(client.stream)


async def test_without_a_file_it_is_said_that_brokers_see_nothing(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Once, at the start."""
    with caplog.at_level(logging.INFO, LOG.name):
        async with world.front(is_mapped=False):
            pass
    assert len([line for line in caplog.messages if line.startswith("EB-NET-209: clients show certificates")]) == 1
