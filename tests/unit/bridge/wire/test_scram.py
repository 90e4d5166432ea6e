"""SCRAM with the example of RFC 7677, and brokers that prove nothing."""

import pytest

from bridge.wire.sasl import Credentials, Mechanism
from bridge.wire.scram import ITERATIONS_MAX, ScramFailed, check_server, first_message, prove

NONCE = "rOprNGfwEbeRWgbNEkqO"
USER = Credentials(mechanism=Mechanism.SCRAM_SHA_256, username="user", password="pencil")
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_messages_are_those_of_the_rfc() -> None:
    """RFC 7677, section 3."""
    assert first_message(USER, NONCE) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    proof = prove(USER, NONCE, SERVER_FIRST)
    assert proof.message == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    check_server(SERVER_FINAL, proof)


def test_name_with_commas_and_equals_signs_is_escaped() -> None:
    """RFC 5802, section 5.1."""
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
