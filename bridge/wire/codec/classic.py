"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup between fields and the classic dialect.

Of Heartbeat it is the general way, beside the fast path of `bridge.wire.heartbeat`.
"""

from bridge.wire.codec.api import ApiCodec, Fields, Record, error_code, instance_id
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinedMember,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeavingMember,
    LeftMember,
    MemberAssignment,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
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
        # Kafka, too, writes a name of no letters as null where it may.
        is_nullable = version >= _FIRST_WITH_NULLABLE_PROTOCOL
        protocol_name = reply.protocol_name or (None if is_nullable else "")
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
