"""The one door to the codecs: frames of the group APIs to dialect values and back, and any known message to its fields.

Messages whose fields are only touched up (Metadata, FindCoordinator, DescribeCluster, ApiVersions) have their own pair:
`read_reply_fields` gives correlation id and fields, `reply_frame` writes them again; the same pair exists for requests.
A record that was read may be changed and written again; unknown tagged fields are lost on that way, so what needs no
change should go on as the bytes it came in. Errors of bad input are MalformedFrame throughout, with offsets from the
start of the frame.
"""

from functools import cache
from typing import NamedTuple, cast

from bridge.wire.apis import ApiKey, api_name, is_flexible, response_header_version
from bridge.wire.codec.admin import DELETE_GROUPS, DESCRIBE_GROUPS, LIST_GROUPS
from bridge.wire.codec.api import Api, Fields, Record
from bridge.wire.codec.classic import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from bridge.wire.codec.configs import ALTER_CONFIGS, DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS, LIST_CONFIG_RESOURCES
from bridge.wire.codec.consumer import CONSUMER_GROUP_DESCRIBE, CONSUMER_GROUP_HEARTBEAT
from bridge.wire.codec.offsets import OFFSET_COMMIT, OFFSET_DELETE, OFFSET_FETCH, TXN_OFFSET_COMMIT, with_commit_time
from bridge.wire.codec.primitives import Fault, TooMany, allow, read_uvarint, string_reader
from bridge.wire.codec.reader import ReadRecord, compile_reader
from bridge.wire.codec.schema import MESSAGE_KEYS, NO_VERSION, Direction, Message, load_message
from bridge.wire.codec.writer import WriteFields, compile_writer
from bridge.wire.errors import MalformedFrame, TooManyElements
from bridge.wire.frames import (
    LENGTH_BYTES,
    REQUEST_VERSION_OFFSET,
    FrameBytes,
    RequestHeader,
    request_frame,
    response_frame,
)
from bridge.wire.versions import VersionTable, is_said_again, readable
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId
from translators.dialects.messages import GroupReply, GroupRequest

# ----------------------------------------------------------------------------------------- messages
# Any message of a known api by api, version and direction: bytes to fields and back, each compiled once.

READABLE: VersionTable = {api_key: readable(api_key) for api_key in MESSAGE_KEYS}
"""The apis and versions that can be read and written; `is_read` knows the older ones as well that can be read."""


def is_read(api_key: int, version: int) -> bool:
    """Whether requests of this version can be read, and answers to them written."""
    return version in READABLE.get(api_key, NO_VERSION) or is_said_again(api_key, version)


class BodyPlace(NamedTuple):
    """Where a body begins in its frame, for the error, and how many elements are read of it; None reads all."""

    offset: int = 0
    elements_max: int | None = None


WHEREVER = BodyPlace()
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


def read_request_fields(api_key: int, version: int, body: FrameBytes, place: BodyPlace = WHEREVER) -> Record:
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
    return compile_reader(_message(api_key, version, direction), version)


@cache
def _writer(api_key: int, version: int, direction: Direction) -> WriteFields:
    return compile_writer(_message(api_key, version, direction), version)


def _message(api_key: int, version: int, direction: Direction) -> Message:
    _refuse_unknown(api_key, version)
    message = load_message(api_key, direction)
    is_older = is_said_again(api_key, version) and direction is Direction.REQUEST
    return with_commit_time(message) if is_older else message


def _refuse_unknown(api_key: int, version: int) -> None:
    versions = READABLE.get(api_key)
    if versions is None:
        raise MalformedFrame(api_name(api_key), version, "request_api_key", LENGTH_BYTES, "no api that is read here")
    if not is_read(api_key, version):
        reason = f"{version}, but {versions.lowest} to {versions.highest} are spoken"
        raise MalformedFrame(api_name(api_key), version, "request_api_version", REQUEST_VERSION_OFFSET, reason)


# ----------------------------------------------------------------------------------------- registry
# The one door to the codecs: frames of the group APIs to dialect values and back, by api key and version.

Request = GroupRequest
Reply = GroupReply

APIS: dict[int, Api] = {
    ApiKey.OFFSET_COMMIT: OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH: OFFSET_FETCH,
    ApiKey.JOIN_GROUP: JOIN_GROUP,
    ApiKey.HEARTBEAT: HEARTBEAT,
    ApiKey.LEAVE_GROUP: LEAVE_GROUP,
    ApiKey.SYNC_GROUP: SYNC_GROUP,
    ApiKey.DESCRIBE_GROUPS: DESCRIBE_GROUPS,
    ApiKey.LIST_GROUPS: LIST_GROUPS,
    ApiKey.TXN_OFFSET_COMMIT: TXN_OFFSET_COMMIT,
    ApiKey.DELETE_GROUPS: DELETE_GROUPS,
    ApiKey.OFFSET_DELETE: OFFSET_DELETE,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: CONSUMER_GROUP_HEARTBEAT,
    ApiKey.CONSUMER_GROUP_DESCRIBE: CONSUMER_GROUP_DESCRIBE,
    ApiKey.DESCRIBE_CONFIGS: DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS: ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: INCREMENTAL_ALTER_CONFIGS,
    ApiKey.LIST_CONFIG_RESOURCES: LIST_CONFIG_RESOURCES,
}

SUPPORTED: VersionTable = {api_key: READABLE[api_key] for api_key in APIS}
"""The apis and versions that can be decoded and encoded here."""

_BY_REQUEST: dict[type[object], Api] = {api.request_type: api for api in APIS.values()}

_GROUP_AFTER_STRINGS: dict[int, int] = {
    ApiKey.OFFSET_COMMIT: 0,
    ApiKey.OFFSET_FETCH: 0,
    ApiKey.JOIN_GROUP: 0,
    ApiKey.HEARTBEAT: 0,
    ApiKey.LEAVE_GROUP: 0,
    ApiKey.SYNC_GROUP: 0,
    ApiKey.TXN_OFFSET_COMMIT: 1,
    ApiKey.OFFSET_DELETE: 0,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: 0,
}
"""Api key -> how many strings stand before the group id of its requests."""
_FIRST_OFFSET_FETCH_OF_MANY = 8

_STRING_READERS = {compact: string_reader(compact=compact, nullable=False) for compact in (False, True)}


def decode_request(
    api_key: int, version: int, body: FrameBytes, offset: int = 0, elements_max: int | None = None
) -> Request:
    """Read the body of a request; `offset` is where it begins in its frame, for the error alone.

    With `elements_max` raises TooManyElements for a request with more elements, or with many that are tiny. Raises
    MalformedFrame for bytes that aren't exactly one such request, and for an api or version not in SUPPORTED.
    """
    api = _api(api_key, version)
    record = read_request_fields(api_key, version, body, BodyPlace(offset, elements_max))
    return cast("Request", api.decode_request(record, version))


def encode_reply(api_key: int, version: int, correlation_id: int, reply: Reply) -> bytes:
    """Write an answer as a whole frame, length prefix and header included."""
    return reply_frame(api_key, version, correlation_id, _api(api_key, version).reply_fields(reply, version))


def encode_request(api_key: int, version: int, correlation_id: int, client_id: str | None, request: Request) -> bytes:
    """Write a request as a whole frame; ValueError when the version can't say it (several groups or leavers)."""
    fields = _api(api_key, version).request_fields(request, version)
    return whole_request_frame(api_key, version, correlation_id, client_id, fields)


def decode_reply(api_key: int, version: int, frame: FrameBytes) -> tuple[int, Reply]:
    """Read a broker's answer, given without its length prefix: correlation id and reply. Raises MalformedFrame.

    Error codes that the dialects don't know become UNKNOWN_SERVER_ERROR: relay as bytes what needs no change.
    """
    api = _api(api_key, version)
    correlation_id, record = read_reply_fields(api_key, version, frame)
    return correlation_id, cast("Reply", api.decode_reply(record, version))


def error_reply(request: Request, code: ErrorCode) -> Reply:
    """A well-formed answer that refuses all of a request."""
    return cast("Reply", _BY_REQUEST[type(request)].refusal(request, code))


def group_ids(request: Request) -> tuple[GroupId, ...]:
    """The groups that a request names, in its order; none for ListGroups."""
    return _BY_REQUEST[type(request)].group_ids(request)


def peek_group_id(api_key: int, version: int, body: FrameBytes, offset: int = 0) -> GroupId | None:
    """The group id of a request, with nothing else of it read: for routing.

    None for requests that name several groups or none (OffsetFetch from version 8 on, DescribeGroups, ListGroups,
    DeleteGroups, ConsumerGroupDescribe) and for other apis: decode those and ask `group_ids`. Raises MalformedFrame.
    """
    before = _GROUP_AFTER_STRINGS.get(api_key)
    if before is None or (api_key == ApiKey.OFFSET_FETCH and version >= _FIRST_OFFSET_FETCH_OF_MANY):
        return None
    read_string = _STRING_READERS[is_flexible(api_key, version)]
    # A view is copied only as far as both strings can reach.
    buf, at = bytes(body[:_PEEKED_BYTES]), 0
    try:
        for _ in range(before):
            _, at = read_string(buf, at)
        group_id, _ = read_string(buf, at)
    except Fault as fault:
        raise MalformedFrame(api_name(api_key), version, "group_id", offset + fault.offset, fault.reason) from fault
    return GroupId(cast("str", group_id))


_PEEKED_BYTES = 2 * (32767 + 5)


def _api(api_key: int, version: int) -> Api:
    api = APIS.get(api_key)
    if api is None:
        raise MalformedFrame(api_name(api_key), version, "request_api_key", LENGTH_BYTES, "no api that is decoded here")
    lowest, highest = SUPPORTED[api_key]
    if not lowest <= version <= highest and not is_said_again(api_key, version):
        reason = f"{version}, but {lowest} to {highest} are spoken"
        raise MalformedFrame(api_name(api_key), version, "request_api_version", REQUEST_VERSION_OFFSET, reason)
    return api
