"""LeaveGroup between fields and the classic dialect."""

from bridge.wire.codec.api import ApiCodec
from bridge.wire.codec.record import Fields, Record, error_code, instance_id
from translators.dialects.classic import LeaveGroup, LeaveGroupReply, LeavingMember, LeftMember
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId

_FIRST_BATCH = 3


class LeaveGroupCodec(ApiCodec[LeaveGroup, LeaveGroupReply]):
    """LeaveGroup between fields and the classic dialect."""

    request_type = LeaveGroup
    reply_type = LeaveGroupReply

    def decode_request(self, record: Record, version: int) -> LeaveGroup:
        """Fields to request; before version 3 one member leaves, by its id."""
        group_id = GroupId(record.text("group_id"))
        if version < _FIRST_BATCH:
            alone = LeavingMember(member_id=MemberId(record.text("member_id")))
            return LeaveGroup(group_id=group_id, members=(alone,), is_batch=False)
        members = tuple(
            LeavingMember(
                member_id=MemberId(each.text("member_id")),
                instance_id=instance_id(each),
                reason=each.nullable_text("reason") or "",
            )
            for each in record.records("members")
        )
        return LeaveGroup(group_id=group_id, members=members)

    def encode_request(self, request: LeaveGroup, version: int) -> Fields:
        """Request to fields; ValueError when a version before 3 can't say it."""
        if version < _FIRST_BATCH and len(request.members) != 1:
            raise ValueError(f"LeaveGroup v{version} names one member, not {len(request.members)}")
        return {
            "group_id": request.group_id,
            "member_id": request.members[0].member_id if request.members else "",
            "members": [
                {
                    "member_id": each.member_id,
                    "group_instance_id": each.instance_id,
                    "reason": each.reason or None,
                }
                for each in request.members
            ],
        }

    def decode_reply(self, record: Record, version: int) -> LeaveGroupReply:
        """Fields to reply."""
        members = tuple(
            LeftMember(
                member_id=MemberId(each.text("member_id")),
                instance_id=instance_id(each),
                error=error_code(each),
            )
            for each in record.records("members")
        )
        return LeaveGroupReply(error=error_code(record), members=members)

    def encode_reply(self, reply: LeaveGroupReply, version: int) -> Fields:
        """Reply to fields; before version 3 the single member's error is the only one (K1.57)."""
        error = reply.error
        if version < _FIRST_BATCH and error is ErrorCode.NONE and reply.members:
            error = reply.members[0].error
        return {
            "throttle_time_ms": 0,
            "error_code": error,
            "members": [
                {"member_id": each.member_id, "group_instance_id": each.instance_id, "error_code": each.error}
                for each in reply.members
            ],
        }

    def refuse(self, request: LeaveGroup, code: ErrorCode) -> LeaveGroupReply:
        """The refusal names no members."""
        return LeaveGroupReply(error=code)

    def groups(self, request: LeaveGroup) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return (request.group_id,)


LEAVE_GROUP = LeaveGroupCodec()
