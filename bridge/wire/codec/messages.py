"""Any message of a known api by api, version and direction: bytes to fields and back, each compiled once.

This is also the generic door for rewriting: `read_reply_fields` and `reply_frame` serve Metadata, FindCoordinator,
DescribeCluster and ApiVersions as well as the group apis. A record that was read may be changed and written again;
unknown tagged fields are lost on that way, so what needs no change should go on as the bytes it came in.
"""

from functools import cache
from typing import NamedTuple

from bridge.wire.apis import api_name, response_header_version
from bridge.wire.codec.primitives import Fault, TooMany, allow, read_uvarint
from bridge.wire.codec.reader import ReadRecord, compile_reader
from bridge.wire.codec.record import Fields, Record
from bridge.wire.codec.schema import MESSAGE_KEYS, Direction, load_message
from bridge.wire.codec.writer import WriteFields, compile_writer
from bridge.wire.errors import MalformedFrame, TooManyElements
from bridge.wire.frames import LENGTH_BYTES, FrameBytes, RequestHeader, request_frame, response_frame
from bridge.wire.versions import VersionTable, readable

READABLE: VersionTable = {api_key: readable(api_key) for api_key in MESSAGE_KEYS}
"""The apis and versions that can be read and written."""


class Place(NamedTuple):
    """Where a body begins in its frame, for the error, and how many elements are read of it; None reads all."""

    offset: int = 0
    elements_max: int | None = None


WHEREVER = Place()
_VERSION_OFFSET = 6
_REPLY_BODY_OFFSET = 4


def read_fields(api_key: int, version: int, direction: Direction, body: FrameBytes, offset: int = 0) -> Record:
    """Read a body to its last byte. `offset` is where the body begins in its frame, for the error.

    Raises MalformedFrame for anything but exactly one message of that api and version.
    """
    return _read_exactly(_Which(api_key, version, direction), bytes(body), 0, offset)


def body_bytes(api_key: int, version: int, direction: Direction, fields: Fields) -> bytearray:
    """Write a body. Every field of the version must be in `fields`; others are ignored.

    Raises KeyError for a missing field and ValueError for a null that the version can't say: bugs, not bad input.
    """
    out = bytearray()
    _writer(api_key, version, direction)(out, fields)
    return out


def read_reply_fields(api_key: int, version: int, frame: FrameBytes) -> tuple[int, Record]:
    """Read an answer, given without its length prefix: correlation id and fields. Raises MalformedFrame."""
    buf = bytes(frame)
    try:
        body_offset = _reply_body_offset(api_key, version, buf)
    except Fault as fault:
        raise MalformedFrame(api_name(api_key), version, "header", LENGTH_BYTES + fault.offset, fault.reason) from fault
    record = _read_exactly(_Which(api_key, version, Direction.RESPONSE), buf, body_offset, LENGTH_BYTES)
    return int.from_bytes(buf[:_REPLY_BODY_OFFSET], signed=True), record


def reply_frame(api_key: int, version: int, correlation_id: int, fields: Fields) -> bytes:
    """Write a whole answer, length prefix included."""
    body = body_bytes(api_key, version, Direction.RESPONSE, fields)
    return response_frame(api_key, version, correlation_id, body)


def read_request_fields(api_key: int, version: int, body: FrameBytes, place: Place = WHEREVER) -> Record:
    """Read the body of a request. Raises MalformedFrame, TooManyElements for one that is more than is read."""
    buf = bytes(body) if place.elements_max is None else allow(body, place.elements_max)
    return _read_exactly(_Which(api_key, version, Direction.REQUEST), buf, 0, place.offset)


def whole_request_frame(
    api_key: int, version: int, correlation_id: int, client_id: str | None, fields: Fields
) -> bytes:
    """Write a whole request, length prefix and header included."""
    header = RequestHeader(0, api_key, version, correlation_id, client_id, 0)
    return request_frame(header, body_bytes(api_key, version, Direction.REQUEST, fields))


class _Which(NamedTuple):
    api_key: int
    version: int
    direction: Direction

    def malformed(self, field: str, offset: int, reason: str) -> MalformedFrame:
        return MalformedFrame(api_name(self.api_key), self.version, field, offset, reason)


def _read_exactly(which: _Which, buf: bytes, at: int, offset: int) -> Record:
    """Read from `at` to the end of `buf`, which begins at `offset` of its frame."""
    try:
        record, end = _reader(*which)(buf, at)
    except TooMany as fault:
        api = api_name(which.api_key)
        raise TooManyElements(api, which.version, fault.field(), offset + fault.offset, fault.reason) from fault
    except Fault as fault:
        raise which.malformed(fault.field(), offset + fault.offset, fault.reason) from fault
    if end != len(buf):
        raise which.malformed("end", offset + end, f"{len(buf) - end} bytes are left after the last field")
    return record


def _reply_body_offset(api_key: int, version: int, buf: bytes) -> int:
    if len(buf) < _REPLY_BODY_OFFSET:
        raise Fault(0, f"{len(buf)} bytes can't hold a correlation id")
    at = _REPLY_BODY_OFFSET
    if response_header_version(api_key, version) == 0:
        return at
    count, at = read_uvarint(buf, at)
    for _ in range(count):
        _, at = read_uvarint(buf, at)
        size, start = read_uvarint(buf, at)
        at = start + size
        if at > len(buf):
            raise Fault(start, f"a tag of {size} bytes, {len(buf) - start} left")
    return at


@cache
def _reader(api_key: int, version: int, direction: Direction) -> ReadRecord:
    _refuse_unknown(api_key, version)
    return compile_reader(load_message(api_key, direction), version)


@cache
def _writer(api_key: int, version: int, direction: Direction) -> WriteFields:
    _refuse_unknown(api_key, version)
    return compile_writer(load_message(api_key, direction), version)


def _refuse_unknown(api_key: int, version: int) -> None:
    versions = READABLE.get(api_key)
    if versions is None:
        raise MalformedFrame(api_name(api_key), version, "request_api_key", LENGTH_BYTES, "no api that is read here")
    if version not in versions:
        reason = f"{version}, but {versions.lowest} to {versions.highest} are spoken"
        raise MalformedFrame(api_name(api_key), version, "request_api_version", _VERSION_OFFSET, reason)
