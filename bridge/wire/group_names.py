"""Requests of which nothing but the groups they name is read: about settings, and of share and streams groups."""

from collections.abc import Callable

from bridge.wire.apis import ApiKey, api_name, is_flexible
from bridge.wire.codec.primitives import Fault, string_reader
from bridge.wire.cursor import Cursor
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import FrameBytes, RequestHeader, read_response_header, response_frame
from bridge.wire.packing import INT16, INT32, nullable_string
from translators.dialects.configs import GROUP
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId

# ------------------------------------------------------------------------------------- named groups
# Which groups a request about settings names, without reading what it says of them: it may be about every topic of a
# large cluster, too.


def groups_in_settings(header: RequestHeader, frame: FrameBytes) -> frozenset[GroupId]:
    """Those that a whole DescribeConfigs, AlterConfigs or IncrementalAlterConfigs names. Raises MalformedFrame."""
    key, version = header.api_key, header.api_version
    cursor = Cursor(frame, header.body_offset, api_name(key), version, flexible=is_flexible(key, version))
    found: set[GroupId] = set()
    for _ in range(cursor.array_length("resources")):
        kind = cursor.int8("resource_type")
        if kind == GROUP:
            found.add(GroupId(cursor.string("resource_name")))
        else:
            cursor.skip_string("resource_name")
        for _ in range(cursor.array_length("configs")):
            cursor.skip_string("name")
            if key == ApiKey.INCREMENTAL_ALTER_CONFIGS:
                cursor.int8("config_operation")
            if key != ApiKey.DESCRIBE_CONFIGS:
                cursor.skip_string("value")
                cursor.skip_tags()
        cursor.skip_tags()
    return frozenset(found)


# -------------------------------------------------------------------------------- share and streams
# Heartbeats of share and streams groups (KIP-932, KIP-1071), and offsets that an admin sets for a share group, which
# make one as well: which group they are of, and Kafka's refusal of them.

_NOTHING = INT32.pack(0)
_NULL_ID, _EMPTY_ID, _NO_TAGS = b"\x00", b"\x01", b"\x00"
_NO_STRUCT = b"\xff"

_read_group_id = string_reader(compact=True, nullable=False)


def _share_tail() -> bytes:
    """Member id, epoch, heartbeat interval, assignment."""
    return _NULL_ID + _NOTHING + _NOTHING + _NO_STRUCT + _NO_TAGS


def _streams_tail() -> bytes:
    """Member id, epoch, three intervals, the status; active, standby and warm-up tasks; endpoints and their epoch."""
    return _EMPTY_ID + _NOTHING * 4 + b"\x01" + b"\x00" * 3 + _NOTHING + b"\x00" + _NO_TAGS


def _no_topics() -> bytes:
    """What became of each topic."""
    return b"\x01" + _NO_TAGS


_TAILS: dict[int, tuple[str, Callable[[], bytes]]] = {
    ApiKey.SHARE_GROUP_HEARTBEAT: ("share", _share_tail),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: ("share", _no_topics),
    ApiKey.STREAMS_GROUP_HEARTBEAT: ("streams", _streams_tail),
}


def is_of_other_kind(api_key: int) -> bool:
    """Whether a request makes a share or streams group where there is none, or keeps somebody in one."""
    return api_key in _TAILS


def keeps_member(api_key: int) -> bool:
    """Whether such a request is of a member, and no admin's."""
    return api_key != ApiKey.ALTER_SHARE_GROUP_OFFSETS


def group_of(header: RequestHeader, data: bytes | memoryview) -> GroupId:
    """The group of such a request, its first field in every version. Raises MalformedFrame."""
    start = header.body_offset
    try:
        group_id, _ = _read_group_id(bytes(data[start:]), 0)
    except Fault as fault:
        api = api_name(header.api_key)
        raise MalformedFrame(api, header.api_version, "group_id", start + fault.offset, fault.reason) from fault
    return GroupId(str(group_id))


def kind_of(api_key: int) -> str:
    """The kind of group that such a request is of, as ListGroups names it."""
    return _TAILS[api_key][0]


def is_let_in(header: RequestHeader, frame: bytes) -> bool:
    """Whether the broker's answer to such a heartbeat, a whole frame, has no error: the group is of that kind."""
    try:
        read = read_response_header(frame, header.api_key, header.api_version)
    except MalformedFrame:
        # What a broker says wrongly is for the client to make something of.
        return False
    if read is None or len(frame) < read.body_offset + INT32.size + INT16.size:
        return False
    code: int = INT16.unpack_from(frame, read.body_offset + INT32.size)[0]
    return code == ErrorCode.NONE


NOT_FOUND = ErrorCode.GROUP_ID_NOT_FOUND
_WORDS = {
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
}
"""What Kafka tells an admin beside a code; of a member's answer it leaves them out."""


def refuse_other_kind(header: RequestHeader, group_id: GroupId, code: ErrorCode = NOT_FOUND) -> bytes:
    """A refusal as Kafka 4.3.1 says it, as a whole frame: GROUP_ID_NOT_FOUND where a group of that name is of another
    kind, or why nobody hears of that.
    """
    kind, tail = _TAILS[header.api_key]
    said = None if keeps_member(header.api_key) else _WORDS.get(code)
    if code is NOT_FOUND:
        said = f"Group {group_id} is not a {kind} group."
    body = _NOTHING + INT16.pack(code) + nullable_string(said, flexible=True) + tail()
    return response_frame(header.api_key, header.api_version, header.correlation_id, body)
