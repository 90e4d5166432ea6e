"""The fast path for Heartbeat against kafka-python, for every version, whole and wrong."""

from functools import partial

import pytest
from kafka.protocol.consumer.group import HeartbeatRequest, HeartbeatResponse

from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import read_request_header
from bridge.wire.heartbeat import heartbeat_reply, read_heartbeat
from tests.support.oracle_frames import cut_short, is_malformed, reframed, request_bytes, response_bytes
from translators.dialects.classic import Heartbeat
from translators.dialects.ids import GroupId, InstanceId, MemberId

VERSIONS = range(5)
LONG = "g" * 300


def _frame(version: int, group: str, generation: int, member: str, instance: str | None) -> bytes:
    fields = {"group_id": group, "generation_id": generation, "member_id": member}
    if version >= 3:
        return request_bytes(HeartbeatRequest(version=version, group_instance_id=instance, **fields))
    return request_bytes(HeartbeatRequest(version=version, **fields))


def _read(version: int, frame: bytes) -> Heartbeat:
    header = read_request_header(frame)
    assert header is not None
    return read_heartbeat(version, frame, header.body_offset)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_reads_as_written(version: int) -> None:
    """Short and long strings, empty ones, with and without an instance id (KIP-345)."""
    for group in ("orders", "ordérs", "", LONG):
        for member in ("m-1", "", LONG):
            for instance in (None, "", "i-1", LONG):
                frame = _frame(version, group, 41, member, instance)
                seat = InstanceId(instance) if version >= 3 and instance is not None else None
                expected = Heartbeat(GroupId(group), 41, MemberId(member), seat)
                assert _read(version, frame) == expected
                header = read_request_header(frame)
                assert header is not None
                assert read_heartbeat(version, memoryview(frame), header.body_offset) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_every_answer_is_as_kafka_python_writes_it(version: int) -> None:
    """Throttle time from version 1, tags in header and body from version 4."""
    for code in (0, 22, 25, 27, 82, -1):
        message = HeartbeatResponse(version=version, throttle_time_ms=0, error_code=code)
        assert heartbeat_reply(version, -9, code) == response_bytes(message, correlation_id=-9)


@pytest.mark.parametrize("version", VERSIONS)
def test_one_byte_short_or_long_is_refused(version: int) -> None:
    """kafka-python reads a shorter member id here; a wrong id would fence a live member."""
    frame = _frame(version, "orders", 41, "member-1", "seat-1")
    header = read_request_header(frame)
    assert header is not None
    for short in cut_short(frame)[header.body_offset - 4 :]:
        assert is_malformed(partial(read_heartbeat, version, short, header.body_offset))
    with pytest.raises(MalformedFrame, match=f"HEARTBEAT v{version}, field end"):
        _read(version, reframed(frame[4:] + b"\x00"))


def test_body_tags_are_passed_over() -> None:
    """A newer client may add tags."""
    frame = _frame(4, "orders", 41, "m", None)
    assert _read(4, reframed(frame[4:-1] + b"\x01\x07\x02hi")) == _read(4, frame)


@pytest.mark.parametrize(
    ("version", "body", "field"),
    [
        (4, b"\x00\x00\x00\x00\x01\x02m\x00\x00", "group_id"),
        (4, b"\x02g\x00\x00\x00\x01\x00\x00\x00", "member_id"),
        (0, b"\xff\xff\x00\x00\x00\x01\x00\x01m", "group_id"),
        (3, b"\x00\x01g\x00\x00\x00\x01\x00\x01m\xff\xfe", "group_instance_id"),
        (0, b"\x00\x01\xff\x00\x00\x00\x01\x00\x01m", "group_id"),
        (5, b"", "request_api_version"),
    ],
)
def test_null_where_none_may_be_is_refused(version: int, body: bytes, field: str) -> None:
    """Group and member id are never null, and UTF-8."""
    with pytest.raises(MalformedFrame) as caught:
        read_heartbeat(version, body, 0)
    assert caught.value.field == field
