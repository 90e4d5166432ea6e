"""Metadata as the bridge itself asks for it: for all topics or for some, and what an answer says of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct

from bridge.wire.apis import ApiKey, is_flexible
from bridge.wire.cursor import Cursor
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import FrameBytes, RequestHeader, read_response_header, request_frame
from bridge.wire.packing import NO_TAGS, array_length, nullable_string
from bridge.wire.versions import VersionRange, VersionTable
from translators.dialects.ids import NO_TOPIC_ID, Topic, TopicId, TopicName

_NAME = ApiKey.METADATA.name
_FALSE = b"\x00"
_UNUSUAL = 0x80
NO_CONTROLLER = -1

FIRST_VERSION_WITH_NULL_FOR_ALL = 1
FIRST_VERSION_WITH_INTERNAL = 1
FIRST_VERSION_WITH_RACK = 1
FIRST_VERSION_WITH_CONTROLLER = 1
FIRST_VERSION_WITH_CLUSTER_ID = 2
FIRST_VERSION_WITH_THROTTLE_TIME = 3
FIRST_VERSION_WITH_AUTO_CREATION = 4
FIRST_VERSION_WITH_OFFLINE_REPLICAS = 5
FIRST_VERSION_WITH_LEADER_EPOCH = 7
FIRST_VERSION_WITH_TOPIC_OPERATIONS = 8
VERSIONS_WITH_CLUSTER_OPERATIONS = range(8, 11)
FIRST_VERSION_WITH_TOPIC_ID = 10

HIGHEST_VERSION = 12
"""The last version that adds to what the watcher reads."""
NAMED_SINCE, NAMED_UNTIL = FIRST_VERSION_WITH_AUTO_CREATION, 8
"""The versions in which topics are asked for by name, and none is made by that; all are written in the plain form."""

_LENGTH = Struct(">i")
_REPLICA_BYTES = 4
_PARTITION_START_BYTES = 2 + 4 + 4
_LEADER_EPOCH_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMetadata:
    """What the watcher wants from an answer: the cluster's id (None before version 2) and its topics without errors.

    A topic's id is NO_TOPIC_ID before version 10.
    """

    cluster_id: str | None
    controller_id: int
    topics: tuple[Topic, ...]


def metadata_version(broker: VersionTable) -> int:
    """The version to ask this broker with: the highest that both speak; 0 for a broker that doesn't say."""
    return min(HIGHEST_VERSION, broker.get(ApiKey.METADATA, VersionRange(0, 0)).highest)


def all_topics_request(version: int, correlation_id: int, client_id: str) -> bytes:
    """The whole request frame that asks for all topics and creates none."""
    flexible = is_flexible(ApiKey.METADATA, version)
    every_topic = -1 if version >= FIRST_VERSION_WITH_NULL_FOR_ALL else 0
    body = array_length(every_topic, flexible=flexible)
    if version >= FIRST_VERSION_WITH_AUTO_CREATION:
        body += _FALSE
    if version in VERSIONS_WITH_CLUSTER_OPERATIONS:
        body += _FALSE
    if version >= FIRST_VERSION_WITH_TOPIC_OPERATIONS:
        body += _FALSE
    if flexible:
        body += NO_TAGS
    return request_frame(RequestHeader(0, ApiKey.METADATA, version, correlation_id, client_id, 0), body)


def named_topics_request(version: int, correlation_id: int, client_id: str, names: Iterable[TopicName]) -> bytes:
    """The whole request frame that asks for topics by name and creates none, in a version of those above."""
    wanted = [nullable_string(name, flexible=False) for name in names]
    body = b"".join((array_length(len(wanted), flexible=False), *wanted, _FALSE))
    if version in VERSIONS_WITH_CLUSTER_OPERATIONS:
        body += _FALSE
    if version >= FIRST_VERSION_WITH_TOPIC_OPERATIONS:
        body += _FALSE
    return request_frame(RequestHeader(0, ApiKey.METADATA, version, correlation_id, client_id, 0), body)


def read_topic_errors(version: int, frame: FrameBytes) -> dict[TopicName, int]:
    """The error code of each topic that `frame` names, which is one whole answer. Raises MalformedFrame."""
    cursor = _at_cluster_id(version, frame)
    if version >= FIRST_VERSION_WITH_CLUSTER_ID:
        cursor.nullable_string("cluster_id")
    if version >= FIRST_VERSION_WITH_CONTROLLER:
        cursor.int32("controller_id")
    codes: dict[TopicName, int] = {}
    for _ in range(cursor.array_length("topics")):
        code, name, _ = _read_any_topic(cursor)
        if name is not None:
            codes[name] = code
    return codes


def read_metadata(version: int, frame: FrameBytes) -> ClusterMetadata:
    """What the watcher wants from `frame`, which is one whole answer. Raises MalformedFrame.

    What follows the topics stays unread: librdkafka's mock cluster has a byte too many there from version 9 on.
    """
    cursor = _at_cluster_id(version, frame)
    cluster_id = cursor.nullable_string("cluster_id") if version >= FIRST_VERSION_WITH_CLUSTER_ID else None
    controller_id = cursor.int32("controller_id") if version >= FIRST_VERSION_WITH_CONTROLLER else NO_CONTROLLER
    topics = [_read_topic(cursor) for _ in range(cursor.array_length("topics"))]
    return ClusterMetadata(
        cluster_id=cluster_id,
        controller_id=controller_id,
        topics=tuple(topic for topic in topics if topic is not None),
    )


def _at_cluster_id(version: int, frame: FrameBytes) -> Cursor:
    header = read_response_header(frame, ApiKey.METADATA, version)
    if header is None or header.frame_bytes != len(frame):
        raise MalformedFrame(_NAME, version, "length", 0, f"the frame has {len(frame)} bytes, not what it claims")
    cursor = Cursor(frame, header.body_offset, _NAME, version, flexible=is_flexible(ApiKey.METADATA, version))
    if version >= FIRST_VERSION_WITH_THROTTLE_TIME:
        cursor.int32("throttle_time_ms")
    for _ in range(cursor.array_length("brokers")):
        cursor.int32("node_id")
        cursor.skip_string("host")
        cursor.int32("port")
        if version >= FIRST_VERSION_WITH_RACK:
            cursor.skip_string("rack")
        cursor.skip_tags()
    return cursor


def _read_topic(cursor: Cursor) -> Topic | None:
    """One topic, or None when it comes with an error or without a name."""
    error_code, name, (topic_id, partition_count) = _read_any_topic(cursor)
    return None if error_code != 0 or name is None else Topic(topic_id, name, partition_count)


def _read_any_topic(cursor: Cursor) -> tuple[int, TopicName | None, tuple[TopicId, int]]:
    """One topic: its error code, its name, its id and how many partitions it has."""
    version = cursor.version
    error_code = cursor.int16("topic_error_code")
    name = cursor.nullable_string("name")
    topic_id = cursor.take(16, "topic_id") if version >= FIRST_VERSION_WITH_TOPIC_ID else NO_TOPIC_ID
    if version >= FIRST_VERSION_WITH_INTERNAL:
        cursor.int8("is_internal")
    partition_count = cursor.array_length("partitions")
    _pass_partitions(cursor, partition_count)
    if version >= FIRST_VERSION_WITH_TOPIC_OPERATIONS:
        cursor.int32("topic_authorized_operations")
    cursor.skip_tags()
    return error_code, None if name is None else TopicName(name), (TopicId(topic_id), partition_count)


def _pass_partitions(cursor: Cursor, count: int) -> None:
    start_bytes = _PARTITION_START_BYTES
    if cursor.version >= FIRST_VERSION_WITH_LEADER_EPOCH:
        start_bytes += _LEADER_EPOCH_BYTES
    replica_lists = 3 if cursor.version >= FIRST_VERSION_WITH_OFFLINE_REPLICAS else 2
    pass_usual = _pass_short_partitions if cursor.flexible else _pass_plain_partitions
    count -= pass_usual(cursor, count, start_bytes, replica_lists)
    for _ in range(count):
        cursor.skip(start_bytes, "partitions")
        for _ in range(replica_lists):
            cursor.skip_array(_REPLICA_BYTES, "replica_nodes")
        cursor.skip_tags()


def _pass_plain_partitions(cursor: Cursor, count: int, start_bytes: int, replica_lists: int) -> int:
    """The same as below in the plain form, whose lists have a length of four bytes."""
    data, last = cursor.data, cursor.end - _LENGTH.size
    for passed in range(count):
        at = cursor.offset + start_bytes
        for _ in range(replica_lists):
            size = _LENGTH.unpack_from(data, at)[0] if at <= last else _UNUSUAL
            if not 0 <= size < _UNUSUAL:
                return passed
            at += _LENGTH.size + _REPLICA_BYTES * size
        if at > cursor.end:
            return passed
        cursor.offset = at
    return count


def _pass_short_partitions(cursor: Cursor, count: int, start_bytes: int, replica_lists: int) -> int:
    """Pass over partitions of the usual shape (under 127 replicas, no tags) and say how many; a cluster has many.

    What is unusual, or runs over the end of the frame, is left to the careful way.
    """
    data, end = cursor.data, cursor.end
    for passed in range(count):
        at = cursor.offset + start_bytes
        for _ in range(replica_lists):
            size = data[at] if at < end else _UNUSUAL
            if not 0 < size < _UNUSUAL:
                return passed
            at += 1 + _REPLICA_BYTES * (size - 1)
        if at >= end or data[at] != 0:
            return passed
        cursor.offset = at + 1
    return count
