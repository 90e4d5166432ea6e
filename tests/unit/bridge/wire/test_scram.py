"""SCRAM with the example of RFC 7677, and brokers that prove nothing.

SCRAM as a broker speaks it, against the client's half and RFC 7677's own example.
"""

import binascii

import pytest

from bridge.wire.sasl import Credentials, Mechanism
from bridge.wire.scram import (
    ITERATIONS_MAX,
    ScramFailed,
    ScramKeys,
    challenge,
    check_server,
    first_message,
    is_password,
    judge_final,
    keys_text,
    make_keys,
    prove,
    read_first,
    read_keys,
)

NONCE = "rOprNGfwEbeRWgbNEkqO"
USER = Credentials(mechanism=Mechanism.SCRAM_SHA_256, username="user", password="pencil")
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_messages_are_those_of_the_rfc() -> None:
    """Byte by byte those of the example there (RFC 7677, section 3)."""
    assert first_message(USER, NONCE) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    proof = prove(USER, NONCE, SERVER_FIRST)
    assert proof.message == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    check_server(SERVER_FINAL, proof)


def test_name_with_commas_and_equals_signs_is_escaped() -> None:
    """Both have a meaning of their own in these messages (RFC 5802, section 5.1)."""
    odd = Credentials(mechanism=Mechanism.SCRAM_SHA_512, username="a,b=c", password="x")
    assert first_message(odd, "n") == b"n,,n=a=2Cb=3Dc,r=n"


@pytest.mark.parametrize(
    ("server_first", "reason"),
    [
        (b"r=somebody-else,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce"),
        (SERVER_FIRST.replace(b"4096", b"1"), "iterations"),
        (SERVER_FIRST.replace(b"4096", str(ITERATIONS_MAX + 1).encode()), "iterations"),
        (SERVER_FIRST.replace(b"4096", b"many"), "iterations"),
        (SERVER_FIRST.replace(b"W22ZaJ0SNY7soEsUEjb6gQ==", b"!"), "base64"),
        (b"\xff", "no text"),
        (b"", "iterations"),
    ],
)
def test_message_that_proves_nothing_is_refused(server_first: bytes, reason: str) -> None:
    """Nothing is sent to such a broker that a password could be guessed from."""
    with pytest.raises(ScramFailed, match=reason):
        prove(USER, NONCE, server_first)


@pytest.mark.parametrize(
    ("server_final", "reason"),
    [(SERVER_FINAL.replace(b"6", b"7"), "does not know"), (b"e=other-error", "other-error"), (b"", "does not know")],
)
def test_broker_that_does_not_know_the_password_is_noticed(server_final: bytes, reason: str) -> None:
    """Something else may stand in its place."""
    with pytest.raises(ScramFailed, match=reason):
        check_server(server_final, prove(USER, NONCE, SERVER_FIRST))


BOTH = (Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512)
SALT = bytes(range(16))


def keys_of(mechanism: Mechanism, password: str = "pencil") -> ScramKeys:
    """With the least count."""
    return make_keys(mechanism, password, SALT, 4_096)


def test_example_of_the_rfc_is_answered_as_there() -> None:
    """The server's side of the same example (RFC 7677, section 3)."""
    salt = binascii.a2b_base64("W22ZaJ0SNY7soEsUEjb6gQ==")
    keys = make_keys(Mechanism.SCRAM_SHA_256, "pencil", salt, 4_096)
    first = read_first(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    challenged = challenge(keys, first, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    assert challenged == b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    final = (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert judge_final(keys, first, challenged, final) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.parametrize("mechanism", BOTH)
@pytest.mark.parametrize("name", ["alice", "a=b,c", "\N{LATIN SMALL LETTER A WITH DIAERESIS}rger"])
def test_both_halves_believe_each_other(mechanism: Mechanism, name: str) -> None:
    """And a client with another password is not believed."""
    keys = keys_of(mechanism)
    for password in ("pencil", "pen"):
        credentials = Credentials(mechanism=mechanism, username=name, password=password)
        first = read_first(first_message(credentials, "nonce"))
        assert (first.username, first.authorization) == (name, "")
        challenged = challenge(keys, first, "more")
        proof = prove(credentials, "nonce", challenged)
        if password == "pencil":
            check_server(judge_final(keys, first, challenged, proof.message), proof)
            continue
        with pytest.raises(ScramFailed, match="does not know the password"):
            judge_final(keys, first, challenged, proof.message)


@pytest.mark.parametrize(
    "token", [b"", b"\xff", b"n=user,r=x", b"p=tls-unique,,n=user,r=x", b"n,,n=,r=x", b"n,,n=user,r="]
)
def test_first_messages_that_cannot_be_meant_are_refused(token: bytes) -> None:
    """Channel binding, too, which nobody offers."""
    with pytest.raises(ScramFailed):
        read_first(token)


@pytest.mark.parametrize(
    "final",
    [
        b"nothing",
        b"c=biws,r=another,p=AAAA",
        b"c=eSws,r=noncemore,p=AAAA",
        b"c=biws,r=noncemore,p=AAAA",
        b"c=biws,r=noncemore,p=!",
    ],
)
def test_final_messages_that_prove_nothing_are_refused(final: bytes) -> None:
    """Another nonce, other flags than before, a proof of another length, or none."""
    keys, first = keys_of(Mechanism.SCRAM_SHA_256), read_first(b"n,a=user,n=user,r=nonce")
    assert first.authorization == "user"
    with pytest.raises(ScramFailed):
        judge_final(keys, first, challenge(keys, first, "more"), final)


@pytest.mark.parametrize("mechanism", BOTH)
def test_keys_are_one_word(mechanism: Mechanism) -> None:
    """That is read as it was written, and shows nothing in a traceback."""
    keys = keys_of(mechanism)
    text = keys_text(keys)
    assert read_keys(text) == keys
    assert is_password(keys, "pencil")
    assert not is_password(keys, "pen")
    assert text.partition("$")[2].partition("$")[2].partition(":")[0] not in repr(keys)
    for wrong in ("", text[:-4], text.replace("$4096:", "$12:"), text.replace(":", "", 1), text + "!", "pencil"):
        assert read_keys(wrong) is None
