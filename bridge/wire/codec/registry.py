"""The one door to the codecs: frames of the group APIs to dialect values and back, by api key and version.

The door for messages whose fields are only touched up (Metadata, FindCoordinator, DescribeCluster, ApiVersions) is
`messages`: `read_reply_fields` gives correlation id and fields, `reply_frame` writes them again; the same pair exists
for requests. Errors of bad input are MalformedFrame throughout, with offsets from the start of the frame.
"""

from typing import cast

from bridge.wire.apis import ApiKey, api_name, is_flexible
from bridge.wire.codec.alter_configs import ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS
from bridge.wire.codec.api import Api
from bridge.wire.codec.consumer_group_describe import CONSUMER_GROUP_DESCRIBE
from bridge.wire.codec.consumer_group_heartbeat import CONSUMER_GROUP_HEARTBEAT
from bridge.wire.codec.delete_groups import DELETE_GROUPS
from bridge.wire.codec.describe_configs import DESCRIBE_CONFIGS
from bridge.wire.codec.describe_groups import DESCRIBE_GROUPS
from bridge.wire.codec.heartbeat import HEARTBEAT
from bridge.wire.codec.join_group import JOIN_GROUP
from bridge.wire.codec.leave_group import LEAVE_GROUP
from bridge.wire.codec.list_config_resources import LIST_CONFIG_RESOURCES
from bridge.wire.codec.list_groups import LIST_GROUPS
from bridge.wire.codec.messages import (
    READABLE,
    Place,
    read_reply_fields,
    read_request_fields,
    reply_frame,
    whole_request_frame,
)
from bridge.wire.codec.offset_commit import OFFSET_COMMIT, TXN_OFFSET_COMMIT
from bridge.wire.codec.offset_delete import OFFSET_DELETE
from bridge.wire.codec.offset_fetch import OFFSET_FETCH
from bridge.wire.codec.primitives import Fault, string_reader
from bridge.wire.codec.sync_group import SYNC_GROUP
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import FrameBytes
from bridge.wire.versions import VersionTable
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId
from translators.dialects.messages import GroupReply, GroupRequest

Request = GroupRequest
Reply = GroupReply

APIS: dict[int, Api] = {
    ApiKey.OFFSET_COMMIT: OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH: OFFSET_FETCH,
    ApiKey.JOIN_GROUP: JOIN_GROUP,
    ApiKey.HEARTBEAT: HEARTBEAT,
    ApiKey.LEAVE_GROUP: LEAVE_GROUP,
    ApiKey.SYNC_GROUP: SYNC_GROUP,
    ApiKey.DESCRIBE_GROUPS: DESCRIBE_GROUPS,
    ApiKey.LIST_GROUPS: LIST_GROUPS,
    ApiKey.TXN_OFFSET_COMMIT: TXN_OFFSET_COMMIT,
    ApiKey.DELETE_GROUPS: DELETE_GROUPS,
    ApiKey.OFFSET_DELETE: OFFSET_DELETE,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: CONSUMER_GROUP_HEARTBEAT,
    ApiKey.CONSUMER_GROUP_DESCRIBE: CONSUMER_GROUP_DESCRIBE,
    ApiKey.DESCRIBE_CONFIGS: DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS: ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: INCREMENTAL_ALTER_CONFIGS,
    ApiKey.LIST_CONFIG_RESOURCES: LIST_CONFIG_RESOURCES,
}

SUPPORTED: VersionTable = {api_key: READABLE[api_key] for api_key in APIS}
"""The apis and versions that can be decoded and encoded here."""

_BY_REQUEST: dict[type[object], Api] = {api.request_type: api for api in APIS.values()}

_GROUP_AFTER_STRINGS: dict[int, int] = {
    ApiKey.OFFSET_COMMIT: 0,
    ApiKey.OFFSET_FETCH: 0,
    ApiKey.JOIN_GROUP: 0,
    ApiKey.HEARTBEAT: 0,
    ApiKey.LEAVE_GROUP: 0,
    ApiKey.SYNC_GROUP: 0,
    ApiKey.TXN_OFFSET_COMMIT: 1,
    ApiKey.OFFSET_DELETE: 0,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: 0,
}
"""Api key -> how many strings stand before the group id of its requests."""
_FIRST_OFFSET_FETCH_OF_MANY = 8

_STRING_READERS = {compact: string_reader(compact=compact, nullable=False) for compact in (False, True)}


def decode_request(
    api_key: int, version: int, body: FrameBytes, offset: int = 0, elements_max: int | None = None
) -> Request:
    """Read the body of a request; `offset` is where it begins in its frame, for the error alone.

    With `elements_max` raises TooManyElements for a request with more elements, or with many that are tiny. Raises
    MalformedFrame for bytes that aren't exactly one such request, and for an api or version not in SUPPORTED.
    """
    api = _api(api_key, version)
    record = read_request_fields(api_key, version, body, Place(offset, elements_max))
    return cast("Request", api.decode_request(record, version))


def encode_reply(api_key: int, version: int, correlation_id: int, reply: Reply) -> bytes:
    """Write an answer as a whole frame, length prefix and header included."""
    return reply_frame(api_key, version, correlation_id, _api(api_key, version).reply_fields(reply, version))


def encode_request(api_key: int, version: int, correlation_id: int, client_id: str | None, request: Request) -> bytes:
    """Write a request as a whole frame; ValueError when the version can't say it (several groups or leavers)."""
    fields = _api(api_key, version).request_fields(request, version)
    return whole_request_frame(api_key, version, correlation_id, client_id, fields)


def decode_reply(api_key: int, version: int, frame: FrameBytes) -> tuple[int, Reply]:
    """Read a broker's answer, given without its length prefix: correlation id and reply. Raises MalformedFrame.

    Error codes that the dialects don't know become UNKNOWN_SERVER_ERROR: relay as bytes what needs no change.
    """
    api = _api(api_key, version)
    correlation_id, record = read_reply_fields(api_key, version, frame)
    return correlation_id, cast("Reply", api.decode_reply(record, version))


def error_reply(request: Request, code: ErrorCode) -> Reply:
    """A well-formed answer that refuses all of a request."""
    return cast("Reply", _BY_REQUEST[type(request)].refusal(request, code))


def group_ids(request: Request) -> tuple[GroupId, ...]:
    """The groups that a request names, in its order; none for ListGroups."""
    return _BY_REQUEST[type(request)].group_ids(request)


def peek_group_id(api_key: int, version: int, body: FrameBytes, offset: int = 0) -> GroupId | None:
    """The group id of a request, with nothing else of it read: for routing.

    None for requests that name several groups or none (OffsetFetch from version 8 on, DescribeGroups, ListGroups,
    DeleteGroups, ConsumerGroupDescribe) and for other apis: decode those and ask `group_ids`. Raises MalformedFrame.
    """
    before = _GROUP_AFTER_STRINGS.get(api_key)
    if before is None or (api_key == ApiKey.OFFSET_FETCH and version >= _FIRST_OFFSET_FETCH_OF_MANY):
        return None
    read_string = _STRING_READERS[is_flexible(api_key, version)]
    # A view is copied only as far as both strings can reach.
    buf, at = bytes(body[:_PEEKED_BYTES]), 0
    try:
        for _ in range(before):
            _, at = read_string(buf, at)
        group_id, _ = read_string(buf, at)
    except Fault as fault:
        raise MalformedFrame(api_name(api_key), version, "group_id", offset + fault.offset, fault.reason) from fault
    return GroupId(cast("str", group_id))


_PEEKED_BYTES = 2 * (32767 + 5)


def _api(api_key: int, version: int) -> Api:
    api = APIS.get(api_key)
    if api is None:
        raise MalformedFrame(api_name(api_key), version, "request_api_key", 4, "no api that is decoded here")
    lowest, highest = SUPPORTED[api_key]
    if not lowest <= version <= highest:
        reason = f"{version}, but {lowest} to {highest} are spoken"
        raise MalformedFrame(api_name(api_key), version, "request_api_version", 6, reason)
    return api
