"""What is read of requests for records: what Fetch and ShareFetch ask for, and whether a Produce is answered at all."""

from collections.abc import Callable
from typing import NamedTuple

from bridge.wire.apis import ApiKey, api_name, is_flexible
from bridge.wire.cursor import Cursor
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import FrameBytes, RequestHeader
from bridge.wire.packing import INT16, INT32
from bridge.wire.versions import KNOWN
from translators.dialects.ids import TopicId, TopicIdPartition, TopicName, TopicPartition

# -------------------------------------------------------------------------------------------- fetch
# What Fetch and ShareFetch ask for: the partitions named, and how large an answer they allow, which can be lowered.

FIRST_VERSION = 4
FIRST_WITH_LOG_START_OFFSET = 5
FIRST_WITH_SESSION = 7
FIRST_WITH_LEADER_EPOCH = 9
FIRST_WITH_LAST_FETCHED_EPOCH = 12
FIRST_WITH_TOPIC_ID = 13
FIRST_WITHOUT_REPLICA_ID = 15
HIGHEST_VERSION = 18

_TOPIC_ID_BYTES = 16
_REPLICA_ID_BYTES = 4
_LIMITS_BYTES = 4 + 4 + 4 + 1
_EPOCH_BYTES, _OFFSET_BYTES, _SIZE_BYTES = 4, 8, 4


class NamedPartitions(NamedTuple):
    """Partitions by their topics' names (up to version 12) or ids; `is_incremental`: those of its session are asked for
    as well, without being named (KIP-227).
    """

    by_name: frozenset[TopicPartition]
    by_id: frozenset[TopicIdPartition]
    is_incremental: bool


def read_fetch(version: int, frame: FrameBytes, body_offset: int) -> NamedPartitions | None:
    """What a whole Fetch request names; None for versions that are not read. Raises MalformedFrame."""
    if not FIRST_VERSION <= version <= HIGHEST_VERSION:
        return None
    flexible = is_flexible(ApiKey.FETCH, version)
    cursor = Cursor(frame, body_offset, ApiKey.FETCH.name, version, flexible=flexible)
    cursor.skip((_REPLICA_ID_BYTES if version < FIRST_WITHOUT_REPLICA_ID else 0) + _LIMITS_BYTES, "max_wait_ms")
    is_incremental = False
    if version >= FIRST_WITH_SESSION:
        session_id, epoch = cursor.int32("session_id"), cursor.int32("session_epoch")
        is_incremental = session_id != 0 and epoch > 0
    by_name: set[TopicPartition] = set()
    by_id: set[TopicIdPartition] = set()
    for _ in range(cursor.array_length("topics")):
        if version >= FIRST_WITH_TOPIC_ID:
            topic_id = TopicId(cursor.take(_TOPIC_ID_BYTES, "topic_id"))
            by_id.update(TopicIdPartition(topic_id, partition) for partition in _read_partitions(cursor))
        else:
            name = TopicName(cursor.string("topic"))
            by_name.update(TopicPartition(name, partition) for partition in _read_partitions(cursor))
        cursor.skip_tags()
    return NamedPartitions(frozenset(by_name), frozenset(by_id), is_incremental)


def _read_partitions(cursor: Cursor) -> list[int]:
    found, rest = [], _bytes_behind_partition(cursor.version)
    for _ in range(cursor.array_length("partitions")):
        found.append(cursor.int32("partition"))
        cursor.skip(rest, "fetch_offset")
        cursor.skip_tags()
    return found


def _bytes_behind_partition(version: int) -> int:
    """How many bytes follow a partition's number: where to fetch from, which epochs are known, how much to fetch."""
    size = _OFFSET_BYTES + _SIZE_BYTES
    size += _OFFSET_BYTES if version >= FIRST_WITH_LOG_START_OFFSET else 0
    size += _EPOCH_BYTES if version >= FIRST_WITH_LEADER_EPOCH else 0
    return size + (_EPOCH_BYTES if version >= FIRST_WITH_LAST_FETCHED_EPOCH else 0)


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


# ------------------------------------------------------------------------------------------ produce
# Whether a Produce request will be answered at all: one with acks=0 never is.

NO_ACKS = 0
FIRST_VERSION_WITH_TRANSACTIONAL_ID = 3


def expects_answer(api_version: int, body: FrameBytes) -> bool | None:
    """Whether the broker will answer the Produce request whose body begins with `body`; None: more bytes needed.

    Only the transactional id and acks are looked at, the part that no version from 0 to 13 has moved. An acks value
    that no producer may send (say 7) counts as answered, because brokers answer it with INVALID_REQUIRED_ACKS.
    Raises MalformedFrame.
    """
    at: int | None = 0
    if api_version >= FIRST_VERSION_WITH_TRANSACTIONAL_ID:
        compact = is_flexible(ApiKey.PRODUCE, api_version)
        at = _after_compact_string(api_version, body) if compact else _after_string(api_version, body)
    if at is None or len(body) < at + INT16.size:
        return None
    acks: int = INT16.unpack_from(body, at)[0]
    return acks != NO_ACKS


def _after_string(api_version: int, body: FrameBytes) -> int | None:
    if len(body) < INT16.size:
        return None
    size: int = INT16.unpack_from(body)[0]
    if size < -1:
        raise _malformed(api_version, f"length {size} is negative")
    return INT16.size + max(size, 0)


def _after_compact_string(api_version: int, body: FrameBytes) -> int | None:
    value = 0
    for index in range(3):
        if index >= len(body):
            return None
        value |= (body[index] & 0x7F) << (7 * index)
        if body[index] < 0x80:
            return index + 1 + max(value - 1, 0)
    raise _malformed(api_version, "longer than the 32,767 bytes that a string can have")


def _malformed(api_version: int, reason: str) -> MalformedFrame:
    return MalformedFrame(ApiKey.PRODUCE.name, api_version, "transactional_id", 0, reason)
