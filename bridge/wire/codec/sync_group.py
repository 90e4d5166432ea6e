"""SyncGroup between fields and the classic dialect."""

from bridge.wire.codec.api import ApiCodec
from bridge.wire.codec.record import Fields, Record, error_code, instance_id
from translators.dialects.classic import MemberAssignment, SyncGroup, SyncGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId

_FIRST_WITH_PROTOCOL = 5


class SyncGroupCodec(ApiCodec[SyncGroup, SyncGroupReply]):
    """SyncGroup between fields and the classic dialect."""

    request_type = SyncGroup
    reply_type = SyncGroupReply

    def decode_request(self, record: Record, version: int) -> SyncGroup:
        """Fields to request."""
        return SyncGroup(
            group_id=GroupId(record.text("group_id")),
            generation=record.number("generation_id"),
            member_id=MemberId(record.text("member_id")),
            instance_id=instance_id(record),
            protocol_type=record.nullable_text("protocol_type"),
            protocol_name=record.nullable_text("protocol_name"),
            assignments=tuple(
                MemberAssignment(MemberId(each.text("member_id")), each.blob("assignment"))
                for each in record.records("assignments")
            ),
            names_protocol=version >= _FIRST_WITH_PROTOCOL,
        )

    def encode_request(self, request: SyncGroup, version: int) -> Fields:
        """Request to fields."""
        return {
            "group_id": request.group_id,
            "generation_id": request.generation,
            "member_id": request.member_id,
            "group_instance_id": request.instance_id,
            "protocol_type": request.protocol_type,
            "protocol_name": request.protocol_name,
            "assignments": [
                {"member_id": each.member_id, "assignment": each.assignment} for each in request.assignments
            ],
        }

    def decode_reply(self, record: Record, version: int) -> SyncGroupReply:
        """Fields to reply."""
        return SyncGroupReply(
            error=error_code(record),
            protocol_type=record.nullable_text("protocol_type"),
            protocol_name=record.nullable_text("protocol_name"),
            assignment=record.blob("assignment"),
        )

    def encode_reply(self, reply: SyncGroupReply, version: int) -> Fields:
        """Reply to fields."""
        return {
            "throttle_time_ms": 0,
            "error_code": reply.error,
            "protocol_type": reply.protocol_type,
            "protocol_name": reply.protocol_name,
            "assignment": reply.assignment,
        }

    def refuse(self, request: SyncGroup, code: ErrorCode) -> SyncGroupReply:
        """The refusal holds nothing but the code."""
        return SyncGroupReply(error=code)

    def groups(self, request: SyncGroup) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return (request.group_id,)


SYNC_GROUP = SyncGroupCodec()
