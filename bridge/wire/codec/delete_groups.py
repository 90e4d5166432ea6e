"""DeleteGroups between fields and the admin dialect."""

from bridge.wire.codec.api import ApiCodec
from bridge.wire.codec.record import Fields, Record, error_code
from translators.dialects.admin import DeletedGroup, DeleteGroups, DeleteGroupsReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId


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
