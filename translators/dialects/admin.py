"""What admins ask about groups: DescribeGroups, ListGroups and DeleteGroups."""

from dataclasses import dataclass

from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId

NO_OPERATIONS = -2147483648
"""Authorized operations were not asked for."""
SHARE_GROUP, STREAMS_GROUP = "share", "streams"
"""Kinds of groups beside classic and consumer, as ListGroups names them."""
OTHER_KINDS = frozenset({SHARE_GROUP, STREAMS_GROUP})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroups:
    """An admin asks for classic groups; `errors_when_missing` is true from version 6 on (K6.1 in 11.4)."""

    group_ids: tuple[GroupId, ...]
    include_authorized_operations: bool = False
    errors_when_missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMember:
    """One member in the classic view."""

    member_id: MemberId
    instance_id: InstanceId | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """One group in the classic view."""

    error: ErrorCode
    group_id: GroupId
    error_message: str | None = None
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedMember, ...] = ()
    authorized_operations: int = NO_OPERATIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsReply:
    """The answer to DescribeGroups, groups in the order asked."""

    groups: tuple[DescribedGroup, ...]
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroups:
    """An admin lists groups, perhaps only some states or types; empty filters list all."""

    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup:
    """One group in a list."""

    group_id: GroupId
    protocol_type: str
    group_state: str = ""
    group_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsReply:
    """The answer to ListGroups."""

    error: ErrorCode
    groups: tuple[ListedGroup, ...]
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True)
class DeleteGroups:
    """An admin deletes groups."""

    group_ids: tuple[GroupId, ...]


@dataclass(frozen=True, slots=True)
class DeletedGroup:
    """What became of one group."""

    group_id: GroupId
    error: ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsReply:
    """The answer to DeleteGroups, groups in the order asked."""

    groups: tuple[DeletedGroup, ...]
    throttle_time_ms: int = 0
