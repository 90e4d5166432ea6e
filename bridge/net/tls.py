"""TLS contexts made of files: who we are, whom we trust; and made anew where the files have changed."""

import os
import ssl
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from importlib import import_module
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import trio

from bridge.config.named_files import FileUnreadable, read_bytes, read_secret
from bridge.net.shared import LOG

# ---------------------------------------------------------------------------------------------- tls
# TLS contexts made of files: who we are, whom we trust.

PKCS12_ENDINGS = frozenset({".p12", ".pfx", ".pkcs12"})
PEM_BEGIN = b"-----BEGIN "
JAVA_STORES, DER_SEQUENCE = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"), b"\x30"
"""How Java's own stores begin (JKS, JCEKS), and how PKCS#12, keys and certificates do."""
FILE_BYTES_MAX = 16_777_216
"""A system's whole bundle of authorities has some 250 kB."""


TlsContext = ssl.SSLContext
"""For rooms that hand contexts on, and look at nothing in them."""


class TlsFile(StrEnum):
    """Which file is meant; the value ends the configuration key that names it, on both sides."""

    CERTIFICATE = "certificate.path"
    KEY = "key.path"
    PASSWORD = "password.path"  # noqa: S105 - the end of a key
    TRUST = "trust.path"
    TRUST_PASSWORD = "trust.password.path"  # noqa: S105 - the end of a key
    CLIENTS = "clients.path"


class TlsUnusable(Exception):
    """A file can't be used for TLS; `seen` and `allowed` are for a person and hold no secret."""

    def __init__(self, file: TlsFile, seen: str, allowed: str) -> None:
        super().__init__(f"{seen}; allowed: {allowed}")
        self.file = file
        self.seen = seen
        self.allowed = allowed


class ClientCertificates(Enum):
    """What clients have to show, with Kafka's words (`ssl.client.auth`)."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
"""The least versions that there are, with Kafka's names (`ssl.enabled.protocols`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsIdentity:
    """A certificate with its chain, and its key: PEM (in one file or two), or both in a PKCS#12 file."""

    certificate: Path
    key: Path | None = None
    password: Path | None = None
    """File with the password of the key, or of the PKCS#12 file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsTrust:
    """The authorities that are trusted, as PEM or PKCS#12."""

    authorities: Path
    password: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerTls:
    """How brokers are spoken to."""

    trust: TlsTrust | None = None
    """None: those of the system."""
    identity: TlsIdentity | None = None
    """What brokers are shown where they ask who comes."""
    verifies_hostname: bool = True
    version_min: str = "TLSv1.2"

    def paths(self) -> frozenset[Path]:
        """Every file that is read."""
        return frozenset((*_paths_of(self.identity), *_paths_of(self.trust)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTls:
    """How clients are spoken to."""

    identity: TlsIdentity
    certificates: ClientCertificates = ClientCertificates.NONE
    trust: TlsTrust | None = None
    """Whose clients are let in."""
    version_min: str = "TLSv1.2"
    clients: Path | None = None
    """File that says how the bridge logs in for whom, see `subject_logins`."""

    def paths(self) -> frozenset[Path]:
        """Every file that is read."""
        return frozenset((*_paths_of(self.identity), *_paths_of(self.trust)))


def _paths_of(files: TlsIdentity | TlsTrust | None) -> Iterator[Path]:
    match files:
        case TlsIdentity():
            yield from (one for one in (files.certificate, files.key, files.password) if one is not None)
        case TlsTrust():
            yield from (one for one in (files.authorities, files.password) if one is not None)
        case None:
            pass


def broker_context(settings: BrokerTls) -> ssl.SSLContext:
    """For connections to brokers. Raises TlsUnusable."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _limit(context, settings.version_min)
    context.check_hostname = settings.verifies_hostname
    if settings.trust is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        _load_trust(context, settings.trust)
    if settings.identity is not None:
        _load_identity(context, settings.identity)
    return context


def client_context(settings: ClientTls) -> ssl.SSLContext:
    """For connections of clients. Raises TlsUnusable."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _limit(context, settings.version_min)
    _load_identity(context, settings.identity)
    if settings.certificates is not ClientCertificates.NONE:
        is_required = settings.certificates is ClientCertificates.REQUIRED
        context.verify_mode = ssl.CERT_REQUIRED if is_required else ssl.CERT_OPTIONAL
        if settings.trust is not None:
            _load_trust(context, settings.trust)
    return context


def _limit(context: ssl.SSLContext, version_min: str) -> None:
    context.minimum_version = VERSIONS[version_min]
    # A handshake in the middle of a connection would have to be waited for in the middle of a write.
    context.options |= ssl.OP_NO_RENEGOTIATION


# -------- authorities

_AUTHORITIES = "certificates of authorities, as PEM or PKCS#12"


def authorities_pem(trust: TlsTrust) -> str:
    """The certificates of authorities as PEM, whatever file they are in, names in between left out. Raises TlsUnusable
    for a file that holds none.
    """
    data = _read(trust.authorities, TlsFile.TRUST)
    if data.lstrip().startswith(PEM_BEGIN) or not _is_pkcs12(trust.authorities, data):
        # Bundles have names of authorities in between, in all scripts, and Python's ssl takes ASCII alone.
        text = data.decode("ascii", "ignore")
    else:
        text = _open_pkcs12(data, trust).decode()
    if "-----BEGIN CERTIFICATE" not in text and "-----BEGIN TRUSTED CERTIFICATE" not in text:
        raise TlsUnusable(TlsFile.TRUST, f"{trust.authorities} holds no certificate", _AUTHORITIES)
    return text


def _load_trust(context: ssl.SSLContext, trust: TlsTrust) -> None:
    text = authorities_pem(trust)
    try:
        context.load_verify_locations(cadata=text)
    except (ssl.SSLError, ValueError) as problem:
        raise TlsUnusable(TlsFile.TRUST, f"{trust.authorities} can't be read: {_why(problem)}", _AUTHORITIES) from None


# -------- who we are


def is_store(identity: TlsIdentity) -> bool:
    """Whether certificate and key are in a PKCS#12 file. Raises TlsUnusable."""
    data = _read(identity.certificate, TlsFile.CERTIFICATE)
    return not data.lstrip().startswith(PEM_BEGIN) and _is_pkcs12(identity.certificate, data)


def _load_identity(context: ssl.SSLContext, identity: TlsIdentity) -> None:
    data = _read(identity.certificate, TlsFile.CERTIFICATE)
    if not data.lstrip().startswith(PEM_BEGIN) and _is_pkcs12(identity.certificate, data):
        if identity.key is not None:
            raise TlsUnusable(
                TlsFile.KEY,
                f"{identity.key} is given beside {identity.certificate}, which is PKCS#12",
                "nothing where the certificate's file holds the key, too",
            )
        with _in_memory(_open_pkcs12(data, identity)) as path:
            _load_pair(context, identity, path, None, "")
        return
    if identity.key is not None:
        _read(identity.key, TlsFile.KEY)
    password = "" if identity.password is None else _read_password(identity.password, TlsFile.PASSWORD)
    _load_pair(context, identity, identity.certificate, identity.key, password)


def _load_pair(
    context: ssl.SSLContext, identity: TlsIdentity, certificate: Path, key: Path | None, password: str
) -> None:
    key_file = identity.key or identity.certificate
    is_asked = False

    def tell_password() -> str:
        nonlocal is_asked
        is_asked = True
        return password

    try:
        # Never without one: OpenSSL would ask for it at the terminal.
        context.load_cert_chain(certificate, key, tell_password)
    except ssl.SSLError as problem:
        if problem.reason == "KEY_VALUES_MISMATCH":
            seen = f"{key_file} is not the key of {identity.certificate}"
            allowed = "the key of the first certificate of that file, behind which those that signed it stand"
            raise TlsUnusable(TlsFile.KEY, seen, allowed) from None
        if is_asked:
            seen = f"the password does not open {key_file}" if password else f"{key_file} wants a password"
            raise TlsUnusable(TlsFile.PASSWORD, seen, "a file that holds the key's password") from None
        if _holds_certificate(identity.certificate):
            seen = f"{key_file} holds no key that can be read: {_why(problem)}"
            raise TlsUnusable(TlsFile.KEY, seen, "a PEM file with the certificate's private key") from None
        seen = f"{identity.certificate} holds no certificate that can be read: {_why(problem)}"
        raise TlsUnusable(
            TlsFile.CERTIFICATE, seen, "a PEM file with the certificate and its chain, or PKCS#12"
        ) from None
    except (OSError, ValueError) as problem:
        seen = f"{identity.certificate} can't be used: {_why(problem)}"
        raise TlsUnusable(TlsFile.CERTIFICATE, seen, _PAIR) from None


_PAIR = "a PEM file with the certificate and its chain, or PKCS#12"


def _holds_certificate(path: Path) -> bool:
    """Whether the first certificate of a PEM file can be read."""
    text = _first_certificate(_read(path, TlsFile.CERTIFICATE))
    if not text:
        return False
    try:
        # It may be any certificate: this only asks whether it can be read as one.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=text)
    except (ssl.SSLError, ValueError):
        return False
    return True


def own_certificate(identity: TlsIdentity) -> bytes:
    """The certificate that is shown, as DER. Raises TlsUnusable, or ValueError where it is not in base 64."""
    data = _read(identity.certificate, TlsFile.CERTIFICATE)
    if not data.lstrip().startswith(PEM_BEGIN) and _is_pkcs12(identity.certificate, data):
        data = _open_pkcs12(data, identity)
    return ssl.PEM_cert_to_DER_cert(_first_certificate(data))


def _first_certificate(pem: bytes) -> str:
    """The first one of a PEM file; nothing where there is none."""
    text = pem.decode("utf-8", "replace")
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    start, stop = text.find(begin), text.find(end)
    return text[start : stop + len(end)] + "\n" if 0 <= start < stop else ""


# -------- files


def _read(path: Path, file: TlsFile) -> bytes:
    try:
        data = read_bytes(path, FILE_BYTES_MAX)
    except FileUnreadable as problem:
        raise TlsUnusable(file, str(problem), f"a file that can be read, of at most {FILE_BYTES_MAX} bytes") from None
    if not data:
        raise TlsUnusable(file, f"{path} has no bytes", f"a file of at most {FILE_BYTES_MAX} bytes")
    if data.startswith(BOM_UTF8 + PEM_BEGIN):
        # OpenSSL takes the first line for none then, and says no more than that.
        seen = f"{path} begins with a sign that nobody sees (a byte order mark, as editors of Windows write it)"
        raise TlsUnusable(file, seen, f"the same without it: tail -c +4 {path} > NEW")
    if data.startswith(JAVA_STORES):
        convert = f"keytool -importkeystore -srckeystore {path} -destkeystore STORE.p12 -deststoretype pkcs12"
        raise TlsUnusable(file, f"{path} is a KeyStore of Java's old form (JKS)", f"PEM or PKCS#12: {convert}")
    if _is_der_certificate(data):
        convert = f"openssl x509 -inform der -in {path} -out CERTIFICATE.pem"
        raise TlsUnusable(file, f"{path} is one certificate as DER", f"PEM or PKCS#12: {convert}")
    return data


def _is_der_certificate(data: bytes) -> bool:
    """Whether a sequence begins with a sequence: in PKCS#12 and in keys it begins with a number."""
    length = data[1] if data[:1] == DER_SEQUENCE and len(data) > 1 else 0
    begin = 2 + (length - 0x80 if length > 0x80 else 0)
    return length > 0 and data[begin : begin + 1] == DER_SEQUENCE


def _read_password(path: Path, file: TlsFile) -> str:
    try:
        return read_secret(path)
    except FileUnreadable as problem:
        raise TlsUnusable(file, str(problem), "a file that holds the password and nothing else") from None


def _why(problem: Exception) -> str:
    if isinstance(problem, ssl.SSLError):
        return problem.reason or "it is of another form"
    return (problem.strerror or "it is of another kind") if isinstance(problem, OSError) else str(problem)


def _is_pkcs12(path: Path, data: bytes) -> bool:
    """Whether a file that is no PEM is to be read as PKCS#12: DER begins with a long sequence."""
    return path.suffix.lower() in PKCS12_ENDINGS or data[:1] == DER_SEQUENCE


def _open_pkcs12(data: bytes, files: TlsIdentity | TlsTrust) -> bytes:
    """What a PKCS#12 file holds, as PEM: the key and its certificates, or the authorities."""
    if isinstance(files, TlsIdentity):
        path, file, password_file = files.certificate, TlsFile.CERTIFICATE, TlsFile.PASSWORD
    else:
        path, file, password_file = files.authorities, TlsFile.TRUST, TlsFile.TRUST_PASSWORD
    password = "" if files.password is None else _read_password(files.password, password_file)
    try:
        # Who uses PEM needs no second library for certificates.
        library = import_module("cryptography.hazmat.primitives.serialization")
        pkcs12 = import_module("cryptography.hazmat.primitives.serialization.pkcs12")
    except ImportError:
        seen, allowed = f"{path} is PKCS#12, which takes the extra `tls`", "PEM, or pip install 'epochbridge[tls]'"
        raise TlsUnusable(file, seen, allowed) from None
    try:
        store = pkcs12.load_pkcs12(data, password.encode() or None)
    except ValueError:
        seen = f"{path} can't be opened as PKCS#12 with the password of {files.password or 'nobody: none is given'}"
        raise TlsUnusable(password_file, seen, "a file that holds the password of the store") from None
    held = [one for one in (store.cert, *store.additional_certs) if one is not None]
    certificates = b"".join(bytes(one.certificate.public_bytes(library.Encoding.PEM)) for one in held)
    if isinstance(files, TlsTrust):
        return certificates
    if store.key is None or store.cert is None:
        seen = f"{path} holds no certificate with its key"
        raise TlsUnusable(file, seen, "a PKCS#12 file with a certificate and its key")
    form = library.PrivateFormat.PKCS8
    return bytes(store.key.private_bytes(library.Encoding.PEM, form, library.NoEncryption())) + certificates


@contextmanager
def _in_memory(data: bytes) -> Iterator[Path]:
    """A path for bytes that must not be on a disk: OpenSSL reads keys from files only."""
    descriptor = os.memfd_create("identity", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, data)
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


# -------------------------------------------------------------------------------------- tls renewal
# Certificates that are read again where their files have changed, for connections that come from then on.
#
# Whoever makes connections is given a new context. What can't be used changes nothing.

Stamp = tuple[int, int, int, int]
"""When a file and its rights were changed, its size and which one it is; zeros where there is none."""
NOT_THERE: Stamp = (0, 0, 0, 0)


MadeT = TypeVar("MadeT")


@dataclass(slots=True)
class CertificateFiles(Generic[MadeT]):
    """The files of one side, which begin with its keys' name; to be made before they are first read."""

    name: str
    paths: frozenset[Path]
    make: Callable[[], MadeT]
    """Reads them. Raises TlsUnusable."""
    put: Callable[[MadeT], None]
    """Takes what they come to."""
    _read: Mapping[Path, Stamp] = field(init=False)
    _seen: Mapping[Path, Stamp] = field(init=False)
    _is_refused: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._read = self._seen = self._stamps()

    async def look(self, *, is_ready: bool = False) -> str:
        """Read them if they changed, and are what they were at the last look: who puts a certificate and its key in
        place has a moment for both. `is_ready`: somebody says that they are. Gives a sentence where anything was read.
        """
        # A disk may never answer, and who stops the bridge does not wait for it.
        found = await trio.to_thread.run_sync(self._stamps, abandon_on_cancel=True)
        was_seen, self._seen = self._seen, found
        is_read = found == self._read and not (is_ready and self._is_refused)
        if is_read or (found != was_seen and not is_ready):
            return ""
        # Also where they can't be used: that is said once, and again when they have changed again.
        self._read, self._is_refused = found, True
        try:
            made = await trio.to_thread.run_sync(self.make, abandon_on_cancel=True)
        except TlsUnusable as problem:
            sentence = f"{self.name}.{problem.file.value}: {problem}"
            LOG.error("EB-NET-068: files have changed and can't be used, what was read before counts on: %s", sentence)
            return sentence
        self._is_refused = False
        self.put(made)
        LOG.info("EB-NET-067: the files of %s have changed and were read again, for new connections", self.name)
        return f"{self.name}: its files have changed and count for new connections"

    def _stamps(self) -> dict[Path, Stamp]:
        return {path: _stamp(path) for path in self.paths}


def _stamp(path: Path) -> Stamp:
    try:
        # Through links: Kubernetes exchanges what they lead to.
        status = path.stat()
    except OSError:
        return NOT_THERE
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


class Renewed(Protocol):
    """See `CertificateFiles`."""

    async def look(self, *, is_ready: bool = False) -> str:
        """Read them if they changed; gives a sentence where anything was read."""
        ...


class Watched(Protocol):
    """See `expiry.ExpiryWatch`."""

    async def look(self, *, is_new: bool = False) -> None:
        """Say what there is to say of a certificate's end."""
        ...


class Certificates:
    """All files of both sides, and when the bridge's own certificates among them are over."""

    def __init__(self, sides: Iterable[Renewed], interval_ms: int, watches: Iterable[Watched] = ()) -> None:
        self._sides = tuple(sides)
        self._interval_ms = interval_ms
        self._watches = tuple(watches)

    async def read_changed(self) -> tuple[str, ...]:
        """Read at once what has changed; gives what came of it."""
        told = [await side.look(is_ready=True) for side in self._sides]
        await self._watch(is_new=any(told))
        return tuple(sentence for sentence in told if sentence)

    async def keep_looking(self) -> None:
        """Look again and again, until cancelled."""
        await self._watch(is_new=False)
        while True:
            await trio.sleep(self._interval_ms / 1000)
            told = [await side.look() for side in self._sides]
            await self._watch(is_new=any(told))

    async def _watch(self, *, is_new: bool) -> None:
        for watch in self._watches:
            await watch.look(is_new=is_new)
