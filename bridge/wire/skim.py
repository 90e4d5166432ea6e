"""Finding the leaders' addresses in answers to Produce and Fetch (KIP-951 NodeEndpoints) by walking over lengths.

It must not read records, nor decide what an address becomes.
"""

from bridge.wire.apis import ApiKey
from bridge.wire.cursor import Cursor
from bridge.wire.endpoints import Located, Place, TagSpan, read_place

FIRST_PRODUCE_VERSION = 10
FIRST_FETCH_VERSION = 16
FIRST_PRODUCE_VERSION_WITH_TOPIC_ID = 13

NODE_ENDPOINTS_TAG = 0

_TOPIC_ID_BYTES = 16
_PRODUCED_PARTITION_BYTES = 4 + 2 + 8 + 8 + 8
_FETCHED_PARTITION_BYTES = 4 + 2 + 8 + 8 + 8
_ABORTED_TRANSACTION_BYTES = 8 + 8
_FETCH_START_BYTES = 4 + 2 + 4

NOTHING = Located((), flexible=True)


def carries_node_endpoints(api_key: int, version: int) -> bool:
    """Whether answers of that api and version may hold NodeEndpoints, so that they can't be relayed unread."""
    first = {ApiKey.PRODUCE: FIRST_PRODUCE_VERSION, ApiKey.FETCH: FIRST_FETCH_VERSION}
    return api_key in first and version >= first[ApiKey(api_key)]


def locate_node_endpoints(api_key: int, cursor: Cursor) -> Located:
    """The NodeEndpoints of an answer to Produce v10+ or Fetch v16+, whose body begins at the cursor.

    Node ids stay as they are, here and in CurrentLeader, so a leader's id and its endpoint always agree.
    """
    if api_key == ApiKey.PRODUCE:
        _pass_produced(cursor)
    else:
        _pass_fetched(cursor)
    located = NOTHING
    for _ in range(cursor.uvarint("tagged_fields")):
        tag, size_start = cursor.uvarint("tagged_fields"), cursor.offset
        size, start = cursor.uvarint("tagged_fields"), cursor.offset
        if tag == NODE_ENDPOINTS_TAG:
            places = _read_node_endpoints(cursor)
            located = Located(places, flexible=True, tag=TagSpan(size_start, start, start + size))
        else:
            cursor.skip(size, "tagged_fields")
        if cursor.offset != start + size:
            raise cursor.malformed("node_endpoints", f"not as long as the {size} bytes it claims")
    return located


def _read_node_endpoints(cursor: Cursor) -> tuple[Place, ...]:
    places = []
    for _ in range(cursor.array_length("node_endpoints")):
        places.append(read_place(cursor))
        cursor.skip_string("rack")
        cursor.skip_tags()
    return tuple(place for place in places if place is not None)


def _pass_produced(cursor: Cursor) -> None:
    for _ in range(cursor.array_length("responses")):
        if cursor.version >= FIRST_PRODUCE_VERSION_WITH_TOPIC_ID:
            cursor.skip(_TOPIC_ID_BYTES, "topic_id")
        else:
            cursor.skip_string("name")
        for _ in range(cursor.array_length("partition_responses")):
            cursor.skip(_PRODUCED_PARTITION_BYTES, "partition_responses")
            for _ in range(cursor.array_length("record_errors")):
                cursor.int32("batch_index")
                cursor.skip_string("batch_index_error_message")
                cursor.skip_tags()
            cursor.skip_string("error_message")
            cursor.skip_tags()
        cursor.skip_tags()
    cursor.int32("throttle_time_ms")


def _pass_fetched(cursor: Cursor) -> None:
    cursor.skip(_FETCH_START_BYTES, "throttle_time_ms")
    for _ in range(cursor.array_length("responses")):
        cursor.skip(_TOPIC_ID_BYTES, "topic_id")
        for _ in range(cursor.array_length("partitions")):
            cursor.skip(_FETCHED_PARTITION_BYTES, "partitions")
            for _ in range(cursor.array_length("aborted_transactions")):
                cursor.skip(_ABORTED_TRANSACTION_BYTES, "aborted_transactions")
                cursor.skip_tags()
            cursor.int32("preferred_read_replica")
            cursor.skip_bytes("records")
            cursor.skip_tags()
        cursor.skip_tags()
