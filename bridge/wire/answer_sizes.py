"""How large an answer a request for records allows, found and lowered in the request's bytes.

It must not know who holds answers, nor how much may be held.
"""

from collections.abc import Callable

from bridge.wire.apis import ApiKey, api_name
from bridge.wire.cursor import Cursor
from bridge.wire.errors import MalformedFrame
from bridge.wire.fetch_request import FIRST_WITHOUT_REPLICA_ID
from bridge.wire.frames import FrameBytes, RequestHeader
from bridge.wire.packing import INT32
from bridge.wire.versions import KNOWN

FIRST_FETCH_VERSION_WITH_MAX_BYTES = 3
PREFIX_BYTES_MAX = 2 * 32_767 + 64
"""All that can stand before the size: a group id, a member id and some numbers."""

_MAX_WAIT_AND_MIN_BYTES = 4 + 4


def asks_for_records(api_key: int, version: int) -> bool:
    """Whether a request of that api and version says how many bytes its answer may have; never one we don't know."""
    if api_key == ApiKey.FETCH:
        return FIRST_FETCH_VERSION_WITH_MAX_BYTES <= version <= KNOWN[ApiKey.FETCH].highest
    return api_key == ApiKey.SHARE_FETCH and version in KNOWN[ApiKey.SHARE_FETCH]


def with_max_bytes(header: RequestHeader, data: FrameBytes, most: int) -> bytes | None:
    """The same bytes with `max_bytes` at `most` if it was larger or negative, else None for leaving them alone.

    `data` begins with the request's length prefix and reaches at least to the end of the size (see `size_end`).
    Brokers always answer with one whole batch at least (KIP-74), so nothing gets stuck. Raises MalformedFrame.
    """
    end = _end(header, data)
    asked: int = INT32.unpack_from(data, end - INT32.size)[0]
    if 0 <= asked <= most:
        return None
    return b"".join((data[: end - INT32.size], INT32.pack(most), data[end:]))


def size_end(header: RequestHeader, data: FrameBytes) -> int | None:
    """Where the size ends, counted from the length prefix; None when `data` ends before it. Raises MalformedFrame."""
    try:
        return _end(header, data)
    except MalformedFrame:
        if len(data) >= min(header.frame_bytes, header.body_offset + PREFIX_BYTES_MAX):
            raise
        return None


def _end(header: RequestHeader, data: FrameBytes) -> int:
    cursor = Cursor(data, header.body_offset, api_name(header.api_key), header.api_version, flexible=True)
    _BEFORE[header.api_key](cursor)
    cursor.int32("max_bytes")
    if cursor.offset > header.frame_bytes:
        raise cursor.malformed("max_bytes", "lies behind the end of the request")
    return cursor.offset


def _before_fetch_size(cursor: Cursor) -> None:
    if cursor.version < FIRST_WITHOUT_REPLICA_ID:
        cursor.int32("replica_id")
    cursor.skip(_MAX_WAIT_AND_MIN_BYTES, "max_wait_ms")


def _before_share_fetch_size(cursor: Cursor) -> None:
    cursor.skip_string("group_id")
    cursor.skip_string("member_id")
    cursor.int32("share_session_epoch")
    cursor.skip(_MAX_WAIT_AND_MIN_BYTES, "max_wait_ms")


_BEFORE: dict[int, Callable[[Cursor], None]] = {
    ApiKey.FETCH: _before_fetch_size,
    ApiKey.SHARE_FETCH: _before_share_fetch_size,
}
