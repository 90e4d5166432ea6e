"""OffsetDelete between fields and the offsets dialect."""

from bridge.wire.codec.api import ApiCodec
from bridge.wire.codec.record import Fields, Record, committed_topic_fields, committed_topics, error_code
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, TopicName
from translators.dialects.offsets import OffsetDelete, OffsetDeleteReply, TopicOffsets


class OffsetDeleteCodec(ApiCodec[OffsetDelete, OffsetDeleteReply]):
    """OffsetDelete between fields and the offsets dialect."""

    request_type = OffsetDelete
    reply_type = OffsetDeleteReply

    def decode_request(self, record: Record, version: int) -> OffsetDelete:
        """Fields to request."""
        topics = tuple(
            TopicOffsets(
                name=TopicName(topic.text("name")),
                partitions=tuple(each.number("partition_index") for each in topic.records("partitions")),
            )
            for topic in record.records("topics")
        )
        return OffsetDelete(group_id=GroupId(record.text("group_id")), topics=topics)

    def encode_request(self, request: OffsetDelete, version: int) -> Fields:
        """Request to fields."""
        return {
            "group_id": request.group_id,
            "topics": [
                {"name": topic.name, "partitions": [{"partition_index": number} for number in topic.partitions]}
                for topic in request.topics
            ],
        }

    def decode_reply(self, record: Record, version: int) -> OffsetDeleteReply:
        """Fields to reply."""
        return OffsetDeleteReply(
            error=error_code(record),
            topics=committed_topics(record.records("topics")),
            throttle_time_ms=record.number("throttle_time_ms"),
        )

    def encode_reply(self, reply: OffsetDeleteReply, version: int) -> Fields:
        """Reply to fields."""
        return {
            "error_code": reply.error,
            "throttle_time_ms": reply.throttle_time_ms,
            "topics": committed_topic_fields(reply.topics),
        }

    def refuse(self, request: OffsetDelete, code: ErrorCode) -> OffsetDeleteReply:
        """The refusal names no topics."""
        return OffsetDeleteReply(error=code)

    def groups(self, request: OffsetDelete) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return (request.group_id,)


OFFSET_DELETE = OffsetDeleteCodec()
