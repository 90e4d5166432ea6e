"""The partitions that a Fetch request names, found by walking over lengths; versions 4 to 18.

It must not know what they are fetched for, nor answers.
"""

from typing import NamedTuple

from bridge.wire.apis import ApiKey, is_flexible
from bridge.wire.cursor import Cursor
from bridge.wire.frames import FrameBytes
from translators.dialects.ids import TopicId, TopicIdPartition, TopicName, TopicPartition

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
