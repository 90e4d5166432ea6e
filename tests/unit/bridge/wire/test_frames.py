"""Frames and headers, whole, in parts and wrong, against kafka-python's encoder."""

import pytest
from kafka.protocol.consumer.group import HeartbeatRequest, HeartbeatResponse, JoinGroupRequest
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest

from bridge.wire.apis import ApiKey
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import (
    MAX_HEADER_BYTES,
    RequestHeader,
    ResponseHeader,
    read_request_header,
    read_response_header,
    request_frame,
    response_frame,
    response_header_bytes,
)
from tests.support.oracle_frames import Message, reframed, request_bytes, response_bytes

FIXED = 14


def _requests() -> list[tuple[int, int, Message]]:
    return (
        [(ApiKey.HEARTBEAT, v, HeartbeatRequest(version=v)) for v in range(5)]
        + [(ApiKey.JOIN_GROUP, v, JoinGroupRequest(version=v)) for v in range(10)]
        + [(ApiKey.API_VERSIONS, v, ApiVersionsRequest(version=v)) for v in range(5)]
        + [(ApiKey.METADATA, v, MetadataRequest(version=v, topics=[])) for v in range(14)]
    )


def test_request_header_is_read_for_every_version() -> None:
    """Header versions 1 and 2; the client id stays a plain string in flexible versions (KIP-482)."""
    for api_key, version, message in _requests():
        frame = request_bytes(message, correlation_id=-5, client_id="clié")
        flexible = 1 if version >= {11: 6, 12: 4, 18: 3, 3: 9}[api_key] else 0
        expected = RequestHeader(len(frame), api_key, version, -5, "clié", FIXED + 5 + flexible)
        assert read_request_header(frame) == expected
        assert read_request_header(memoryview(bytearray(frame))) == expected
        assert request_frame(expected, frame[expected.body_offset :]) == frame


def test_request_header_needs_more_until_it_is_complete() -> None:
    """Only header bytes are looked at, so a big frame can be streamed after them."""
    for _, _, message in _requests():
        frame = request_bytes(message)
        whole = read_request_header(frame)
        assert whole is not None
        for end in range(len(frame) + 1):
            expected = whole if end >= whole.body_offset else None
            assert read_request_header(frame[:end]) == expected
        assert read_request_header(frame + b"\xff" * 40) == whole


def test_null_client_id_is_none() -> None:
    """Old tools send no client id."""
    frame = request_frame(RequestHeader(0, ApiKey.HEARTBEAT, 0, 3, None, 0), b"xy")
    assert read_request_header(frame) == RequestHeader(len(frame), ApiKey.HEARTBEAT, 0, 3, None, FIXED)


def test_controlled_shutdown_v0_header_ends_after_the_correlation_id() -> None:
    """Header version 0."""
    frame = request_frame(RequestHeader(0, ApiKey.CONTROLLED_SHUTDOWN, 0, 3, None, 0), b"\x00\x00\x00\x01")
    assert read_request_header(frame) == RequestHeader(16, ApiKey.CONTROLLED_SHUTDOWN, 0, 3, None, 12)


def test_header_tags_are_passed_over() -> None:
    """A newer client may put tags into its header."""
    head = b"\x00\x0c\x00\x04\x00\x00\x00\x07\x00\x01c" + b"\x02" + b"\x00\x03abc" + b"\x81\x01\x00"
    frame = reframed(head + b"body")
    assert read_request_header(frame) == RequestHeader(len(frame), 12, 4, 7, "c", 4 + len(head))
    for end in range(4 + len(head)):
        assert read_request_header(frame[:end]) is None


@pytest.mark.parametrize(
    ("data", "field", "reason"),
    [
        (b"\xff\xff\xff\xff", "length", "-1 bytes can't hold a header"),
        (b"\x00\x00\x00\x07", "length", "7 bytes can't hold a header"),
        (b"\x7f\xff\xff\xff", "length", "a frame of 2147483647 bytes is over the limit of 104857600"),
        (b"\x16\x03\x01\x02", "length", "a TLS record came to a plain port"),
        (b"\x15\x03\x01\x00", "length", "a TLS record came to a plain port"),
        (b"GET / HTTP/1.1", "length", "an HTTP request came to a Kafka port"),
        (b"POST", "length", "an HTTP request came to a Kafka port"),
        (b"HEAD", "length", "an HTTP request came to a Kafka port"),
        (b"PRI * HTTP/2.0", "length", "an HTTP request came to a Kafka port"),
        (b"\x00\x00\x00\x10\xff\xff\x00\x00\x00\x00\x00\x01", "request_api_key", "-1 is negative"),
        (b"\x00\x00\x00\x10\x00\x0b\xff\xfe\x00\x00\x00\x01", "request_api_version", "-2 is negative"),
        (b"\x00\x00\x00\x08\x00\x0b\x00\x00\x00\x00\x00\x01", "client_id", "the frame ends before it"),
        (b"\x00\x00\x00\x0a\x00\x0b\x00\x00\x00\x00\x00\x01\xff\xfe", "client_id", "length -2 is negative"),
        (b"\x00\x00\x00\x0b\x00\x0b\x00\x00\x00\x00\x00\x01\x00\x02", "client_id", "length 2 runs over the end"),
        (b"\x00\x00\x00\x0b\x00\x0b\x00\x00\x00\x00\x00\x01\x00\x01\xff", "client_id", "not UTF-8"),
        (b"\x00\x00\x00\x0a\x00\x0b\x00\x09\x00\x00\x00\x01\xff\xff", "tagged_fields", "the frame ends inside it"),
        (b"\x00\x00\x00\x0d\x00\x0b\x00\x09\x00\x00\x00\x01\xff\xff\x01\x00\x09", "tagged_fields", "a tag of 9 bytes"),
        (
            b"\x00\x00\x00\x20\x00\x0b\x00\x09\x00\x00\x00\x01\xff\xff\x80\x80\x80\x80\x80",
            "tagged_fields",
            "a varint of more than 5 bytes",
        ),
    ],
)
def test_impossible_start_is_refused_with_a_reason(data: bytes, field: str, reason: str) -> None:
    """As soon as it can't become right, and saying what it looks like."""
    with pytest.raises(MalformedFrame) as caught:
        read_request_header(data)
    assert caught.value.field == field
    assert caught.value.reason.startswith(reason)


def test_header_longer_than_its_limit_is_refused_before_it_arrives() -> None:
    """No memory for a header tag of megabytes."""
    data = b"\x00\x10\x00\x00\x00\x0b\x00\x09\x00\x00\x00\x01\xff\xff\x01\x00\x80\x80\x04"
    with pytest.raises(MalformedFrame, match=f"more than {MAX_HEADER_BYTES} bytes"):
        read_request_header(data)


def test_frame_limit_is_the_callers() -> None:
    """`length` counts without its own four bytes, as Kafka's socket.request.max.bytes does."""
    frame = request_bytes(HeartbeatRequest(version=0))
    assert read_request_header(frame, max_frame_bytes=len(frame) - 4) is not None
    with pytest.raises(MalformedFrame, match="over the limit"):
        read_request_header(frame, max_frame_bytes=len(frame) - 5)


def test_unknown_key_is_read_up_to_the_client_id() -> None:
    """The session decides what an unknown key gets; the header says who asked."""
    frame = request_frame(RequestHeader(0, 10_000, 2, 9, "mine", 0), b"...")
    assert read_request_header(frame) == RequestHeader(len(frame), 10_000, 2, 9, "mine", FIXED + 4)


def test_response_header_is_read_for_every_version() -> None:
    """Header versions 0 and 1, ApiVersions always 0, whole and in parts."""
    messages: list[tuple[int, int, Message]] = [
        *((ApiKey.HEARTBEAT, v, HeartbeatResponse(version=v)) for v in range(5)),
        *((ApiKey.API_VERSIONS, v, ApiVersionsResponse(version=v)) for v in range(5)),
    ]
    for api_key, version, message in messages:
        frame = response_bytes(message, correlation_id=99)
        body_offset = 9 if (api_key, version) == (ApiKey.HEARTBEAT, 4) else 8
        expected = ResponseHeader(len(frame), 99, body_offset)
        assert response_frame(api_key, version, 99, frame[body_offset:]) == frame
        assert frame[4:body_offset] == response_header_bytes(99, flexible=body_offset == 9)
        for end in range(len(frame) + 1):
            found = read_response_header(frame[:end], api_key, version)
            assert found == (expected if end >= body_offset else None)


def test_response_too_short_for_a_header_is_refused() -> None:
    """A broker's bad bytes are named like a client's."""
    with pytest.raises(MalformedFrame, match="3 bytes can't hold a header"):
        read_response_header(b"\x00\x00\x00\x03", ApiKey.HEARTBEAT, 0)
    with pytest.raises(MalformedFrame, match="the frame ends inside it"):
        read_response_header(b"\x00\x00\x00\x04\x00\x00\x00\x01", ApiKey.HEARTBEAT, 4)
