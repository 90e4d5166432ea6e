"""OffsetCommit between fields and the offsets dialect.

It must not know frames, nor where offsets are kept.
"""

from bridge.wire.codec.api import ApiCodec
from bridge.wire.codec.commits import refuse_commit, topic_commit_fields, topic_commits
from bridge.wire.codec.record import Fields, Record
from bridge.wire.codec.values import committed_topic_fields, committed_topics, instance_id
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply

_FIRST_WITH_MEMBER_EPOCH = 9


class OffsetCommitCodec(ApiCodec[OffsetCommit, OffsetCommitReply]):
    """OffsetCommit between fields and the offsets dialect."""

    request_type = OffsetCommit
    reply_type = OffsetCommitReply

    def decode_request(self, record: Record, version: int) -> OffsetCommit:
        """Fields to request."""
        return OffsetCommit(
            group_id=GroupId(record.text("group_id")),
            generation=record.number("generation_id_or_member_epoch"),
            member_id=MemberId(record.text("member_id")),
            instance_id=instance_id(record),
            topics=topic_commits(record.records("topics")),
            retention_time_ms=record.number("retention_time_ms"),
            knows_member_epoch=version >= _FIRST_WITH_MEMBER_EPOCH,
        )

    def encode_request(self, request: OffsetCommit, version: int) -> Fields:
        """Request to fields; topics go by name up to version 9, by id from 10 on."""
        return {
            "group_id": request.group_id,
            "generation_id_or_member_epoch": request.generation,
            "member_id": request.member_id,
            "group_instance_id": request.instance_id,
            "retention_time_ms": request.retention_time_ms,
            "topics": topic_commit_fields(request.topics),
        }

    def decode_reply(self, record: Record, version: int) -> OffsetCommitReply:
        """Fields to reply."""
        return OffsetCommitReply(
            topics=committed_topics(record.records("topics")), throttle_time_ms=record.number("throttle_time_ms")
        )

    def encode_reply(self, reply: OffsetCommitReply, version: int) -> Fields:
        """Reply to fields."""
        return {"throttle_time_ms": reply.throttle_time_ms, "topics": committed_topic_fields(reply.topics)}

    def refuse(self, request: OffsetCommit, code: ErrorCode) -> OffsetCommitReply:
        """The refusal repeats the code for every partition."""
        return refuse_commit(request.topics, code)

    def groups(self, request: OffsetCommit) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return (request.group_id,)


OFFSET_COMMIT = OffsetCommitCodec()
