"""DescribeQuorum as the bridge itself asks it: what time it is for the active controller (KIP-836, version 1).

It is the only answer of Kafka's protocol that tells the time at which it was made.
"""

from bridge.wire.apis import ApiKey
from bridge.wire.cursor import Cursor
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import FrameBytes, RequestHeader, read_response_header, request_frame
from bridge.wire.packing import INT32, NO_TAGS, array_length, nullable_string

DESCRIBE_QUORUM_VERSION = 1
_NAME = ApiKey.DESCRIBE_QUORUM.name
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
        raise MalformedFrame(_NAME, DESCRIBE_QUORUM_VERSION, "length", 0, f"the frame has {len(frame)} bytes")
    cursor = Cursor(frame, header.body_offset, _NAME, DESCRIBE_QUORUM_VERSION, flexible=True)
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
