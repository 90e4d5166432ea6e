"""Certificates whose files change under connections: those stay, new ones get the new; wrong files change nothing."""

import logging
import ssl
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
import trio

from bridge.net.tls import (
    BrokerTls,
    CertificateFiles,
    ClientTls,
    TlsFile,
    TlsIdentity,
    TlsTrust,
    TlsUnusable,
    client_context,
)
from bridge.session.broker_addresses import Address
from bridge.wire.apis import ApiKey
from tests.support.certificates import Authority
from tests.support.front import running
from tests.support.scripted_broker import LOOPBACK, RawClient, ScriptedBroker, request
from tests.support.tls_tunnel import dial_tls, front_of_tls, front_settings

ASK_METADATA = request(ApiKey.METADATA, 1, 1, bytes(4))
PATIENCE_S = 60.0


@dataclass(slots=True)
class Side:
    """A file with a certificate, and what was put in place of what it came to first."""

    path: Path
    put: list[ssl.SSLContext] = field(default_factory=list)

    def files(self) -> CertificateFiles[ssl.SSLContext]:
        """As they are now."""
        make = partial(client_context, self.tls())
        return CertificateFiles("listen.tls", frozenset({self.path}), make, self.put.append)

    def tls(self) -> ClientTls:
        """What the bridge is told."""
        return ClientTls(identity=TlsIdentity(certificate=self.path))


@pytest.fixture
def side(tmp_path: Path) -> Side:
    """One that can be used."""
    return Side(Authority(tmp_path).pair(LOOPBACK))


async def test_what_has_not_changed_is_not_read(side: Side) -> None:
    """However often it is looked at."""
    files = side.files()
    assert [await files.look(), await files.look(is_ready=True)] == ["", ""]
    assert side.put == []


async def test_changed_file_is_read_once_it_stands_still(side: Side, tmp_path: Path) -> None:
    """A certificate and its key are two files, and the one comes before the other."""
    files = side.files()
    Authority(tmp_path).pair(LOOPBACK)
    assert await files.look() == ""
    assert "new connections" in await files.look()
    assert (await files.look(), len(side.put)) == ("", 1)


async def test_somebody_who_says_so_has_it_read_at_once(side: Side, tmp_path: Path) -> None:
    """SIGHUP."""
    files = side.files()
    Authority(tmp_path).pair(LOOPBACK)
    assert await files.look(is_ready=True)
    assert len(side.put) == 1


async def test_wrong_file_changes_nothing_and_is_told_once(side: Side, caplog: pytest.LogCaptureFixture) -> None:
    """With the key that names it; once it is right again it counts."""
    files, good = side.files(), side.path.read_bytes()
    for wrong in (b"", None, b"hello"):
        caplog.clear()
        side.path.unlink(missing_ok=True)
        if wrong is not None:
            side.path.write_bytes(wrong)
        for _ in range(4):
            await files.look()
        (line,) = [record for record in caplog.records if record.levelno == logging.ERROR]
        assert "EB-NET-068" in line.message
        assert "listen.tls.certificate.path" in line.message
        assert str(side.path) in line.message
    assert side.put == []
    side.path.write_bytes(good)
    assert await files.look(is_ready=True)
    assert len(side.put) == 1


async def test_file_that_could_not_be_read_is_tried_again(side: Side, caplog: pytest.LogCaptureFixture) -> None:
    """When its rights were mended, or somebody says so: what it holds has not changed meanwhile."""
    may_read = [False]

    def make() -> ssl.SSLContext:
        if not may_read[0]:
            raise TlsUnusable(TlsFile.CERTIFICATE, "permission denied", "a file that the bridge may read")
        return client_context(side.tls())

    files = CertificateFiles("listen.tls", frozenset({side.path}), make, side.put.append)
    side.path.write_bytes(side.path.read_bytes() + b"\n")
    assert "permission denied" in await files.look(is_ready=True)
    assert await files.look() == ""
    may_read[0] = True
    assert "new connections" in await files.look(is_ready=True)
    assert len(side.put) == 1
    side.path.chmod(0o640)
    assert [await files.look(), bool(await files.look())] == ["", True]


async def is_served(client: RawClient) -> bool:
    """Whether it is answered."""
    await client.send(ASK_METADATA)
    return await client.ids(1) == [1]


async def dial_until(address: Address, context: ssl.SSLContext) -> RawClient:
    """A client, once the certificate is one that it trusts."""
    with trio.fail_after(PATIENCE_S):
        while True:
            try:
                return await dial_tls(address.port, context)
            except trio.BrokenResourceError:
                await trio.sleep(0.02)


async def test_connections_live_on_under_another_certificate(side: Side, tmp_path: Path) -> None:
    """Many times over; who comes then sees the new one."""
    broker = ScriptedBroker()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        async with running(front_settings(broker, side.tls(), certificates_watch_ms=20)) as front:
            clients: list[RawClient] = []
            for number in range(4):
                authority = Authority(tmp_path, f"next-{number}")
                side.path.write_bytes(authority.pair(LOOPBACK).read_bytes())
                clients.append(await dial_until(front.proxy.bootstrap, authority.context))
                assert [await is_served(client) for client in clients] == [True] * len(clients)
            for client in clients:
                await trio.aclose_forcefully(client.stream)
        nursery.cancel_scope.cancel()


async def test_authorities_of_brokers_are_read_again_too(tmp_path: Path) -> None:
    """A broker that nobody vouched for is let in at the next try."""
    ours, foreign = Authority(tmp_path, "ours"), Authority(tmp_path, "foreign")
    trust = tmp_path / "trust.pem"
    trust.write_bytes(foreign.trust.read_bytes())
    tls = BrokerTls(trust=TlsTrust(authorities=trust))
    async with front_of_tls(ScriptedBroker(), ours.server(LOOPBACK), tls) as front:
        assert "EB-NET-045" in front.proxy.why_not_ready
        trust.write_bytes(ours.trust.read_bytes())
        (sentence,) = await front.proxy.certificates.read_changed()
        assert sentence.startswith("upstream.tls")
        assert await front.proxy.cluster.refresh()
        assert front.proxy.is_ready
