"""How a frame begins: its length and the header of a request or an answer, also of one that is still arriving."""

from struct import Struct
from typing import NamedTuple

from bridge.wire.apis import ApiKey, api_name, request_header_version, response_header_version
from bridge.wire.errors import UNKNOWN_API, UNKNOWN_VERSION, MalformedFrame
from bridge.wire.packing import INT16, INT32

FrameBytes = bytes | bytearray | memoryview

DEFAULT_MAX_FRAME_BYTES = 100 * 1024 * 1024
"""Kafka's own `socket.request.max.bytes`."""
MAX_HEADER_BYTES = 64 * 1024
"""The longest header that is read: a client id has at most 32,767 bytes, and no client sends header tags of note."""

LENGTH_BYTES = CORRELATION_ID_BYTES = 4
REQUEST_VERSION_OFFSET, REQUEST_CORRELATION_OFFSET = 6, 8
"""Where a request frame holds its version and its correlation id, counted from the length prefix."""
REQUEST_CORRELATION_END = REQUEST_CORRELATION_OFFSET + CORRELATION_ID_BYTES
RESPONSE_CORRELATION_OFFSET = LENGTH_BYTES
RESPONSE_CORRELATION_END = RESPONSE_CORRELATION_OFFSET + CORRELATION_ID_BYTES

_REQUEST_START = Struct(">ihhi")
_LENGTH_AND_ID = Struct(">ii")

HTTP_STARTS = frozenset((b"GET ", b"POST", b"HEAD", b"PUT ", b"DELE", b"OPTI", b"PATC", b"CONN", b"TRAC", b"PRI "))
"""What stands in place of a length where somebody speaks HTTP."""
TLS_RECORD_STARTS = (b"\x16\x03", b"\x15\x03")
"""The same for TLS: a handshake, or an alert."""


class RequestHeader(NamedTuple):
    """The header of a request; offsets and sizes count from the start of the frame, length prefix included.

    `api_key` may be one that Kafka doesn't know: then the header is read as version 1.
    """

    frame_bytes: int
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_offset: int


class ResponseHeader(NamedTuple):
    """The header of an answer; offsets and sizes count from the start of the frame, length prefix included."""

    frame_bytes: int
    correlation_id: int
    body_offset: int


class HeaderProgress:
    """How far one has read into a request's header whose bytes come in pieces, so that none is read twice.

    Without it a header of 60 kB of tags that comes in small pieces cost minutes: each piece began anew.
    """

    __slots__ = ("client_id", "tags")

    def __init__(self) -> None:
        self.client_id: str | None = None
        self.tags: _TagWalk | None = None


def read_request_header(
    data: FrameBytes, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES, progress: HeaderProgress | None = None
) -> RequestHeader | None:
    """Read the header of the request that `data` begins with; None means that more bytes are needed.

    `data` may end anywhere and may run into the next frame; with the `progress` of an earlier reading it begins with
    the same bytes as then. Raises MalformedFrame as soon as it can't become right, and says so when the bytes look
    like TLS or HTTP.
    """
    available = len(data)
    if available < LENGTH_BYTES:
        return None
    frame_bytes = _frame_bytes(data, max_frame_bytes, _REQUEST_START.size - LENGTH_BYTES)
    if available < _REQUEST_START.size:
        return None
    _, api_key, api_version, correlation_id = _REQUEST_START.unpack_from(data)
    if api_key < 0:
        raise MalformedFrame(UNKNOWN_API, UNKNOWN_VERSION, "request_api_key", LENGTH_BYTES, f"{api_key} is negative")
    # Who asks for the versions is told them whatever version it guessed (KIP-511), by Kafka of a negative one, too.
    if api_version < 0 and api_key != ApiKey.API_VERSIONS:
        reason = f"{api_version} is negative"
        raise MalformedFrame(api_name(api_key), api_version, "request_api_version", REQUEST_VERSION_OFFSET, reason)
    form = request_header_version(api_key, api_version)
    if form == 0:
        return RequestHeader(frame_bytes, api_key, api_version, correlation_id, None, _REQUEST_START.size)
    found = _names_in(data, _Place(api_key, api_version, frame_bytes), form == 2, progress)
    if found is None:
        return None
    client_id, body_offset = found
    return RequestHeader(frame_bytes, api_key, api_version, correlation_id, client_id, body_offset)


def read_response_header(
    data: FrameBytes, api_key: int, api_version: int, max_frame_bytes: int = (1 << 31) - 1
) -> ResponseHeader | None:
    """Read the header of the answer that `data` begins with; None means that more bytes are needed.

    Api and version are those of the request it answers: an answer names neither. Raises MalformedFrame.
    """
    available = len(data)
    if available < LENGTH_BYTES:
        return None
    frame_bytes = _frame_bytes(data, max_frame_bytes, LENGTH_BYTES)
    if available < _LENGTH_AND_ID.size:
        return None
    correlation_id: int = INT32.unpack_from(data, RESPONSE_CORRELATION_OFFSET)[0]
    if response_header_version(api_key, api_version) == 0:
        return ResponseHeader(frame_bytes, correlation_id, _LENGTH_AND_ID.size)
    body_offset = _TagWalk(_LENGTH_AND_ID.size).end_in(data, _Place(api_key, api_version, frame_bytes))
    return None if body_offset is None else ResponseHeader(frame_bytes, correlation_id, body_offset)


def response_header_bytes(correlation_id: int, flexible: bool) -> bytes:
    """The header of an answer without the length prefix: 4 bytes, or 5 with an empty tag section."""
    return INT32.pack(correlation_id) + (b"\x00" if flexible else b"")


def response_frame(api_key: int, api_version: int, correlation_id: int, body: FrameBytes) -> bytes:
    """A whole answer: length, header in the form that the api and version ask for, body."""
    header = response_header_bytes(correlation_id, response_header_version(api_key, api_version) == 1)
    return b"".join((INT32.pack(len(header) + len(body)), header, body))


def request_frame(header: RequestHeader, body: FrameBytes) -> bytes:
    """A whole request; of `header` the sizes are ignored, they follow from the rest."""
    fixed = Struct(">hhi").pack(header.api_key, header.api_version, header.correlation_id)
    form = request_header_version(header.api_key, header.api_version)
    client_id = b"" if form == 0 else _nullable_string(header.client_id)
    tags = b"\x00" if form == 2 else b""
    length = len(fixed) + len(client_id) + len(tags) + len(body)
    return b"".join((INT32.pack(length), fixed, client_id, tags, body))


class _Place(NamedTuple):
    api_key: int
    version: int
    frame_bytes: int

    def malformed(self, field: str, offset: int, reason: str) -> MalformedFrame:
        return MalformedFrame(api_name(self.api_key), self.version, field, offset, reason)


def _frame_bytes(data: FrameBytes, max_frame_bytes: int, least: int) -> int:
    length: int = INT32.unpack_from(data)[0]
    if least <= length <= max_frame_bytes:
        return length + LENGTH_BYTES
    start = bytes(data[:LENGTH_BYTES])
    raise MalformedFrame(UNKNOWN_API, UNKNOWN_VERSION, "length", 0, _why_not(start, length, max_frame_bytes))


def _why_not(start: bytes, length: int, max_frame_bytes: int) -> str:
    if start in HTTP_STARTS:
        return f"an HTTP request came to a Kafka port (it begins with {start!r}); ask the admin port instead"
    if start.startswith(TLS_RECORD_STARTS):
        return "a TLS record came to a plain port; use security.protocol=PLAINTEXT or a TLS listener"
    if length > max_frame_bytes:
        return f"a frame of {length} bytes is over the limit of {max_frame_bytes}"
    return f"{length} bytes can't hold a header"


def _names_in(
    data: FrameBytes, here: _Place, has_tags: bool, progress: HeaderProgress | None
) -> tuple[str | None, int] | None:
    """The client id and the offset behind the header's tags."""
    if progress is not None and progress.tags is not None:
        client_id, tags = progress.client_id, progress.tags
    else:
        found = _client_id(data, here)
        if found is None or not has_tags:
            return found
        client_id, at = found
        if at < len(data) and at < here.frame_bytes and data[at] == 0:
            return client_id, at + 1  # no tags, as nearly always
        tags = _TagWalk(at)
        if progress is not None:
            progress.client_id, progress.tags = client_id, tags
    end = tags.end_in(data, here)
    return None if end is None else (client_id, end)


def _client_id(data: FrameBytes, here: _Place) -> tuple[str | None, int] | None:
    at = _REQUEST_START.size
    start = at + INT16.size
    if start > here.frame_bytes:
        raise here.malformed("client_id", at, "the frame ends before it")
    if len(data) < start:
        return None
    length: int = INT16.unpack_from(data, at)[0]
    if length < 0:
        if length < -1:
            raise here.malformed("client_id", at, f"length {length} is negative")
        return None, start
    end = start + length
    if end > here.frame_bytes:
        raise here.malformed("client_id", at, f"length {length} runs over the end of the frame")
    if len(data) < end:
        return None
    try:
        return str(data[start:end], "utf-8"), end
    except UnicodeDecodeError as error:
        raise here.malformed("client_id", start + error.start, f"not UTF-8: {error.reason}") from error


class _TagWalk:
    """A walk over a header's tag section that goes on where it stood when more bytes have come."""

    __slots__ = ("_at", "_left")

    def __init__(self, at: int) -> None:
        self._at = at
        self._left: int | None = None

    def end_in(self, data: FrameBytes, here: _Place) -> int | None:
        """The offset behind the section, or None when it has not all arrived."""
        at, left = self._at, self._left
        if left is None:
            if at < len(data) and at < here.frame_bytes and data[at] == 0:
                return at + 1
            found = _uvarint(data, at, here)
            if found is None:
                return None
            left, at = found
        while left:
            self._at, self._left = at, left
            tag = _uvarint(data, at, here)
            size = None if tag is None else _uvarint(data, tag[1], here)
            if size is None:
                return None
            left -= 1
            at = size[0] + size[1]
            if at > here.frame_bytes:
                reason = f"a tag of {size[0]} bytes runs over the end of the frame"
                raise here.malformed("tagged_fields", size[1], reason)
            if at > MAX_HEADER_BYTES:
                raise here.malformed("tagged_fields", size[1], f"a header of more than {MAX_HEADER_BYTES} bytes")
        self._at, self._left = at, 0
        return at if at <= len(data) else None


def _uvarint(data: FrameBytes, at: int, here: _Place) -> tuple[int, int] | None:
    """An unsigned varint of at most 5 bytes and the offset behind it."""
    value = 0
    for shift in range(0, 35, 7):
        if at >= here.frame_bytes:
            raise here.malformed("tagged_fields", at, "the frame ends inside it")
        if at >= len(data):
            return None
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise here.malformed("tagged_fields", at - 5, "a varint of more than 5 bytes")


def _nullable_string(value: str | None) -> bytes:
    if value is None:
        return INT16.pack(-1)
    encoded = value.encode()
    return INT16.pack(len(encoded)) + encoded
