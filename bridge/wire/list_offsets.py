"""ListOffsets as the bridge itself asks it: where partitions end. Version 1, which every broker since 0.10.1 speaks."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from bridge.wire.apis import ApiKey
from bridge.wire.cursor import Cursor
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import FrameBytes, RequestHeader, read_response_header, request_frame
from bridge.wire.packing import INT32, INT64, array_length, nullable_string
from translators.dialects.ids import TopicName, TopicPartition

LIST_OFFSETS_VERSION = 1
_NAME = ApiKey.LIST_OFFSETS.name
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
        raise MalformedFrame(_NAME, LIST_OFFSETS_VERSION, "length", 0, f"the frame has {len(frame)} bytes")
    cursor = Cursor(frame, header.body_offset, _NAME, LIST_OFFSETS_VERSION, flexible=False)
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
