"""Laws of the wire codec on fields and bytes: equal to kafka-python's, undone by reading, and no stray exception."""

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.wire.apis import is_flexible
from bridge.wire.codec.registry import (
    SUPPORTED,
    body_bytes,
    decode_reply,
    decode_request,
    encode_reply,
    group_ids,
    peek_group_id,
    read_fields,
    reply_frame,
    whole_request_frame,
)
from bridge.wire.codec.schema import Direction
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import RequestHeader
from tests.support.codec_samples import Case, cases, fields_of, oracle_frame, restricted, sample, struct_values

HEADER = RequestHeader(0, 0, 0, 5, "c", 0)
UNTAGGED = {
    "supported_features": (),
    "finalized_features_epoch": -1,
    "finalized_features": (),
    "zk_migration_ready": False,
}
"""Tagged fields of ApiVersions at their defaults, so that the tag section is one byte."""
any_case = st.sampled_from(list(cases()))
decodable = st.sampled_from(
    [(api_key, version) for api_key, (first, last) in SUPPORTED.items() for version in range(first, last + 1)]
)


@settings(max_examples=600, deadline=None)
@given(any_case, st.data())
def test_any_fields_are_written_as_kafka_python_does_and_read_back(case: Case, data: st.DataObject) -> None:
    """The writer agrees with another implementation, and reading undoes writing."""
    api_key, version, direction = case
    values = data.draw(struct_values(fields_of(case), version))
    ours = (
        whole_request_frame(api_key, version, 5, "c", values)
        if direction is Direction.REQUEST
        else reply_frame(api_key, version, 5, values)
    )
    assert ours == oracle_frame(case, HEADER, values)
    body = body_bytes(api_key, version, direction, values)
    assert restricted(read_fields(api_key, version, direction, body), fields_of(case), version) == values


@settings(max_examples=400, deadline=None)
@given(decodable, st.binary(max_size=120))
def test_random_bytes_are_a_message_or_malformed(which: tuple[int, int], body: bytes) -> None:
    """Nothing but MalformedFrame comes out of bad bytes, on any door."""
    with suppress(MalformedFrame):
        group_ids(decode_request(*which, body))
    with suppress(MalformedFrame):
        decode_reply(*which, body)
    with suppress(MalformedFrame):
        peek_group_id(*which, body)


@settings(max_examples=600, deadline=None)
@given(decodable, st.integers(0, 9), st.data())
def test_one_changed_byte_is_a_message_or_malformed(which: tuple[int, int], seed: int, data: st.DataObject) -> None:
    """Near misses reach deeper than random bytes; what does decode can be encoded again."""
    api_key, version = which
    request = body_bytes(api_key, version, Direction.REQUEST, sample((*which, Direction.REQUEST), seed))
    _change_one(request, data)
    with suppress(MalformedFrame):
        decode_request(api_key, version, request)
    reply = bytearray(reply_frame(api_key, version, 5, sample((*which, Direction.RESPONSE), seed))[4:])
    _change_one(reply, data)
    with suppress(MalformedFrame):
        correlation_id, decoded = decode_reply(api_key, version, reply)
        assert decode_reply(api_key, version, encode_reply(api_key, version, correlation_id, decoded)[4:])


def _change_one(frame: bytearray, data: st.DataObject) -> None:
    if frame:
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([case for case in cases() if is_flexible(*case[:2])]),
    st.lists(st.tuples(st.integers(20, 300), st.binary(max_size=140)), max_size=3),
)
def test_unknown_tags_at_the_end_are_skipped(case: Case, tags: list[tuple[int, bytes]]) -> None:
    """A newer peer may tag a flexible message; its other fields read the same (KIP-482)."""
    body = bytes(body_bytes(*case, {**sample(case, 0), **UNTAGGED}))
    section = _uvarint(len(tags)) + b"".join(_uvarint(tag) + _uvarint(len(value)) + value for tag, value in tags)
    assert read_fields(*case, body[:-1] + section) == read_fields(*case, body)


def _uvarint(value: int) -> bytes:
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + _uvarint(value >> 7)
