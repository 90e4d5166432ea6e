"""The keys of TLS in the words of the net room. It has files opened, no more."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bridge.admin.certificates import ALLOWED, CertificateRoles, RolesUnreadable, parse_roles
from bridge.app.listening import read_host_pattern
from bridge.config.faults import ConfigError, FaultCode, fault_of
from bridge.config.keys import Settings
from bridge.config.named_files import FileUnreadable, read_text
from bridge.net.clock import wall_ms
from bridge.net.expiry import RENEWAL, fading_of
from bridge.net.own_hosts import why_refused
from bridge.net.subject_logins import read_subject_logins
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
ROLES_BYTES_MAX = 16_777_216
CODE_OTHER_HOST = "EB-CONFIG-018"
"""Clients that check hosts refuse the certificate that they are shown: it names others than they are told."""
COMMON_IDS = (*range(10), 100, 1_001)
"""Ids that brokers are mostly given; who names each broker in the certificate has one of these, as a rule."""


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
        return ConfigError([fault_of(f"{self.name}.{file.value}", "nothing is given", wanted, FaultCode.MISSING)])

    def refuse(self, files: Iterable[TlsFile], wanted: str) -> None:
        """Raises ConfigError for files that are given and not read: whoever gave them believes that they count."""
        faults = [
            fault_of(
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
    certificates = ClientCertificates(settings.listen_tls_client_auth)
    if settings.listen_tls and certificates is not ClientCertificates.REQUIRED:
        side.refuse((TlsFile.CLIENTS,), f"{CLIENT_AUTH}: required beside it")
    asked = _Asked(certificates, settings.listen_tls_version_min, read_subject_logins)
    return _served(side, asked, is_on=settings.listen_tls)


def admin_tls(settings: Settings) -> ClientTls | None:
    """How programs are spoken to that ask the admin API, None: without TLS. Raises ConfigError as `client_tls` does."""
    side = _Side(
        "admin.tls",
        {
            TlsFile.TRUST: settings.admin_tls_trust_path,
            TlsFile.TRUST_PASSWORD: settings.admin_tls_trust_password_path,
            TlsFile.CERTIFICATE: settings.admin_tls_certificate_path,
            TlsFile.KEY: settings.admin_tls_key_path,
            TlsFile.PASSWORD: settings.admin_tls_password_path,
            TlsFile.CLIENTS: settings.admin_tls_clients_path,
        },
    )
    certificates = ClientCertificates(settings.admin_tls_client_auth)
    if settings.admin_tls and certificates is ClientCertificates.NONE:
        side.refuse((TlsFile.CLIENTS,), f"{side.name}.client.auth: requested or required beside it")
    return _served(side, _Asked(certificates, settings.admin_tls_version_min, read_roles), is_on=settings.admin_tls)


def find_fading(settings: Settings) -> Iterator[tuple[str, str]]:
    """The bridge's own certificates that are over or soon will be: the key of each, and what to say. Raises
    ConfigError.
    """
    for name, tls in (
        ("listen.tls", client_tls(settings)),
        ("upstream.tls", broker_tls(settings)),
        ("admin.tls", admin_tls(settings)),
    ):
        fading = None if tls is None or tls.identity is None else fading_of(tls.identity, wall_ms())
        if fading is not None:
            key = f"{name}.{TlsFile.CERTIFICATE.value}"
            yield key, f"{key}: {fading.code}: {fading.sentence}; {RENEWAL}"


def find_misnamed(settings: Settings) -> Iterator[tuple[str, str]]:
    """What clients that check hosts will say of the certificate that they are shown: its key, and what to say. Raises
    ConfigError.
    """
    tls = client_tls(settings)
    if tls is None:
        return
    key = f"listen.tls.{TlsFile.CERTIFICATE.value}"
    begin = f"{key}: {CODE_OTHER_HOST}: {tls.identity.certificate}"
    step = "and who checks hosts refuses it: have one made that names it"
    told = settings.advertised_host or settings.listen.rpartition(":")[0].strip("[]")
    why = why_refused(tls.identity, told)
    if why:
        yield key, f"{begin} {why}, which clients are told (advertised.host, or that of listen), {step}"
        return
    pattern = read_host_pattern(settings)
    if pattern is not None and all(why_refused(tls.identity, pattern.host(node_id)) for node_id in COMMON_IDS):
        why = f"names other hosts than {settings.listen_sni_pattern!r}"
        yield key, f"{begin} {why} stands for (tried: {pattern.host(COMMON_IDS[0])} and others), {step}"


def read_roles(path: Path) -> CertificateRoles:
    """What a file allows the certificates of the admin API. Raises TlsUnusable."""
    try:
        return parse_roles(read_text(path, ROLES_BYTES_MAX))
    except FileUnreadable as problem:
        raise TlsUnusable(TlsFile.CLIENTS, str(problem), ALLOWED) from None
    except RolesUnreadable as problem:
        raise TlsUnusable(TlsFile.CLIENTS, f"{path}: {problem}", ALLOWED) from None


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked of those who connect; `read_clients` reads what is said of them, and raises TlsUnusable."""

    certificates: ClientCertificates
    version_min: str
    read_clients: Callable[[Path], object]


def _served(side: _Side, asked: _Asked, *, is_on: bool) -> ClientTls | None:
    """How those are spoken to who connect to one side. Raises ConfigError."""
    auth_key = f"{side.name}.client.auth"
    if not is_on:
        side.refuse(TlsFile, f"{side.name}: true beside it")
        if asked.certificates is not ClientCertificates.NONE:
            # Whoever wrote it believes that nobody comes without a certificate, and everybody does.
            seen = f"certificates are {asked.certificates.value}, and nobody asks for them without TLS"
            raise ConfigError([fault_of(auth_key, seen, f"{side.name}: true beside it", FaultCode.CONTRADICTION)])
        return None
    if asked.certificates is ClientCertificates.NONE:
        side.refuse((TlsFile.TRUST, TlsFile.TRUST_PASSWORD), f"{auth_key}: requested or required beside it")
    identity, trust = side.identity(), side.trust()
    if identity is None:
        raise side.missing(TlsFile.CERTIFICATE, "the certificate that clients are shown, as PEM or PKCS#12")
    if trust is None and asked.certificates is not ClientCertificates.NONE:
        raise side.missing(TlsFile.TRUST, f"the authorities whose clients are let in, or {auth_key}: none")
    tls = ClientTls(
        identity=identity,
        certificates=asked.certificates,
        trust=trust,
        version_min=asked.version_min,
        clients=side.path(TlsFile.CLIENTS),
    )
    try:
        client_context(tls)
        if tls.clients is not None:
            asked.read_clients(tls.clients)
    except TlsUnusable as problem:
        raise _unusable(side.name, problem) from None
    return tls


def _unusable(side: str, problem: TlsUnusable) -> ConfigError:
    key = f"{side}.{problem.file.value}"
    return ConfigError([fault_of(key, problem.seen, problem.allowed, FaultCode.WRONG_KIND)])
