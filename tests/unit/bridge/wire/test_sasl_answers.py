"""The answers to SASL requests, against what the bridge reads as a client, and every version of the requests."""

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.frames import read_request_header
from bridge.wire.packing import INT32, NO_TAGS, uvarint
from bridge.wire.sasl import (
    Mechanism,
    Step,
    authenticate_request,
    handshake_request,
    read_authenticate,
    read_handshake,
    read_lifetime_ms,
    read_step,
)
from bridge.wire.sasl_answers import authenticate_answer, handshake_answer, read_mechanism, read_token
from tests.support.scripted_broker import request
from translators.dialects.errors import ErrorCode


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
