"""The keys of TLS in the words of the net room. It must not know sockets: it has files opened, no more."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bridge.config.faults import ConfigError, Fault, FaultCode
from bridge.config.keys import Settings
from bridge.net.client_logins import read_client_logins
from bridge.net.tls import (
    BrokerTls,
    ClientCertificates,
    ClientTls,
    TlsFile,
    TlsIdentity,
    TlsTrust,
    TlsUnusable,
    broker_context,
    client_context,
)

CLIENT_AUTH = "listen.tls.client.auth"


@dataclass(frozen=True, slots=True)
class _Side:
    """What is configured of files for one side of the bridge; `name` begins the keys."""

    name: str
    paths: Mapping[TlsFile, str]

    def path(self, file: TlsFile) -> Path | None:
        """The file that is given."""
        return Path(self.paths[file]) if self.paths[file] else None

    def trust(self) -> TlsTrust | None:
        """Raises ConfigError."""
        authorities = self.path(TlsFile.TRUST)
        if authorities is None:
            self.refuse((TlsFile.TRUST_PASSWORD,), f"{self.name}.{TlsFile.TRUST.value} beside it")
            return None
        return TlsTrust(authorities=authorities, password=self.path(TlsFile.TRUST_PASSWORD))

    def identity(self) -> TlsIdentity | None:
        """Raises ConfigError."""
        certificate = self.path(TlsFile.CERTIFICATE)
        if certificate is None:
            self.refuse((TlsFile.KEY, TlsFile.PASSWORD), f"{self.name}.{TlsFile.CERTIFICATE.value} beside it")
            return None
        return TlsIdentity(certificate=certificate, key=self.path(TlsFile.KEY), password=self.path(TlsFile.PASSWORD))

    def missing(self, file: TlsFile, wanted: str) -> ConfigError:
        """What to raise where a file is not given that has to be."""
        return ConfigError([_fault(f"{self.name}.{file.value}", "nothing is given", wanted, FaultCode.MISSING)])

    def refuse(self, files: Iterable[TlsFile], wanted: str) -> None:
        """Who names files takes them for used. Raises ConfigError."""
        faults = [
            _fault(
                f"{self.name}.{file.value}", f"{path} is given, and nothing reads it", wanted, FaultCode.CONTRADICTION
            )
            for file in files
            if (path := self.path(file)) is not None
        ]
        if faults:
            raise ConfigError(faults)


def broker_tls(settings: Settings) -> BrokerTls | None:
    """How brokers are spoken to, None: without TLS. Raises ConfigError for files that can't be used, and for keys that
    mean nothing without others.
    """
    side = _Side(
        "upstream.tls",
        {
            TlsFile.TRUST: settings.upstream_tls_trust_path,
            TlsFile.TRUST_PASSWORD: settings.upstream_tls_trust_password_path,
            TlsFile.CERTIFICATE: settings.upstream_tls_certificate_path,
            TlsFile.KEY: settings.upstream_tls_key_path,
            TlsFile.PASSWORD: settings.upstream_tls_password_path,
            TlsFile.CLIENTS: "",
        },
    )
    if not settings.upstream_tls:
        side.refuse(TlsFile, f"{side.name}: true beside it")
        return None
    tls = BrokerTls(
        trust=side.trust(),
        identity=side.identity(),
        verifies_hostname=settings.upstream_tls_verify_hostname,
        version_min=settings.upstream_tls_version_min,
    )
    try:
        broker_context(tls)
    except TlsUnusable as problem:
        raise _unusable(side.name, problem) from None
    return tls


def client_tls(settings: Settings) -> ClientTls | None:
    """How clients are spoken to, None: without TLS. Raises ConfigError as `broker_tls` does, and for files that are
    missing.
    """
    side = _Side(
        "listen.tls",
        {
            TlsFile.TRUST: settings.listen_tls_trust_path,
            TlsFile.TRUST_PASSWORD: settings.listen_tls_trust_password_path,
            TlsFile.CERTIFICATE: settings.listen_tls_certificate_path,
            TlsFile.KEY: settings.listen_tls_key_path,
            TlsFile.PASSWORD: settings.listen_tls_password_path,
            TlsFile.CLIENTS: settings.listen_tls_clients_path,
        },
    )
    if not settings.listen_tls:
        side.refuse(TlsFile, f"{side.name}: true beside it")
        return None
    certificates = ClientCertificates(settings.listen_tls_client_auth)
    if certificates is ClientCertificates.NONE:
        side.refuse((TlsFile.TRUST, TlsFile.TRUST_PASSWORD), f"{CLIENT_AUTH}: requested or required beside it")
    if certificates is not ClientCertificates.REQUIRED:
        side.refuse((TlsFile.CLIENTS,), f"{CLIENT_AUTH}: required beside it")
    identity, trust = side.identity(), side.trust()
    if identity is None:
        raise side.missing(TlsFile.CERTIFICATE, "the certificate that clients are shown, as PEM or PKCS#12")
    if trust is None and certificates is not ClientCertificates.NONE:
        raise side.missing(TlsFile.TRUST, f"the authorities whose clients are let in, or {CLIENT_AUTH}: none")
    tls = ClientTls(
        identity=identity,
        certificates=certificates,
        trust=trust,
        version_min=settings.listen_tls_version_min,
        clients=side.path(TlsFile.CLIENTS),
    )
    try:
        client_context(tls)
        if tls.clients is not None:
            read_client_logins(tls.clients)
    except TlsUnusable as problem:
        raise _unusable(side.name, problem) from None
    return tls


def _unusable(side: str, problem: TlsUnusable) -> ConfigError:
    key = f"{side}.{problem.file.value}"
    return ConfigError([_fault(key, problem.seen, problem.allowed, FaultCode.WRONG_KIND)])


def _fault(key: str, seen: str, allowed: str, code: FaultCode) -> Fault:
    return Fault(code=code, source="configuration", key=key, seen=seen, allowed=allowed)
