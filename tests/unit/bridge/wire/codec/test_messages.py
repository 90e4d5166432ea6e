"""Every message of every version, against kafka-python's bytes, and every way to cut it."""

import pytest

from bridge.wire.apis import ApiKey, api_name
from bridge.wire.codec.messages import (
    Place,
    body_bytes,
    read_fields,
    read_reply_fields,
    read_request_fields,
    reply_frame,
    whole_request_frame,
)
from bridge.wire.codec.schema import Direction
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import RequestHeader, read_request_header
from tests.support.codec_samples import Case, case_name, cases, fields_of, oracle_frame, restricted, sample

HEADER = RequestHeader(0, 0, 0, 77, "client-é", 0)
every_case = pytest.mark.parametrize("case", list(cases()), ids=case_name)


@every_case
@pytest.mark.parametrize("seed", [0, 1])
def test_message_is_written_as_kafka_python_writes_it(case: Case, seed: int) -> None:
    """Another implementation writes the same frame, header and length included."""
    api_key, version, direction = case
    values = sample(case, seed)
    ours = (
        whole_request_frame(api_key, version, 77, "client-é", values)
        if direction is Direction.REQUEST
        else reply_frame(api_key, version, 77, values)
    )
    assert ours == oracle_frame(case, HEADER, values)


@every_case
@pytest.mark.parametrize("seed", [0, 1])
def test_message_of_kafka_python_reads_to_the_same_fields(case: Case, seed: int) -> None:
    """Reading undoes another implementation's writing."""
    api_key, version, direction = case
    values = sample(case, seed)
    frame = oracle_frame(case, HEADER, values)
    if direction is Direction.REQUEST:
        header = read_request_header(frame)
        assert header is not None
        record = read_request_fields(api_key, version, frame[header.body_offset :], Place(header.body_offset))
    else:
        correlation_id, record = read_reply_fields(api_key, version, memoryview(frame)[4:])
        assert correlation_id == 77
    assert restricted(record, fields_of(case), version) == values


@every_case
def test_message_cut_anywhere_is_malformed(case: Case) -> None:
    """Truncation at every byte is an error that names api and version."""
    api_key, version, direction = case
    body = bytes(body_bytes(api_key, version, direction, sample(case, 0)))
    for size in range(len(body)):
        with pytest.raises(MalformedFrame) as caught:
            read_fields(api_key, version, direction, body[:size], 100)
        assert caught.value.version == version
        assert caught.value.api == api_name(api_key)
        assert caught.value.field
        assert 100 <= caught.value.offset <= 100 + size


@every_case
def test_message_with_one_byte_behind_is_malformed(case: Case) -> None:
    """Trailing bytes are an error at the place where they begin."""
    api_key, version, direction = case
    body = bytes(body_bytes(api_key, version, direction, sample(case, 0)))
    with pytest.raises(MalformedFrame) as caught:
        read_fields(api_key, version, direction, body + b"\0", 12)
    assert (caught.value.field, caught.value.offset) == ("end", 12 + len(body))


def test_fault_in_nested_array_names_path_and_offset() -> None:
    """The path counts elements from zero, the offset from the start of the frame."""
    partition = {"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": -1, "committed_metadata": ""}
    values = {
        "group_id": "g",
        "generation_id_or_member_epoch": 1,
        "member_id": "m",
        "group_instance_id": None,
        "topics": [{"name": "t", "partitions": [partition, partition]}],
    }
    body = bytes(body_bytes(ApiKey.OFFSET_COMMIT, 7, Direction.REQUEST, values))
    broken = body[:-2] + b"\xff\xf0"
    with pytest.raises(MalformedFrame) as caught:
        read_request_fields(ApiKey.OFFSET_COMMIT, 7, broken, Place(30))
    assert caught.value.field == "topics[0].partitions[1].committed_metadata"
    assert caught.value.offset == 30 + len(body) - 2
    assert caught.value.reason == "length -16 is negative"


@pytest.mark.parametrize(
    ("api_key", "version", "field"),
    [
        (ApiKey.PRODUCE, 9, "request_api_key"),
        (9999, 0, "request_api_key"),
        (-1, 0, "request_api_key"),
        (ApiKey.JOIN_GROUP, 10, "request_api_version"),
        (ApiKey.OFFSET_COMMIT, 1, "request_api_version"),
        (ApiKey.JOIN_GROUP, -1, "request_api_version"),
    ],
)
def test_unknown_api_or_version_is_malformed(api_key: int, version: int, field: str) -> None:
    """What isn't spoken is refused like bad bytes, with the range that is."""
    with pytest.raises(MalformedFrame) as caught:
        read_request_fields(api_key, version, b"")
    assert caught.value.field == field


def test_answer_with_unknown_header_tag_is_read() -> None:
    """A newer broker may tag the header."""
    body = bytes(body_bytes(ApiKey.HEARTBEAT, 4, Direction.RESPONSE, {"throttle_time_ms": 0, "error_code": 27}))
    frame = b"\0\0\0\x09" + b"\x01\x05\x02ab" + body
    assert read_reply_fields(ApiKey.HEARTBEAT, 4, frame) == (9, {"throttle_time_ms": 0, "error_code": 27})


@pytest.mark.parametrize("frame", [b"", b"\0\0\0", b"\0\0\0\1", b"\0\0\0\1\x01\x05\x09ab"])
def test_answer_without_whole_header_is_malformed(frame: bytes) -> None:
    """The header is part of the frame."""
    with pytest.raises(MalformedFrame) as caught:
        read_reply_fields(ApiKey.HEARTBEAT, 4, frame)
    assert caught.value.field == "header"


def test_correlation_id_may_be_negative() -> None:
    """It is a signed number of the client's choosing."""
    frame = reply_frame(ApiKey.HEARTBEAT, 0, -5, {"error_code": 0})
    assert read_reply_fields(ApiKey.HEARTBEAT, 0, frame[4:])[0] == -5
