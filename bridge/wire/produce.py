"""Whether a Produce request will be answered at all: one with acks=0 never is."""

from bridge.wire.apis import ApiKey, is_flexible
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import FrameBytes
from bridge.wire.packing import INT16

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
