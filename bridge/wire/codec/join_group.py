"""JoinGroup between fields and the classic dialect."""

from bridge.wire.codec.api import ApiCodec
from bridge.wire.codec.record import Fields, Record, error_code, instance_id
from translators.dialects.classic import JoinedMember, JoinGroup, JoinGroupReply, Protocol
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId

_FIRST_WITH_REBALANCE_TIMEOUT = 1
_FIRST_WITH_MEMBER_ID_STEP = 4
_FIRST_WITH_NULLABLE_PROTOCOL = 7
_FIRST_WITH_SKIPPED_ASSIGNMENT = 9


class JoinGroupCodec(ApiCodec[JoinGroup, JoinGroupReply]):
    """JoinGroup between fields and the classic dialect."""

    request_type = JoinGroup
    reply_type = JoinGroupReply

    def decode_request(self, record: Record, version: int) -> JoinGroup:
        """Fields to request; version 0 has no rebalance timeout, so the session timeout stands for it."""
        has_rebalance_timeout = version >= _FIRST_WITH_REBALANCE_TIMEOUT
        return JoinGroup(
            group_id=GroupId(record.text("group_id")),
            member_id=MemberId(record.text("member_id")),
            instance_id=instance_id(record),
            protocol_type=record.text("protocol_type"),
            protocols=tuple(Protocol(each.text("name"), each.blob("metadata")) for each in record.records("protocols")),
            session_timeout_ms=record.number("session_timeout_ms"),
            rebalance_timeout_ms=record.number(
                "rebalance_timeout_ms" if has_rebalance_timeout else "session_timeout_ms"
            ),
            reason=record.nullable_text("reason") or "",
            needs_member_id=version >= _FIRST_WITH_MEMBER_ID_STEP,
            skips_assignment=version >= _FIRST_WITH_SKIPPED_ASSIGNMENT,
        )

    def encode_request(self, request: JoinGroup, version: int) -> Fields:
        """Request to fields."""
        return {
            "group_id": request.group_id,
            "session_timeout_ms": request.session_timeout_ms,
            "rebalance_timeout_ms": request.rebalance_timeout_ms,
            "member_id": request.member_id,
            "group_instance_id": request.instance_id,
            "protocol_type": request.protocol_type,
            "protocols": [{"name": each.name, "metadata": each.metadata} for each in request.protocols],
            "reason": request.reason or None,
        }

    def decode_reply(self, record: Record, version: int) -> JoinGroupReply:
        """Fields to reply; before version 7 an empty protocol name stands for none."""
        return JoinGroupReply(
            error=error_code(record),
            member_id=MemberId(record.text("member_id")),
            generation=record.number("generation_id"),
            protocol_type=record.nullable_text("protocol_type"),
            protocol_name=record.nullable_text("protocol_name")
            if version >= _FIRST_WITH_NULLABLE_PROTOCOL
            else record.text("protocol_name") or None,
            leader=record.text("leader"),
            skip_assignment=record.flag("skip_assignment"),
            members=tuple(
                JoinedMember(
                    member_id=MemberId(each.text("member_id")),
                    instance_id=instance_id(each),
                    metadata=each.blob("metadata"),
                )
                for each in record.records("members")
            ),
        )

    def encode_reply(self, reply: JoinGroupReply, version: int) -> Fields:
        """Reply to fields."""
        protocol_name = reply.protocol_name
        if protocol_name is None and version < _FIRST_WITH_NULLABLE_PROTOCOL:
            protocol_name = ""
        return {
            "throttle_time_ms": 0,
            "error_code": reply.error,
            "generation_id": reply.generation,
            "protocol_type": reply.protocol_type,
            "protocol_name": protocol_name,
            "leader": reply.leader,
            "skip_assignment": reply.skip_assignment,
            "member_id": reply.member_id,
            "members": [
                {
                    "member_id": each.member_id,
                    "group_instance_id": each.instance_id,
                    "metadata": each.metadata,
                }
                for each in reply.members
            ],
        }

    def refuse(self, request: JoinGroup, code: ErrorCode) -> JoinGroupReply:
        """The refusal keeps the member id, as Kafka's does."""
        return JoinGroupReply(error=code, member_id=request.member_id)

    def groups(self, request: JoinGroup) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return (request.group_id,)


JOIN_GROUP = JoinGroupCodec()
