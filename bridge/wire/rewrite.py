"""Broker addresses in answers: reading them, and replacing them by those where the bridge listens.

Of an answer no more is read than lies before the last address.
"""

from collections.abc import Callable

from bridge.wire.apis import ApiKey, api_name, is_flexible
from bridge.wire.cursor import Cursor
from bridge.wire.endpoints import Addresses, Endpoint, Located, Place, read_place, replace
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import FrameBytes, read_response_header
from bridge.wire.node_endpoints import carries_node_endpoints, locate_node_endpoints

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


def _in_metadata(cursor: Cursor) -> list[Place | None]:
    if cursor.version >= FIRST_METADATA_VERSION_WITH_THROTTLE_TIME:
        cursor.int32("throttle_time_ms")
    places = []
    for _ in range(cursor.array_length("brokers")):
        places.append(read_place(cursor))
        if cursor.version >= FIRST_METADATA_VERSION_WITH_RACK:
            cursor.skip_string("rack")
        cursor.skip_tags()
    return places


def _in_find_coordinator(cursor: Cursor) -> list[Place | None]:
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


def _in_describe_cluster(cursor: Cursor) -> list[Place | None]:
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
