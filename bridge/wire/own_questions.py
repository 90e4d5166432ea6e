"""What the bridge itself asks brokers beside their topics: settings of one, the controller's time, ends of partitions.

Each is spoken in one version, which the brokers that can be asked all know.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from bridge.wire.apis import ApiKey
from bridge.wire.cursor import Cursor
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import FrameBytes, RequestHeader, read_response_header, request_frame
from bridge.wire.packing import INT32, INT64, NO_TAGS, array_length, nullable_string
from translators.dialects.errors import ErrorCode, code_of
from translators.dialects.ids import TopicName, TopicPartition

# --------------------------------------------------------------------------------- describe configs
# DescribeConfigs as the bridge itself asks it: settings of one broker. Version 1, spoken by Kafka 1.1 to 4.3.

DESCRIBE_CONFIGS_VERSION = 1
_DESCRIBE_CONFIGS = ApiKey.DESCRIBE_CONFIGS.name
_BROKER = b"\x04"
_NO_SYNONYMS = b"\x00"


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Settings by name, those that the broker has and shows; none with an error."""

    error: ErrorCode
    values: Mapping[str, str]


def broker_settings_request(node_id: int, names: Sequence[str], client_id: str) -> bytes:
    """The whole request frame that asks a broker for some of its own settings."""
    parts = [
        array_length(1, flexible=False),
        _BROKER,
        nullable_string(str(node_id), flexible=False),
        array_length(len(names), flexible=False),
        *(nullable_string(name, flexible=False) for name in names),
        _NO_SYNONYMS,
    ]
    header = RequestHeader(0, ApiKey.DESCRIBE_CONFIGS, DESCRIBE_CONFIGS_VERSION, 0, client_id, 0)
    return request_frame(header, b"".join(parts))


def read_broker_settings(frame: FrameBytes) -> BrokerSettings:
    """What the broker tells. Raises MalformedFrame."""
    header = read_response_header(frame, ApiKey.DESCRIBE_CONFIGS, DESCRIBE_CONFIGS_VERSION)
    if header is None or header.frame_bytes != len(frame):
        raise MalformedFrame(
            _DESCRIBE_CONFIGS, DESCRIBE_CONFIGS_VERSION, "length", 0, f"the frame has {len(frame)} bytes"
        )
    cursor = Cursor(frame, header.body_offset, _DESCRIBE_CONFIGS, DESCRIBE_CONFIGS_VERSION, flexible=False)
    cursor.int32("throttle_time_ms")
    error, values = ErrorCode.NONE, dict[str, str]()
    for _ in range(cursor.array_length("results")):
        error = code_of(cursor.int16("error_code"))
        cursor.nullable_string("error_message")
        cursor.int8("resource_type")
        cursor.skip_string("resource_name")
        for _ in range(cursor.array_length("configs")):
            name, value = cursor.string("name"), cursor.nullable_string("value")
            for field in ("read_only", "config_source", "is_sensitive"):
                cursor.int8(field)
            for _ in range(cursor.array_length("synonyms")):
                cursor.skip_string("name")
                cursor.nullable_string("value")
                cursor.int8("source")
            if value is not None:
                values[name] = value
    cursor.expect_end()
    return BrokerSettings(error, values)


# ---------------------------------------------------------------------------------- describe quorum
# DescribeQuorum as the bridge itself asks it: what time it is for the active controller (KIP-836, version 1).
#
# It is the only answer of Kafka's protocol that tells the time at which it was made.

DESCRIBE_QUORUM_VERSION = 1
_DESCRIBE_QUORUM = ApiKey.DESCRIBE_QUORUM.name
_METADATA_TOPIC = "__cluster_metadata"


def quorum_request(client_id: str) -> bytes:
    """The whole request frame that asks for the quorum of the cluster's metadata."""
    parts = [
        array_length(1, flexible=True),
        nullable_string(_METADATA_TOPIC, flexible=True),
        array_length(1, flexible=True),
        INT32.pack(0),
        NO_TAGS * 3,
    ]
    header = RequestHeader(0, ApiKey.DESCRIBE_QUORUM, DESCRIBE_QUORUM_VERSION, 0, client_id, 0)
    return request_frame(header, b"".join(parts))


def read_controller_time(frame: FrameBytes) -> int | None:
    """The active controller's time in milliseconds since 1970, None if it was not told. Raises MalformedFrame.

    The leader of the quorum says of itself that it fetched just now.
    """
    header = read_response_header(frame, ApiKey.DESCRIBE_QUORUM, DESCRIBE_QUORUM_VERSION)
    if header is None or header.frame_bytes != len(frame):
        raise MalformedFrame(
            _DESCRIBE_QUORUM, DESCRIBE_QUORUM_VERSION, "length", 0, f"the frame has {len(frame)} bytes"
        )
    cursor = Cursor(frame, header.body_offset, _DESCRIBE_QUORUM, DESCRIBE_QUORUM_VERSION, flexible=True)
    told_ms: int | None = None
    if cursor.int16("error_code") != 0:
        return None
    for _ in range(cursor.array_length("topics")):
        cursor.skip_string("topic_name")
        for _ in range(cursor.array_length("partitions")):
            cursor.int32("partition_index")
            cursor.int16("error_code")
            leader_id = cursor.int32("leader_id")
            cursor.int32("leader_epoch")
            cursor.int64("high_watermark")
            times = {**_read_times(cursor, "current_voters"), **_read_times(cursor, "observers")}
            told_ms = times.get(leader_id, told_ms)
            cursor.skip_tags()
        cursor.skip_tags()
    return told_ms if told_ms is not None and told_ms > 0 else None


def _read_times(cursor: Cursor, field: str) -> dict[int, int]:
    """When each replica was last heard, by its id."""
    times: dict[int, int] = {}
    for _ in range(cursor.array_length(field)):
        replica_id = cursor.int32("replica_id")
        cursor.int64("log_end_offset")
        times[replica_id] = cursor.int64("last_fetch_timestamp")
        cursor.int64("last_caught_up_timestamp")
        cursor.skip_tags()
    return times


# ------------------------------------------------------------------------------------- list offsets
# ListOffsets as the bridge itself asks it: where partitions end. Version 1, which every broker since 0.10.1 speaks.

LIST_OFFSETS_VERSION = 1
_LIST_OFFSETS = ApiKey.LIST_OFFSETS.name
_NO_REPLICA = INT32.pack(-1)
_LATEST = INT64.pack(-1)


def end_offsets_request(partitions: Sequence[TopicPartition], client_id: str) -> bytes:
    """The whole request frame that asks one leader where these partitions of its own end."""
    topics = [(topic, list(group)) for topic, group in groupby(sorted(partitions), key=lambda one: one.topic)]
    parts = [_NO_REPLICA, array_length(len(topics), flexible=False)]
    for topic, group in topics:
        parts += [nullable_string(topic, flexible=False), array_length(len(group), flexible=False)]
        parts += [INT32.pack(one.partition) + _LATEST for one in group]
    header = RequestHeader(0, ApiKey.LIST_OFFSETS, LIST_OFFSETS_VERSION, 0, client_id, 0)
    return request_frame(header, b"".join(parts))


def read_end_offsets(frame: FrameBytes) -> Mapping[TopicPartition, int]:
    """Where partitions end; one that came with an error is left out. Raises MalformedFrame."""
    header = read_response_header(frame, ApiKey.LIST_OFFSETS, LIST_OFFSETS_VERSION)
    if header is None or header.frame_bytes != len(frame):
        raise MalformedFrame(_LIST_OFFSETS, LIST_OFFSETS_VERSION, "length", 0, f"the frame has {len(frame)} bytes")
    cursor = Cursor(frame, header.body_offset, _LIST_OFFSETS, LIST_OFFSETS_VERSION, flexible=False)
    found: dict[TopicPartition, int] = {}
    for _ in range(cursor.array_length("topics")):
        topic = TopicName(cursor.string("name"))
        for _ in range(cursor.array_length("partitions")):
            partition, error = cursor.int32("partition_index"), cursor.int16("error_code")
            cursor.int64("timestamp")
            offset = cursor.int64("offset")
            if error == 0:
                found[TopicPartition(topic, partition)] = offset
    cursor.expect_end()
    return found
