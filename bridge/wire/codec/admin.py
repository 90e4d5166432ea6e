"""DescribeGroups, ListGroups and DeleteGroups between fields and the admin dialect."""

from bridge.wire.codec.api import ApiCodec, Fields, Record, error_code, instance_id
from translators.dialects.admin import (
    DeletedGroup,
    DeleteGroups,
    DeleteGroupsReply,
    DescribedGroup,
    DescribedMember,
    DescribeGroups,
    DescribeGroupsReply,
    ListedGroup,
    ListGroups,
    ListGroupsReply,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId

_FIRST_WITH_MISSING_ERROR = 6


class DescribeGroupsCodec(ApiCodec[DescribeGroups, DescribeGroupsReply]):
    """DescribeGroups between fields and the admin dialect."""

    request_type = DescribeGroups
    reply_type = DescribeGroupsReply

    def decode_request(self, record: Record, version: int) -> DescribeGroups:
        """Fields to request."""
        return DescribeGroups(
            group_ids=tuple(GroupId(each) for each in record.texts("groups")),
            include_authorized_operations=record.flag("include_authorized_operations"),
            errors_when_missing=version >= _FIRST_WITH_MISSING_ERROR,
        )

    def encode_request(self, request: DescribeGroups, version: int) -> Fields:
        """Request to fields."""
        return {
            "groups": request.group_ids,
            "include_authorized_operations": request.include_authorized_operations,
        }

    def decode_reply(self, record: Record, version: int) -> DescribeGroupsReply:
        """Fields to reply."""
        return DescribeGroupsReply(
            groups=tuple(_group(each) for each in record.records("groups")),
            throttle_time_ms=record.number("throttle_time_ms"),
        )

    def encode_reply(self, reply: DescribeGroupsReply, version: int) -> Fields:
        """Reply to fields."""
        return {
            "throttle_time_ms": reply.throttle_time_ms,
            "groups": [_group_fields(group) for group in reply.groups],
        }

    def refuse(self, request: DescribeGroups, code: ErrorCode) -> DescribeGroupsReply:
        """The refusal repeats the code for every group."""
        return DescribeGroupsReply(
            groups=tuple(DescribedGroup(error=code, group_id=group_id) for group_id in request.group_ids)
        )

    def groups(self, request: DescribeGroups) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return request.group_ids


def _group(record: Record) -> DescribedGroup:
    return DescribedGroup(
        error=error_code(record),
        group_id=GroupId(record.text("group_id")),
        error_message=record.nullable_text("error_message"),
        group_state=record.text("group_state"),
        protocol_type=record.text("protocol_type"),
        protocol_data=record.text("protocol_data"),
        members=tuple(_member(each) for each in record.records("members")),
        authorized_operations=record.number("authorized_operations"),
    )


def _member(record: Record) -> DescribedMember:
    return DescribedMember(
        member_id=MemberId(record.text("member_id")),
        instance_id=instance_id(record),
        client_id=record.text("client_id"),
        client_host=record.text("client_host"),
        metadata=record.blob("member_metadata"),
        assignment=record.blob("member_assignment"),
    )


def _group_fields(group: DescribedGroup) -> Fields:
    return {
        "error_code": group.error,
        "error_message": group.error_message,
        "group_id": group.group_id,
        "group_state": group.group_state,
        "protocol_type": group.protocol_type,
        "protocol_data": group.protocol_data,
        "members": [_member_fields(member) for member in group.members],
        "authorized_operations": group.authorized_operations,
    }


def _member_fields(member: DescribedMember) -> Fields:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "member_metadata": member.metadata,
        "member_assignment": member.assignment,
    }


DESCRIBE_GROUPS = DescribeGroupsCodec()


class ListGroupsCodec(ApiCodec[ListGroups, ListGroupsReply]):
    """ListGroups between fields and the admin dialect."""

    request_type = ListGroups
    reply_type = ListGroupsReply

    def decode_request(self, record: Record, version: int) -> ListGroups:
        """Fields to request."""
        return ListGroups(states=tuple(record.texts("states_filter")), types=tuple(record.texts("types_filter")))

    def encode_request(self, request: ListGroups, version: int) -> Fields:
        """Request to fields."""
        return {"states_filter": request.states, "types_filter": request.types}

    def decode_reply(self, record: Record, version: int) -> ListGroupsReply:
        """Fields to reply."""
        groups = tuple(
            ListedGroup(
                group_id=GroupId(each.text("group_id")),
                protocol_type=each.text("protocol_type"),
                group_state=each.text("group_state"),
                group_type=each.text("group_type"),
            )
            for each in record.records("groups")
        )
        return ListGroupsReply(
            error=error_code(record), groups=groups, throttle_time_ms=record.number("throttle_time_ms")
        )

    def encode_reply(self, reply: ListGroupsReply, version: int) -> Fields:
        """Reply to fields."""
        return {
            "throttle_time_ms": reply.throttle_time_ms,
            "error_code": reply.error,
            "groups": [
                {
                    "group_id": each.group_id,
                    "protocol_type": each.protocol_type,
                    "group_state": each.group_state,
                    "group_type": each.group_type,
                }
                for each in reply.groups
            ],
        }

    def refuse(self, request: ListGroups, code: ErrorCode) -> ListGroupsReply:
        """The refusal lists nothing."""
        return ListGroupsReply(error=code, groups=())

    def groups(self, request: ListGroups) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return ()


LIST_GROUPS = ListGroupsCodec()


class DeleteGroupsCodec(ApiCodec[DeleteGroups, DeleteGroupsReply]):
    """DeleteGroups between fields and the admin dialect."""

    request_type = DeleteGroups
    reply_type = DeleteGroupsReply

    def decode_request(self, record: Record, version: int) -> DeleteGroups:
        """Fields to request."""
        return DeleteGroups(tuple(GroupId(each) for each in record.texts("groups_names")))

    def encode_request(self, request: DeleteGroups, version: int) -> Fields:
        """Request to fields."""
        return {"groups_names": request.group_ids}

    def decode_reply(self, record: Record, version: int) -> DeleteGroupsReply:
        """Fields to reply."""
        groups = tuple(
            DeletedGroup(GroupId(each.text("group_id")), error_code(each)) for each in record.records("results")
        )
        return DeleteGroupsReply(groups=groups, throttle_time_ms=record.number("throttle_time_ms"))

    def encode_reply(self, reply: DeleteGroupsReply, version: int) -> Fields:
        """Reply to fields."""
        return {
            "throttle_time_ms": reply.throttle_time_ms,
            "results": [{"group_id": each.group_id, "error_code": each.error} for each in reply.groups],
        }

    def refuse(self, request: DeleteGroups, code: ErrorCode) -> DeleteGroupsReply:
        """The refusal repeats the code for every group."""
        return DeleteGroupsReply(groups=tuple(DeletedGroup(group_id, code) for group_id in request.group_ids))

    def groups(self, request: DeleteGroups) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return request.group_ids


DELETE_GROUPS = DeleteGroupsCodec()
