"""Files that can't be used for TLS: each is refused with what is wrong, where, and what to give instead."""

import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from bridge.net.tls import (
    BrokerTls,
    ClientTls,
    TlsFile,
    TlsIdentity,
    TlsTrust,
    TlsUnusable,
    broker_context,
    client_context,
)
from tests.support.certificates import Authority, key_store, store_word, trust_store, written


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Whoever signs."""
    return Authority(tmp_path)


def refusal(*, identity: TlsIdentity | None = None, trust: TlsTrust | None = None) -> TlsUnusable:
    """What is said of these files, on both sides."""
    with pytest.raises(TlsUnusable) as found:
        broker_context(BrokerTls(identity=identity, trust=trust))
    if identity is not None:
        with pytest.raises(TlsUnusable) as of_clients:
            client_context(ClientTls(identity=identity))
        assert str(of_clients.value) == str(found.value)
    return found.value


def test_files_that_are_not_there_or_empty_or_folders(tmp_path: Path) -> None:
    """With the system's own word."""
    for path, word in (
        (tmp_path / "none.pem", "No such file"),
        (tmp_path, "directory"),
        (written(tmp_path / "empty.pem", b""), "has no bytes"),
    ):
        found = refusal(trust=TlsTrust(authorities=path))
        assert (found.file, str(path) in found.seen, word in found.seen) == (TlsFile.TRUST, True, True)
        assert refusal(identity=TlsIdentity(certificate=path)).file is TlsFile.CERTIFICATE


def test_files_that_hold_something_else(tmp_path: Path, authority: Authority) -> None:
    """Text, a key without a certificate, a certificate without a key, a cut certificate."""
    leaf = authority.issue("a")
    text = written(tmp_path / "text.pem", b"hello\n")
    key = written(tmp_path / "key.pem", leaf.private_key_pem.bytes())
    certificate = written(tmp_path / "certificate.pem", leaf.cert_chain_pems[0].bytes())
    cut = written(tmp_path / "cut.pem", leaf.cert_chain_pems[0].bytes()[:200])
    for path in (text, key, cut):
        assert refusal(trust=TlsTrust(authorities=path)).file is TlsFile.TRUST
    for path in (text, cut, key):
        assert refusal(identity=TlsIdentity(certificate=path)).file is TlsFile.CERTIFICATE
    assert refusal(identity=TlsIdentity(certificate=certificate)).file is TlsFile.KEY
    assert refusal(identity=TlsIdentity(certificate=certificate, key=text)).file is TlsFile.KEY


def test_forms_of_java_and_of_windows_are_told_with_how_to_convert_them(tmp_path: Path, authority: Authority) -> None:
    """Whatever the file is called: each was said to be PKCS#12 with another password, or to hold no certificate."""
    der = ssl.PEM_cert_to_DER_cert(authority.authority.cert_pem.bytes().decode())
    for data, form, step in (
        (bytes.fromhex("feedfeed00000002") + bytes(100), "KeyStore of Java's old form (JKS)", "-deststoretype pkcs12"),
        (bytes.fromhex("cececece00000002") + bytes(100), "KeyStore of Java's old form (JKS)", "-deststoretype pkcs12"),
        (der, "is one certificate as DER", "openssl x509 -inform der -in"),
    ):
        for name in ("file.jks", "file.p12", "file.crt"):
            path = written(tmp_path / name, data)
            for found in (refusal(trust=TlsTrust(authorities=path)), refusal(identity=TlsIdentity(certificate=path))):
                assert (str(path) in found.seen, form in found.seen, step in found.allowed) == (True, True, True)


def test_words_of_any_script_stand_between_authorities(tmp_path: Path, authority: Authority) -> None:
    """As bundles name them; it ended the start with a traceback."""
    pem = authority.trust.read_bytes()
    bundle = written(tmp_path / "bundle.pem", "Főtanúsítvány\n=====\n".encode() + pem + b"\xff\n" + pem)
    context = broker_context(BrokerTls(trust=TlsTrust(authorities=bundle)))
    assert context.cert_store_stats()["x509_ca"] == 1


def test_mark_of_editors_of_windows_is_told_and_does_passwords_no_harm(tmp_path: Path, authority: Authority) -> None:
    """Nobody sees it, and OpenSSL reads no PEM with it in front."""
    word, mark = store_word(tmp_path), b"\xef\xbb\xbf"
    path = written(tmp_path / "marked.pem", mark + authority.pair("a").read_bytes())
    for found in (
        refusal(trust=TlsTrust(authorities=path)),
        refusal(identity=TlsIdentity(certificate=path)),
        refusal(identity=TlsIdentity(certificate=authority.pair("a"), key=path)),
    ):
        assert "a byte order mark" in found.seen
        assert f"tail -c +4 {path}" in found.allowed
    word.write_bytes(mark + word.read_bytes())
    broker_context(
        BrokerTls(identity=TlsIdentity(certificate=key_store(tmp_path, authority.issue("a")), password=word))
    )


def test_key_of_another_certificate(tmp_path: Path, authority: Authority) -> None:
    """Two files, of which one was renewed."""
    certificate = written(tmp_path / "certificate.pem", authority.issue("a").cert_chain_pems[0].bytes())
    key = written(tmp_path / "key.pem", authority.issue("a").private_key_pem.bytes())
    found = refusal(identity=TlsIdentity(certificate=certificate, key=key))
    assert found.file is TlsFile.KEY
    assert found.seen == f"{key} is not the key of {certificate}"


def test_passwords_of_stores(tmp_path: Path, authority: Authority) -> None:
    """None, a wrong one, an empty file; no password is quoted."""
    store = key_store(tmp_path, authority.issue("a"))
    wrong = store_word(tmp_path, "wrong")
    for password in (None, wrong, written(tmp_path / "word-empty", b"\n"), written(tmp_path / "word-bytes", b"\xff")):
        found = refusal(identity=TlsIdentity(certificate=store, password=password))
        assert found.file is TlsFile.PASSWORD
        assert "wrong\n" not in str(found)
    found = refusal(trust=TlsTrust(authorities=trust_store(authority), password=wrong))
    assert found.file is TlsFile.TRUST_PASSWORD


def test_password_in_the_place_of_its_file_is_not_quoted(tmp_path: Path, authority: Authority) -> None:
    """It stood in the log, and on the terminal of whoever checked the file."""
    store = key_store(tmp_path, authority.issue("a"))
    for found in (
        refusal(identity=TlsIdentity(certificate=store, password=Path("s3cret"))),
        refusal(trust=TlsTrust(authorities=trust_store(authority), password=Path("s3cret"))),
    ):
        assert "s3cret" not in str(found)
        assert "name the file that holds the secret" in found.seen


def test_store_without_a_key_and_key_beside_a_store(tmp_path: Path, authority: Authority) -> None:
    """The one holds authorities only, the other has its own."""
    word = store_word(tmp_path)
    found = refusal(identity=TlsIdentity(certificate=trust_store(authority), password=word))
    assert found.file is TlsFile.CERTIFICATE
    assert "no certificate with its key" in found.seen
    store, pair = key_store(tmp_path, authority.issue("a")), authority.pair("a")
    assert refusal(identity=TlsIdentity(certificate=store, key=pair, password=word)).file is TlsFile.KEY


def test_encrypted_key_is_never_asked_for_at_the_terminal(tmp_path: Path, authority: Authority) -> None:
    """It says that it wants a password, or that this one does not open it."""
    leaf = authority.issue("a")
    certificate = written(tmp_path / "certificate.pem", leaf.cert_chain_pems[0].bytes())
    secret = load_pem_private_key(leaf.private_key_pem.bytes(), None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"store-word")
    )
    key = written(tmp_path / "key.pem", secret)
    for password, words in ((None, "wants a password"), (store_word(tmp_path, "wrong"), "does not open")):
        found = refusal(identity=TlsIdentity(certificate=certificate, key=key, password=password))
        assert (found.file, words in found.seen) == (TlsFile.PASSWORD, True)
    broker_context(BrokerTls(identity=TlsIdentity(certificate=certificate, key=key, password=store_word(tmp_path))))
