"""The keys of TLS: what cannot be meant is a fault that names the key."""

from dataclasses import replace
from pathlib import Path

import pytest

from bridge.app.tls import admin_tls, broker_tls, client_tls
from bridge.config.configuration import Config
from bridge.config.faults import ConfigError, Fault
from bridge.config.keys import Settings
from bridge.net.tls import BrokerTls, ClientCertificates, ClientTls, TlsIdentity, TlsTrust
from tests.support.certificates import Authority, written


def fault_of(settings: Settings) -> Fault:
    """The only one."""
    with pytest.raises(ConfigError) as found:
        _ = (broker_tls(settings), client_tls(settings), admin_tls(settings))
    (fault,) = found.value.faults
    return fault


def test_brokers_are_spoken_to_as_configured(tmp_path: Path) -> None:
    """Without TLS by default."""
    authority = Authority(tmp_path)
    trust, pair = authority.trust, authority.pair("bridge")
    settings = replace(
        Config().settings,
        upstream_tls=True,
        upstream_tls_trust_path=str(trust),
        upstream_tls_certificate_path=str(pair),
        upstream_tls_verify_hostname=False,
        upstream_tls_version_min="TLSv1.3",
    )
    assert broker_tls(Settings()) is None
    assert broker_tls(settings) == BrokerTls(
        trust=TlsTrust(authorities=trust),
        identity=TlsIdentity(certificate=pair),
        verifies_hostname=False,
        version_min="TLSv1.3",
    )


def test_files_that_nothing_reads_are_refused(tmp_path: Path) -> None:
    """Who names them takes TLS for on."""
    path = str(tmp_path / "file")
    for settings in (
        Settings(upstream_tls_trust_path=path),
        Settings(upstream_tls=True, upstream_tls_trust_password_path=path),
        Settings(upstream_tls=True, upstream_tls_key_path=path),
        Settings(upstream_tls=True, upstream_tls_password_path=path),
        Settings(listen_tls_certificate_path=path),
        Settings(listen_tls=True, listen_tls_key_path=path),
        Settings(listen_tls=True, listen_tls_certificate_path=path, listen_tls_trust_path=path),
    ):
        fault = fault_of(settings)
        assert path in fault.seen
        assert "beside it" in fault.allowed


@pytest.mark.parametrize("auth", ["requested", "required"])
def test_certificates_that_nobody_asks_for_are_refused(auth: str) -> None:
    """Whoever wrote `required` believed that nobody came without one, and the port was open to all, in the clear."""
    for settings, side in (
        (Settings(listen_tls_client_auth=auth), "listen.tls"),
        (Settings(admin_tls_client_auth=auth), "admin.tls"),
    ):
        fault = fault_of(settings)
        assert (fault.key, fault.allowed) == (f"{side}.client.auth", f"{side}: true beside it")
        assert auth in fault.seen


def test_file_that_can_not_be_used_is_named_by_its_key(tmp_path: Path) -> None:
    """Before anything is connected to."""
    text = str(written(tmp_path / "text.pem", b"hello"))
    assert fault_of(Settings(upstream_tls=True, upstream_tls_trust_path=text)).key == "upstream.tls.trust.path"
    fault = fault_of(Settings(upstream_tls=True, upstream_tls_certificate_path=text))
    assert fault.key == "upstream.tls.certificate.path"
    assert text in fault.seen


def test_clients_are_spoken_to_as_configured(tmp_path: Path) -> None:
    """Without TLS by default."""
    authority = Authority(tmp_path)
    trust, pair = authority.trust, authority.pair("bridge")
    settings = Settings(
        listen_tls=True,
        listen_tls_certificate_path=str(pair),
        listen_tls_client_auth="required",
        listen_tls_trust_path=str(trust),
        listen_tls_version_min="TLSv1.3",
    )
    assert client_tls(Settings()) is None
    assert client_tls(settings) == ClientTls(
        identity=TlsIdentity(certificate=pair),
        certificates=ClientCertificates.REQUIRED,
        trust=TlsTrust(authorities=trust),
        version_min="TLSv1.3",
    )


def test_logins_for_clients_want_certificates_and_are_looked_at(tmp_path: Path) -> None:
    """Whoever shows none could be anybody."""
    authority = Authority(tmp_path)
    word = written(tmp_path / "word", b"word")
    clients = written(tmp_path / "clients", f"CN=* PLAIN u {word}".encode())
    settings = Settings(
        listen_tls=True,
        listen_tls_certificate_path=str(authority.pair("bridge")),
        listen_tls_client_auth="required",
        listen_tls_trust_path=str(authority.trust),
        listen_tls_clients_path=str(clients),
    )
    tls = client_tls(settings)
    assert tls is not None
    assert tls.clients == clients
    key = "listen.tls.clients.path"
    fault = fault_of(replace(settings, listen_tls_client_auth="requested"))
    assert (fault.key, fault.allowed) == (key, "listen.tls.client.auth: required beside it")
    assert fault_of(Settings(listen_tls_clients_path=str(clients))).key == key
    clients.write_text("CN=* PLAIN u /nowhere", encoding="utf-8")
    fault = fault_of(settings)
    assert (fault.key, "line 1: /nowhere can't be read" in fault.seen) == (key, True)


def test_file_that_clients_need_is_missed_by_its_key(tmp_path: Path) -> None:
    """There is no TLS without a certificate, and nobody to let in where nobody is trusted."""
    pair = str(Authority(tmp_path).pair("bridge"))
    assert fault_of(Settings(listen_tls=True)).key == "listen.tls.certificate.path"
    for word in ("requested", "required"):
        settings = Settings(listen_tls=True, listen_tls_certificate_path=pair, listen_tls_client_auth=word)
        assert fault_of(settings).key == "listen.tls.trust.path"
    text = str(written(tmp_path / "text.pem", b"hello"))
    assert fault_of(Settings(listen_tls=True, listen_tls_certificate_path=text)).key == "listen.tls.certificate.path"
