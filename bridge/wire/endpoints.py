"""Broker addresses in answers: where they stand, how they are read, and replaced by those where the bridge listens."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from bridge.wire.apis import ApiKey, api_name, is_flexible
from bridge.wire.cursor import Cursor
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import LENGTH_BYTES, FrameBytes, read_response_header
from bridge.wire.packing import INT32, nullable_string, uvarint

# ---------------------------------------------------------------------------------------- endpoints
# Where an answer holds broker addresses, and how they are replaced without touching a byte around them.


class Endpoint(NamedTuple):
    """A broker as an answer names it."""

    node_id: int
    host: str
    port: int


Addresses = Mapping[int, tuple[str, int]]
"""Node id -> the host and port that clients are told instead."""


class EndpointPlace(NamedTuple):
    """An endpoint and the bytes from `start` to `end` that hold its host and port: neighbours in every api."""

    endpoint: Endpoint
    start: int
    end: int


class TagSpan(NamedTuple):
    """The tagged field that holds all the places: its size's first byte, its content's first byte and end."""

    size_start: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Located:
    """All addresses of one answer, in order, and the tagged field around them if there is one."""

    places: tuple[EndpointPlace, ...]
    flexible: bool
    tag: TagSpan | None = None

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The brokers that the answer names, in its order."""
        return tuple(place.endpoint for place in self.places)


class UnknownNode(Exception):
    """An answer names nodes without a new address: whoever advertises them could open no listener."""

    code = "EB-WIRE-002"

    def __init__(self, node_ids: tuple[int, ...]) -> None:
        super().__init__(node_ids)
        self.node_ids = node_ids

    def __str__(self) -> str:
        return f"{self.code}: no advertised address for the nodes {self.node_ids}; open a listener for each, then retry"


def read_place(cursor: Cursor) -> EndpointPlace | None:
    """Pass over node id, host and port; None where the broker named nobody (node -1 or no host, as errors do)."""
    node_id = cursor.int32("node_id")
    start = cursor.offset
    host = cursor.string("host")
    port = cursor.int32("port")
    return EndpointPlace(Endpoint(node_id, host, port), start, cursor.offset) if node_id >= 0 and host else None


def replace(frame: FrameBytes, located: Located, addresses: Addresses) -> FrameBytes:
    """The frame with other hosts and ports; `frame` itself if there is nothing to replace. Raises UnknownNode."""
    if not located.places:
        return frame
    unknown = tuple(p.endpoint.node_id for p in located.places if p.endpoint.node_id not in addresses)
    if unknown:
        raise UnknownNode(unknown)
    start, end = _span(located)
    middle = _patched(frame, located, addresses, start, end)
    head_end = start
    if located.tag is not None:
        head_end = located.tag.size_start
        middle = uvarint(len(middle)) + middle
    length = head_end - LENGTH_BYTES + len(middle) + len(frame) - end
    return b"".join((INT32.pack(length), frame[LENGTH_BYTES:head_end], middle, frame[end:]))


def _span(located: Located) -> tuple[int, int]:
    if located.tag is not None:
        return located.tag.start, located.tag.end
    return LENGTH_BYTES, located.places[-1].end


def _patched(frame: FrameBytes, located: Located, addresses: Addresses, start: int, end: int) -> bytes:
    parts: list[FrameBytes] = []
    for place in located.places:
        host, port = addresses[place.endpoint.node_id]
        parts += (frame[start : place.start], nullable_string(host, flexible=located.flexible), INT32.pack(port))
        start = place.end
    parts.append(frame[start:end])
    return b"".join(parts)


# ----------------------------------------------------------------------------------- node endpoints
# The leaders' addresses in answers about records (NodeEndpoints: KIP-951, KIP-932), found by walking over lengths.

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


def _read_node_endpoints(cursor: Cursor) -> tuple[EndpointPlace, ...]:
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


# ------------------------------------------------------------------------------------------ rewrite
# Broker addresses in answers: reading them, and replacing them by those where the bridge listens.
#
# Of an answer no more is read than lies before the last address.

Advertise = Callable[[tuple[Endpoint, ...]], Addresses]
"""Makes known the brokers that an answer names, and gives where clients are told to find each."""

FIRST_METADATA_VERSION_WITH_RACK = 1
FIRST_METADATA_VERSION_WITH_THROTTLE_TIME = 3
FIRST_FIND_COORDINATOR_VERSION_WITH_MESSAGE = 1
FIRST_FIND_COORDINATOR_VERSION_WITH_BATCH = 4
FIRST_DESCRIBE_CLUSTER_VERSION_WITH_TYPE = 1
FIRST_DESCRIBE_CLUSTER_VERSION_WITH_FENCED = 2

_ADDRESSED = frozenset((ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.DESCRIBE_CLUSTER))


def carries_addresses(api_key: int, version: int) -> bool:
    """Whether an answer of that api and version must pass through `rewrite`, whole, before a client may see it."""
    return api_key in _ADDRESSED or carries_node_endpoints(api_key, version)


def brokers_in(api_key: int, version: int, frame: FrameBytes) -> tuple[Endpoint, ...]:
    """The brokers that the answer names, in its order; `frame` is one whole answer. Raises MalformedFrame.

    Coordinators that were not found (node -1, empty host) are not among them.
    """
    return _locate(api_key, version, frame).endpoints


def rewrite(api_key: int, version: int, frame: FrameBytes, advertise: Advertise) -> FrameBytes:
    """The same answer with the hosts and ports that `advertise` gives for the brokers in it, asked once for all.

    All other bytes stay, those of newer fields too. Raises MalformedFrame, and UnknownNode for a node without address.
    """
    located = _locate(api_key, version, frame)
    return replace(frame, located, advertise(located.endpoints))


def _locate(api_key: int, version: int, frame: FrameBytes) -> Located:
    header = read_response_header(frame, api_key, version)
    if header is None or header.frame_bytes != len(frame):
        claimed = "more" if header is None else f"{header.frame_bytes}"
        raise MalformedFrame(api_name(api_key), version, "length", 0, f"{len(frame)} bytes, {claimed} claimed")
    flexible = is_flexible(api_key, version)
    cursor = Cursor(frame, header.body_offset, api_name(api_key), version, flexible=flexible)
    if carries_node_endpoints(api_key, version):
        return locate_node_endpoints(api_key, cursor)
    if api_key == ApiKey.METADATA:
        places = _in_metadata(cursor)
    elif api_key == ApiKey.FIND_COORDINATOR:
        places = _in_find_coordinator(cursor)
    elif api_key == ApiKey.DESCRIBE_CLUSTER:
        places = _in_describe_cluster(cursor)
    else:
        places = []
    return Located(tuple(place for place in places if place is not None), flexible)


def _in_metadata(cursor: Cursor) -> list[EndpointPlace | None]:
    if cursor.version >= FIRST_METADATA_VERSION_WITH_THROTTLE_TIME:
        cursor.int32("throttle_time_ms")
    places = []
    for _ in range(cursor.array_length("brokers")):
        places.append(read_place(cursor))
        if cursor.version >= FIRST_METADATA_VERSION_WITH_RACK:
            cursor.skip_string("rack")
        cursor.skip_tags()
    return places


def _in_find_coordinator(cursor: Cursor) -> list[EndpointPlace | None]:
    if cursor.version < FIRST_FIND_COORDINATOR_VERSION_WITH_MESSAGE:
        cursor.int16("error_code")
        return [read_place(cursor)]
    cursor.int32("throttle_time_ms")
    if cursor.version < FIRST_FIND_COORDINATOR_VERSION_WITH_BATCH:
        cursor.int16("error_code")
        cursor.skip_string("error_message")
        return [read_place(cursor)]
    places = []
    for _ in range(cursor.array_length("coordinators")):
        cursor.skip_string("key")
        places.append(read_place(cursor))
        cursor.int16("error_code")
        cursor.skip_string("error_message")
        cursor.skip_tags()
    return places


def _in_describe_cluster(cursor: Cursor) -> list[EndpointPlace | None]:
    cursor.int32("throttle_time_ms")
    cursor.int16("error_code")
    cursor.skip_string("error_message")
    if cursor.version >= FIRST_DESCRIBE_CLUSTER_VERSION_WITH_TYPE:
        cursor.int8("endpoint_type")
    cursor.skip_string("cluster_id")
    cursor.int32("controller_id")
    places = []
    for _ in range(cursor.array_length("brokers")):
        places.append(read_place(cursor))
        cursor.skip_string("rack")
        if cursor.version >= FIRST_DESCRIBE_CLUSTER_VERSION_WITH_FENCED:
            cursor.int8("is_fenced")
        cursor.skip_tags()
    return places
