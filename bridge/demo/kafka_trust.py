"""The certificate authorities that this machine's Python trusts, as a key store that any Java reads.

It knows the layout of a Java key store, and must not know who is met with that trust.
"""

import hashlib
import ssl
import struct
from collections.abc import Sequence
from pathlib import Path

MAGIC, VERSION, TRUSTED_CERTIFICATE = 0xFEEDFEED, 2, 2
# Every Java uses this word for its own store of public certificates; it keys a digest against accidents, not a secret.
STORE_WORD = "changeit"
DIGEST_SALT = b"Mighty Aphrodite"


def encode_text(text: str) -> bytes:
    """Encode ASCII as java.io.DataOutput.writeUTF does."""
    return struct.pack(">H", len(text)) + text.encode("ascii")


def render_trust_store(certificates: Sequence[bytes]) -> bytes:
    """Return a key store (JKS) that trusts these DER certificates, laid out as sun.security.provider.JavaKeyStore."""
    parts = [struct.pack(">III", MAGIC, VERSION, len(certificates))]
    for number, certificate in enumerate(certificates):
        parts.append(struct.pack(">I", TRUSTED_CERTIFICATE) + encode_text(f"ca-{number}") + struct.pack(">Q", 0))
        parts.append(encode_text("X.509") + struct.pack(">I", len(certificate)) + certificate)
    body = b"".join(parts)
    # The layout prescribes SHA-1.
    digest = hashlib.sha1(STORE_WORD.encode("utf-16-be") + DIGEST_SALT + body, usedforsecurity=False).digest()
    return body + digest


def trust_options(directory: Path) -> list[str]:
    """Write the machine's authorities into `directory` and return the -D options for them; none if Python knows none.

    A JRE from a wheel brings its own authorities and so misses the one of a company's proxy, which pip got past.
    """
    certificates = ssl.create_default_context().get_ca_certs(binary_form=True)
    if not certificates:
        return []
    store = directory / "trust.jks"
    store.write_bytes(render_trust_store(certificates))
    prefix = "-Djavax.net.ssl.trustStore"
    return [f"{prefix}={store}", f"{prefix}Type=JKS", f"{prefix}Password={STORE_WORD}"]
