"""The fast path for Heartbeat, by far the most frequent group request: its own reader and packed answers."""

import struct
from struct import Struct

from bridge.wire.apis import ApiKey
from bridge.wire.cursor import Cursor
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import LENGTH_BYTES, REQUEST_VERSION_OFFSET, FrameBytes
from translators.dialects.classic import Heartbeat
from translators.dialects.ids import GroupId, InstanceId, MemberId

FIRST_VERSION_WITH_THROTTLE_TIME = 1
FIRST_VERSION_WITH_INSTANCE_ID = 3
FIRST_FLEXIBLE_VERSION = 4
HIGHEST_VERSION = 4

_INT16 = Struct(">h")
_GENERATION = Struct(">i")
_GENERATION_AND_SIZE = Struct(">ih")

_ANSWER_V0 = Struct(">iih")
_ANSWER_V1 = Struct(">iiih")
_ANSWER_V4 = Struct(">iibihb")


def read_heartbeat(version: int, frame: FrameBytes, body_offset: int) -> Heartbeat:
    """The heartbeat in `frame`, which is one whole request and nothing else; `body_offset` is from its header.

    Raises MalformedFrame, also for a byte too few or too many.
    """
    try:
        if version >= FIRST_FLEXIBLE_VERSION:
            found = _quick_compact(frame, body_offset)
        else:
            found = _quick(frame, body_offset, has_instance=version >= FIRST_VERSION_WITH_INSTANCE_ID)
    except (IndexError, struct.error, UnicodeDecodeError):
        found = None
    return _careful(version, frame, body_offset) if found is None else found


def heartbeat_reply(version: int, correlation_id: int, error_code: int) -> bytes:
    """The whole answer frame, with throttle time 0."""
    if version >= FIRST_FLEXIBLE_VERSION:
        return _ANSWER_V4.pack(_ANSWER_V4.size - LENGTH_BYTES, correlation_id, 0, 0, error_code, 0)
    if version >= FIRST_VERSION_WITH_THROTTLE_TIME:
        return _ANSWER_V1.pack(_ANSWER_V1.size - LENGTH_BYTES, correlation_id, 0, error_code)
    return _ANSWER_V0.pack(_ANSWER_V0.size - LENGTH_BYTES, correlation_id, error_code)


def _quick_compact(frame: FrameBytes, at: int) -> Heartbeat | None:
    """The common case: every string below 127 bytes, no tags. None for anything else, right or wrong.

    A slice that the frame's end cuts short needs no check of its own: the last position then misses the end.
    """
    group_end = at + frame[at]
    member_start = group_end + _GENERATION.size
    member_size = frame[member_start]
    member_end = member_start + member_size
    instance_size = frame[member_end]
    tags = member_end + (instance_size or 1)
    if frame[tags] != 0 or tags + 1 != len(frame):
        return None
    if group_end == at or member_size == 0 or frame[at] | member_size | instance_size > 0x7F:
        return None
    return Heartbeat(
        GroupId(str(frame[at + 1 : group_end], "utf-8")),
        _GENERATION.unpack_from(frame, group_end)[0],
        MemberId(str(frame[member_start + 1 : member_end], "utf-8")),
        InstanceId(str(frame[member_end + 1 : tags], "utf-8")) if instance_size else None,
    )


def _quick(frame: FrameBytes, at: int, *, has_instance: bool) -> Heartbeat | None:
    """The common case of versions 0 to 3: nothing null but the instance id, nothing left over."""
    group_size: int = _INT16.unpack_from(frame, at)[0]
    group_end = at + 2 + group_size
    generation, member_size = _GENERATION_AND_SIZE.unpack_from(frame, group_end)
    member_start = group_end + _GENERATION_AND_SIZE.size
    end = member_end = member_start + member_size
    instance_size = -1
    if has_instance:
        instance_size = _INT16.unpack_from(frame, member_end)[0]
        end = member_end + 2 + max(instance_size, 0)
    if end != len(frame) or group_size < 0 or member_size < 0 or instance_size < -1:
        return None
    return Heartbeat(
        GroupId(str(frame[at + 2 : group_end], "utf-8")),
        generation,
        MemberId(str(frame[member_start:member_end], "utf-8")),
        InstanceId(str(frame[member_end + 2 : end], "utf-8")) if instance_size >= 0 else None,
    )


def _careful(version: int, frame: FrameBytes, body_offset: int) -> Heartbeat:
    """Every case, right or wrong, field by field."""
    flexible = version >= FIRST_FLEXIBLE_VERSION
    if not 0 <= version <= HIGHEST_VERSION:
        raise MalformedFrame(
            ApiKey.HEARTBEAT.name, version, "request_api_version", REQUEST_VERSION_OFFSET, "no such version"
        )
    cursor = Cursor(frame, body_offset, ApiKey.HEARTBEAT.name, version, flexible=flexible)
    group_id = GroupId(cursor.string("group_id"))
    generation = cursor.int32("generation_id")
    member_id = MemberId(cursor.string("member_id"))
    instance = cursor.nullable_string("group_instance_id") if version >= FIRST_VERSION_WITH_INSTANCE_ID else None
    cursor.skip_tags()
    cursor.expect_end()
    return Heartbeat(group_id, generation, member_id, None if instance is None else InstanceId(instance))
