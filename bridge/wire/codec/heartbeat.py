"""Heartbeat between fields and the classic dialect: the general way, beside the fast path."""

from bridge.wire.codec.api import ApiCodec
from bridge.wire.codec.record import Fields, Record, error_code, instance_id
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId


class HeartbeatCodec(ApiCodec[Heartbeat, HeartbeatReply]):
    """Heartbeat between fields and the classic dialect: the general way, beside the fast path."""

    request_type = Heartbeat
    reply_type = HeartbeatReply

    def decode_request(self, record: Record, version: int) -> Heartbeat:
        """Fields to request."""
        return Heartbeat(
            GroupId(record.text("group_id")),
            record.number("generation_id"),
            MemberId(record.text("member_id")),
            instance_id(record),
        )

    def encode_request(self, request: Heartbeat, version: int) -> Fields:
        """Request to fields."""
        return {
            "group_id": request.group_id,
            "generation_id": request.generation,
            "member_id": request.member_id,
            "group_instance_id": request.instance_id,
        }

    def decode_reply(self, record: Record, version: int) -> HeartbeatReply:
        """Fields to reply."""
        return HeartbeatReply(error_code(record))

    def encode_reply(self, reply: HeartbeatReply, version: int) -> Fields:
        """Reply to fields."""
        return {"throttle_time_ms": 0, "error_code": reply.error}

    def refuse(self, request: Heartbeat, code: ErrorCode) -> HeartbeatReply:
        """The refusal holds nothing but the code."""
        return HeartbeatReply(code)

    def groups(self, request: Heartbeat) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return (request.group_id,)


HEARTBEAT = HeartbeatCodec()
