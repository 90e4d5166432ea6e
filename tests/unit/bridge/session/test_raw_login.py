"""Tokens without headers, and the requests that say the same."""

import pytest

from bridge.session.raw_login import BareToken, RawLogin, bare_answer, said_as_next, token_end
from bridge.wire.apis import ApiKey
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import RequestHeader, read_request_header
from bridge.wire.sasl import authenticate_answer, read_mechanism, read_token
from tests.support.scripted_broker import request
from translators.dialects.errors import ErrorCode


def handshake(mechanism: bytes, version: int = 0) -> tuple[RequestHeader, bytes]:
    """A SaslHandshake with its header."""
    frame = request(ApiKey.SASL_HANDSHAKE, version, 7, len(mechanism).to_bytes(2, "big") + mechanism)
    header = read_request_header(frame)
    assert header is not None
    return header, frame


@pytest.mark.parametrize(
    ("mechanism", "steps"), [(b"PLAIN", 1), (b"OAUTHBEARER", 1), (b"SCRAM-SHA-256", 2), (b"SCRAM-SHA-512", 2)]
)
def test_login_has_as_many_tokens_as_its_mechanism(mechanism: bytes, steps: int) -> None:
    """Frames begin behind the last one."""
    login, seen = RawLogin.begun_by(*handshake(mechanism)), 0
    while login is not None:
        assert login.client_id == "client"
        login, seen = login.after_token(), seen + 1
    assert seen == steps


@pytest.mark.parametrize("mechanism", [b"GSSAPI", b"AWS_MSK_IAM", b"plain", b""])
def test_login_by_another_mechanism_is_none(mechanism: bytes) -> None:
    """Nobody here knows how many tokens it has."""
    assert RawLogin.begun_by(*handshake(mechanism)) is None


def test_handshake_without_a_mechanism_is_malformed() -> None:
    """As one of version 1."""
    frame = request(ApiKey.SASL_HANDSHAKE, 0, 7)
    header = read_request_header(frame)
    assert header is not None
    with pytest.raises(MalformedFrame):
        RawLogin.begun_by(header, frame)


def test_handshake_is_said_as_the_next_version() -> None:
    """Nothing else of it changes."""
    assert said_as_next(*handshake(b"PLAIN")) == handshake(b"PLAIN", version=1)
    assert read_mechanism(*said_as_next(*handshake(b"PLAIN"))) == "PLAIN"


@pytest.mark.parametrize("token", [b"", b"\0me\0secret", bytes(70_000)])
def test_token_becomes_the_request_that_says_it(token: bytes) -> None:
    """With the client's name, so that a broker's log has it."""
    header, frame = RawLogin("client", 1).request(token)
    assert isinstance(header, BareToken)
    assert header == read_request_header(frame)
    assert (header.api_key, header.api_version, header.client_id) == (ApiKey.SASL_AUTHENTICATE, 0, "client")
    assert read_token(header, frame) == token


def test_end_of_a_token_is_known_by_its_length() -> None:
    """A length that is none ends the connection."""
    assert [token_end(b"\0\0\1\0"[:size], 256) for size in range(5)] == [4, 4, 4, 4, 260]
    assert token_end(bytes(4), 256) == 4
    for length in (257, -1, -(2**31)):
        with pytest.raises(MalformedFrame):
            token_end(length.to_bytes(4, "big", signed=True), 256)


def test_answer_is_as_bare_as_its_token() -> None:
    """The brokers' own answers to such clients: the token behind its length, and nothing at all for a refusal."""
    header, _ = RawLogin("client", 1).request(b"token")
    assert bare_answer(authenticate_answer(header, ErrorCode.NONE, None, b"")) == bytes(4)
    assert bare_answer(authenticate_answer(header, ErrorCode.NONE, None, b"r=1")) == b"\0\0\0\3r=1"
    assert bare_answer(authenticate_answer(header, ErrorCode.SASL_AUTHENTICATION_FAILED, "no", b"")) is None
    with pytest.raises(MalformedFrame):
        bare_answer(authenticate_answer(header, ErrorCode.NONE, None, b"r=1")[:-1])
