"""The leaders' addresses in answers about records (NodeEndpoints: KIP-951, KIP-932), found by walking over lengths."""

from collections.abc import Callable
from functools import partial

from bridge.wire.apis import ApiKey
from bridge.wire.cursor import Cursor
from bridge.wire.endpoints import Located, Place, TagSpan, read_place

FIRST_PRODUCE_VERSION = 10
FIRST_FETCH_VERSION = 16
FIRST_SHARE_VERSION = 1
FIRST_PRODUCE_VERSION_WITH_TOPIC_ID = 13
FIRST_SHARE_ACKNOWLEDGE_VERSION_WITH_LOCK_TIMEOUT = 2

NODE_ENDPOINTS_TAG = 0

_TOPIC_ID_BYTES = 16
_PRODUCED_PARTITION_BYTES = 4 + 2 + 8 + 8 + 8
_FETCHED_PARTITION_BYTES = 4 + 2 + 8 + 8 + 8
_ABORTED_TRANSACTION_BYTES = 8 + 8
_FETCH_START_BYTES = 4 + 2 + 4
_ACQUIRED_RECORDS_BYTES = 8 + 8 + 2

_FIRST_VERSION_WITH_NODE_ENDPOINTS: dict[int, int] = {
    ApiKey.PRODUCE: FIRST_PRODUCE_VERSION,
    ApiKey.FETCH: FIRST_FETCH_VERSION,
    ApiKey.SHARE_FETCH: FIRST_SHARE_VERSION,
    ApiKey.SHARE_ACKNOWLEDGE: FIRST_SHARE_VERSION,
}

NOTHING = Located((), flexible=True)


def carries_node_endpoints(api_key: int, version: int) -> bool:
    """Whether answers of that api and version may hold NodeEndpoints, so that they can't be relayed unread."""
    return version >= _FIRST_VERSION_WITH_NODE_ENDPOINTS.get(api_key, version + 1)


def locate_node_endpoints(api_key: int, cursor: Cursor) -> Located:
    """The NodeEndpoints of an answer for which `carries_node_endpoints` holds, whose body begins at the cursor.

    Node ids stay as they are, here and in CurrentLeader, so a leader's id and its endpoint always agree.
    """
    _PASS[api_key](cursor)
    return _in_tag(cursor) if api_key in (ApiKey.PRODUCE, ApiKey.FETCH) else _in_plain_sight(cursor)


def _in_plain_sight(cursor: Cursor) -> Located:
    located = Located(_read_node_endpoints(cursor), flexible=True)
    cursor.skip_tags()
    return located


def _in_tag(cursor: Cursor) -> Located:
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


def _pass_share(cursor: Cursor, *, has_records: bool) -> None:
    """ShareFetch and ShareAcknowledge answer alike, but that a partition fetched has records, too."""
    cursor.int32("throttle_time_ms")
    cursor.int16("error_code")
    cursor.skip_string("error_message")
    if has_records or cursor.version >= FIRST_SHARE_ACKNOWLEDGE_VERSION_WITH_LOCK_TIMEOUT:
        cursor.int32("acquisition_lock_timeout_ms")
    for _ in range(cursor.array_length("responses")):
        cursor.skip(_TOPIC_ID_BYTES, "topic_id")
        for _ in range(cursor.array_length("partitions")):
            cursor.int32("partition_index")
            cursor.int16("error_code")
            cursor.skip_string("error_message")
            if has_records:
                cursor.int16("acknowledge_error_code")
                cursor.skip_string("acknowledge_error_message")
            _pass_current_leader(cursor)
            if has_records:
                _pass_acquired_records(cursor)
            cursor.skip_tags()
        cursor.skip_tags()


def _pass_acquired_records(cursor: Cursor) -> None:
    cursor.skip_bytes("records")
    for _ in range(cursor.array_length("acquired_records")):
        cursor.skip(_ACQUIRED_RECORDS_BYTES, "acquired_records")
        cursor.skip_tags()


def _pass_current_leader(cursor: Cursor) -> None:
    cursor.int32("leader_id")
    cursor.int32("leader_epoch")
    cursor.skip_tags()


_PASS: dict[int, Callable[[Cursor], None]] = {
    ApiKey.PRODUCE: _pass_produced,
    ApiKey.FETCH: _pass_fetched,
    ApiKey.SHARE_FETCH: partial(_pass_share, has_records=True),
    ApiKey.SHARE_ACKNOWLEDGE: partial(_pass_share, has_records=False),
}
