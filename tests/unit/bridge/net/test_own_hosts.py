"""What clients would say of the bridge's own certificate, found out before there are any."""

from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from bridge.net.own_hosts import why_refused
from bridge.net.tls import TlsIdentity, TlsUnusable
from tests.support.certificates import Authority, key_store, store_word, written


@pytest.mark.parametrize(
    ("named", "host", "said"),
    [
        ("bridge.example", "bridge.example", ""),
        ("*.kafka.example", "b1.kafka.example", ""),
        ("127.0.0.1", "127.0.0.1", ""),
        ("bridge.example", "kafka.example", "names other hosts than 'kafka.example'"),
        ("bridge.example", "127.0.0.1", "names other hosts than '127.0.0.1'"),
        ("*.kafka.example", "b1.a.kafka.example", "names other hosts than 'b1.a.kafka.example'"),
        ("bridge.example", ".no-host", ""),
    ],
)
def test_certificate_is_for_the_hosts_that_it_names(tmp_path: Path, named: str, host: str, said: str) -> None:
    """By the rules of those who ask; of what nobody can ask for there is nothing to say."""
    assert why_refused(TlsIdentity(certificate=Authority(tmp_path).pair(named)), host) == said


def test_key_store_of_java_is_looked_at_as_well(tmp_path: Path) -> None:
    """It has the key and the chain."""
    store = key_store(tmp_path, Authority(tmp_path).issue("a.example"))
    identity = TlsIdentity(certificate=store, password=store_word(tmp_path))
    assert (why_refused(identity, "a.example"), why_refused(identity, "b.example") != "") == ("", True)


def test_one_that_is_over_is_told_of_elsewhere(tmp_path: Path) -> None:
    """Here it is said what hosts it names."""
    identity = TlsIdentity(certificate=Authority(tmp_path).pair("a", is_expired=True))
    assert (why_refused(identity, "a"), why_refused(identity, "b")) == ("", "names other hosts than 'b'")


def test_certificate_of_a_client_is_told(tmp_path: Path) -> None:
    """Java, librdkafka and all others refuse it whatever it names."""
    leaf = Authority(tmp_path).issue("a.example")
    old, key = (
        x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes()),
        load_pem_private_key(leaf.private_key_pem.bytes(), None),
    )
    builder = x509.CertificateBuilder(
        old.subject, old.subject, old.public_key(), old.serial_number, old.not_valid_before_utc, old.not_valid_after_utc
    )
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    names = old.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    made = builder.add_extension(usage, critical=False).add_extension(names, critical=False)
    pem = made.sign(key, SHA256()).public_bytes(Encoding.PEM)  # type: ignore[arg-type]  # trustme's own kind
    pair = written(tmp_path / "client.pem", leaf.private_key_pem.bytes() + pem)
    assert why_refused(TlsIdentity(certificate=pair), "a.example").startswith("is for clients, and not for servers")


def test_file_that_can_not_be_used_is_refused(tmp_path: Path) -> None:
    """As everywhere."""
    with pytest.raises(TlsUnusable):
        why_refused(TlsIdentity(certificate=tmp_path / "none.pem"), "a")
