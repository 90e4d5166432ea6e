"""The two SASL requests and their answers, byte by byte.

The answers to SASL requests, against what the bridge reads as a client, and every version of the requests.
"""

from collections.abc import Callable

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import RequestHeader, read_request_header, request_frame, response_frame
from bridge.wire.packing import INT32, NO_TAGS, uvarint
from bridge.wire.sasl import (
    AuthenticateAnswer,
    BearerToken,
    Credentials,
    HandshakeAnswer,
    Mechanism,
    Step,
    authenticate_answer,
    authenticate_request,
    bearer_token,
    handshake_answer,
    handshake_request,
    is_refused,
    plain_token,
    read_authenticate,
    read_handshake,
    read_lifetime_ms,
    read_mechanism,
    read_step,
    read_token,
    read_username,
)
from tests.support.scripted_broker import request
from translators.dialects.errors import ErrorCode

BRIDGE = Credentials(mechanism=Mechanism.PLAIN, username="bridge", password="word")


def test_handshake_names_the_mechanism() -> None:
    """Version 1: tokens go in SaslAuthenticate requests."""
    frame = handshake_request(Mechanism.SCRAM_SHA_256, "me")
    header = read_request_header(frame)
    assert header is not None
    assert (header.api_key, header.api_version, header.client_id) == (ApiKey.SASL_HANDSHAKE, 1, "me")
    assert frame[header.body_offset :] == b"\x00\x0dSCRAM-SHA-256"


def test_handshake_answer_names_what_the_broker_takes() -> None:
    """Also where it refuses."""
    body = b"\x00\x21" + b"\x00\x00\x00\x01" + b"\x00\x05PLAIN"
    answer = read_handshake(response_frame(ApiKey.SASL_HANDSHAKE, 1, 0, body))
    assert answer == HandshakeAnswer(ErrorCode.UNSUPPORTED_SASL_MECHANISM, ("PLAIN",))


@pytest.mark.parametrize(("answer", "refused"), [(bytes(10), False), (bytes(9) + b"\x21", True), (bytes(9), True)])
def test_handshake_is_taken_or_refused_by_its_code(answer: bytes, refused: bool) -> None:
    """Behind length and correlation id; one that ends before it takes nothing."""
    assert is_refused(answer) is refused


def test_authenticate_carries_the_token() -> None:
    """PLAIN has one (RFC 4616)."""
    frame = authenticate_request(plain_token(BRIDGE), "me")
    header = read_request_header(frame)
    assert header is not None
    assert (header.api_key, header.api_version) == (ApiKey.SASL_AUTHENTICATE, 0)
    assert frame[header.body_offset :] == b"\x00\x00\x00\x0c\x00bridge\x00word"


def test_authenticate_answer_has_a_reason_or_a_token() -> None:
    """A null reason is none; a code that is not known here is one all the same."""
    good = response_frame(ApiKey.SASL_AUTHENTICATE, 0, 0, b"\x00\x00\xff\xff\x00\x00\x00\x01t")
    assert read_authenticate(good) == AuthenticateAnswer(ErrorCode.NONE, "", b"t")
    bad = response_frame(ApiKey.SASL_AUTHENTICATE, 0, 0, b"\x00\x3a\x00\x02no\x00\x00\x00\x00")
    assert read_authenticate(bad) == AuthenticateAnswer(ErrorCode.SASL_AUTHENTICATION_FAILED, "no", b"")
    odd = response_frame(ApiKey.SASL_AUTHENTICATE, 0, 0, b"\x7f\xff\xff\xff\x00\x00\x00\x00")
    assert read_authenticate(odd).error is ErrorCode.UNKNOWN_SERVER_ERROR


def test_answer_that_ends_early_is_malformed() -> None:
    """No broker writes one."""
    with pytest.raises(MalformedFrame):
        read_authenticate(response_frame(ApiKey.SASL_AUTHENTICATE, 0, 0, b"\x00\x00\xff\xff\x00\x00\x00\x09t"))
    with pytest.raises(MalformedFrame):
        read_handshake(b"\x00\x00\x00\x00")


def test_password_is_not_shown() -> None:
    """Whatever logs a value shows its repr."""
    assert "word" not in repr(BRIDGE)
    assert "secret" not in repr(AuthenticateAnswer(ErrorCode.NONE, "", b"secret"))


def flexible(token: bytes) -> bytes:
    """A request of version 2, whose bytes have a length of their own kind."""
    header = RequestHeader(0, ApiKey.SASL_AUTHENTICATE, 2, 7, "me", 0)
    return request_frame(header, bytes([len(token) + 1]) + token + b"\x00")


@pytest.mark.parametrize(
    ("token", "name"),
    [
        (b"\0alice\0secret", "alice"),
        (b"admin\0alice\0secret", "alice"),
        (b"n,,n=alice,r=nonce", "alice"),
        (b"y,a=x,n=a=2Cb=3Dc,r=nonce", "a,b=c"),
        (b"c=biws,r=nonce,p=proof", None),
        (b"n,,\x01auth=Bearer x\x01\x01", None),
        (b"", None),
    ],
)
@pytest.mark.parametrize("write", [lambda token: authenticate_request(token, "me"), flexible])
def test_name_of_a_login_is_read(token: bytes, name: str | None, write: Callable[[bytes], bytes]) -> None:
    """Of PLAIN and of the first step of SCRAM; a token of OAuth and later steps tell none."""
    frame = write(token)
    header = read_request_header(frame)
    assert header is not None
    assert read_username(header, frame) == name


def test_login_that_ends_early_is_malformed() -> None:
    """It says that more comes than does."""
    frame = authenticate_request(b"abc", "me")
    header = read_request_header(frame)
    assert header is not None
    with pytest.raises(MalformedFrame):
        read_username(header, frame[:-1])


def test_authenticate_answer_may_say_how_long_it_lasts() -> None:
    """From version 1 on (KIP-368)."""
    body = b"\x00\x00\xff\xff\x00\x00\x00\x00" + (7_000).to_bytes(8, "big")
    answer = read_authenticate(response_frame(ApiKey.SASL_AUTHENTICATE, 1, 0, body), 1)
    assert answer == AuthenticateAnswer(ErrorCode.NONE, "", b"", 7_000)
    header = read_request_header(authenticate_request(b"t", "me", 1))
    assert header is not None
    assert header.api_version == 1


def test_token_stands_behind_the_flags_of_channel_binding() -> None:
    """An empty binding, then the token (RFC 7628); it is shown nowhere else."""
    assert bearer_token(BearerToken("a.b.c")) == b"n,,\x01auth=Bearer a.b.c\x01\x01"
    assert "a.b.c" not in repr(BearerToken("a.b.c"))


def test_handshakes_are_read_and_answered() -> None:
    """As the bridge itself asks, and hears."""
    asked = handshake_request(Mechanism.PLAIN, "me")
    header = read_request_header(asked, 10_000)
    assert header is not None
    assert read_mechanism(header, asked) == "PLAIN"
    answer = read_handshake(handshake_answer(header, ErrorCode.UNSUPPORTED_SASL_MECHANISM, ("A", "B")))
    assert (answer.error, answer.mechanisms) == (ErrorCode.UNSUPPORTED_SASL_MECHANISM, ("A", "B"))


@pytest.mark.parametrize("version", [0, 1])
def test_steps_are_read_and_answered(version: int) -> None:
    """With a lifetime from version 1 on."""
    asked = authenticate_request(b"token", "me", version)
    header = read_request_header(asked, 10_000)
    assert header is not None
    assert read_token(header, asked) == b"token"
    frame = authenticate_answer(header, ErrorCode.NONE, None, b"v=", 5_000)
    answer = read_authenticate(frame, version)
    assert (answer.error, answer.token, answer.lifetime_ms) == (ErrorCode.NONE, b"v=", 5_000 if version else 0)
    refused = authenticate_answer(header, ErrorCode.SASL_AUTHENTICATION_FAILED, "no", b"")
    assert read_authenticate(refused, version).message == "no"
    assert read_step(refused, version) is Step.REFUSED


def test_flexible_version_is_spoken_too() -> None:
    """Version 2, which Java and librdkafka use."""
    asked = request(ApiKey.SASL_AUTHENTICATE, 2, 7, uvarint(6) + b"token" + NO_TAGS)
    header = read_request_header(asked, 10_000)
    assert header is not None
    assert read_token(header, asked) == b"token"
    frame = authenticate_answer(header, ErrorCode.NONE, None, b"", 5_000)
    assert INT32.unpack_from(frame)[0] == len(frame) - 4
    assert read_lifetime_ms(frame, 2) == 5_000
    assert read_step(frame, 2) is Step.LAST
