"""Authorities and certificates for tests of TLS, as files: good ones, and each kind that is refused."""

import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
STORE_WORD = "store-word"


@dataclass(slots=True)
class Authority:
    """One authority with a folder for its files."""

    folder: Path
    name: str = "authority"
    authority: trustme.CA = field(default_factory=trustme.CA)

    @property
    def trust(self) -> Path:
        """Its own certificate."""
        path = self.folder / f"{self.name}.pem"
        self.authority.cert_pem.write_to_path(str(path))
        return path

    @property
    def context(self) -> ssl.SSLContext:
        """For a client that trusts it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.authority.configure_trust(context)
        return context

    def issue(self, *hosts: str, is_expired: bool = False, until: datetime | None = None) -> trustme.LeafCert:
        """A certificate with its key."""
        if not is_expired:
            return self.authority.issue_cert(*hosts, not_before=LONG_AGO, not_after=until)
        return self.authority.issue_cert(*hosts, not_before=LONG_AGO, not_after=LONG_AGO.replace(month=2))

    def pair(self, *hosts: str, is_expired: bool = False, name: str = "leaf", until: datetime | None = None) -> Path:
        """A certificate with its chain and its key, in one PEM file."""
        path = self.folder / f"{self.name}-{name}.pem"
        self.issue(*hosts, is_expired=is_expired, until=until).private_key_and_cert_chain_pem.write_to_path(str(path))
        return path

    def server(self, *hosts: str, is_expired: bool = False, wants_certificate: bool = False) -> ssl.SSLContext:
        """For a server with such a certificate, that may want one of its clients from this authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.issue(*hosts, is_expired=is_expired).configure_cert(context)
        if wants_certificate:
            context.verify_mode = ssl.CERT_REQUIRED
            self.authority.configure_trust(context)
        return context


def key_store(folder: Path, leaf: trustme.LeafCert, name: str = "store.p12") -> Path:
    """A PKCS#12 file with a certificate, its key and its authority, opened by STORE_WORD."""
    key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
    assert isinstance(key, EllipticCurvePrivateKey), "what trustme makes"
    certificates = [x509.load_pem_x509_certificate(blob.bytes()) for blob in leaf.cert_chain_pems]
    data = pkcs12.serialize_key_and_certificates(
        b"bridge", key, certificates[0], certificates[1:], BestAvailableEncryption(STORE_WORD.encode())
    )
    return written(folder / name, data)


def trust_store(authority: Authority, name: str = "trust.p12") -> Path:
    """A PKCS#12 file with nothing but the authority's certificate, opened by STORE_WORD."""
    certificate = x509.load_pem_x509_certificate(authority.authority.cert_pem.bytes())
    data = pkcs12.serialize_java_truststore(
        [pkcs12.PKCS12Certificate(certificate, b"authority")], BestAvailableEncryption(STORE_WORD.encode())
    )
    return written(authority.folder / name, data)


def store_word(folder: Path, word: str = STORE_WORD) -> Path:
    """A file with the password, and a line end."""
    return written(folder / f"word-{len(word)}", f"{word}\n".encode())


def written(path: Path, data: bytes) -> Path:
    """The path, once it holds this."""
    path.write_bytes(data)
    return path
