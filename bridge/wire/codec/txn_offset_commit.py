"""TxnOffsetCommit between fields and the offsets dialect.

It must not know frames, nor transactions.
"""

from bridge.wire.codec.api import ApiCodec
from bridge.wire.codec.commits import refuse_commit, topic_commit_fields, topic_commits
from bridge.wire.codec.record import Fields, Record
from bridge.wire.codec.values import committed_topic_fields, committed_topics, instance_id
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.offsets import OffsetCommitReply, TxnOffsetCommit


class TxnOffsetCommitCodec(ApiCodec[TxnOffsetCommit, OffsetCommitReply]):
    """TxnOffsetCommit between fields and the offsets dialect."""

    request_type = TxnOffsetCommit
    reply_type = OffsetCommitReply

    def decode_request(self, record: Record, version: int) -> TxnOffsetCommit:
        """Fields to request; before version 3 a commit has no member."""
        return TxnOffsetCommit(
            transactional_id=record.text("transactional_id"),
            group_id=GroupId(record.text("group_id")),
            producer_id=record.number("producer_id"),
            producer_epoch=record.number("producer_epoch"),
            topics=topic_commits(record.records("topics")),
            generation=record.number("generation_id"),
            member_id=MemberId(record.text("member_id")),
            instance_id=instance_id(record),
        )

    def encode_request(self, request: TxnOffsetCommit, version: int) -> Fields:
        """Request to fields."""
        return {
            "transactional_id": request.transactional_id,
            "group_id": request.group_id,
            "producer_id": request.producer_id,
            "producer_epoch": request.producer_epoch,
            "generation_id": request.generation,
            "member_id": request.member_id,
            "group_instance_id": request.instance_id,
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

    def refuse(self, request: TxnOffsetCommit, code: ErrorCode) -> OffsetCommitReply:
        """The refusal repeats the code for every partition."""
        return refuse_commit(request.topics, code)

    def groups(self, request: TxnOffsetCommit) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return (request.group_id,)


TXN_OFFSET_COMMIT = TxnOffsetCommitCodec()
