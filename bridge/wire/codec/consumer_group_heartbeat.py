"""ConsumerGroupHeartbeat between fields and the consumer dialect (KIP-848, KIP-1082)."""

from bridge.wire.codec.api import ApiCodec
from bridge.wire.codec.record import Fields, Record, error_code, instance_id, topic_id_fields, topic_id_partitions
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicIdPartition, TopicName

_FIRST_WITH_CLIENT_ID = 1


class ConsumerGroupHeartbeatCodec(ApiCodec[ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply]):
    """ConsumerGroupHeartbeat between fields and the consumer dialect (KIP-848, KIP-1082)."""

    request_type = ConsumerGroupHeartbeat
    reply_type = ConsumerGroupHeartbeatReply

    def decode_request(self, record: Record, version: int) -> ConsumerGroupHeartbeat:
        """Fields to request."""
        names = record.texts("subscribed_topic_names")
        return ConsumerGroupHeartbeat(
            group_id=GroupId(record.text("group_id")),
            member_id=MemberId(record.text("member_id")),
            member_epoch=record.number("member_epoch"),
            instance_id=instance_id(record, "instance_id"),
            rack_id=record.nullable_text("rack_id"),
            rebalance_timeout_ms=record.number("rebalance_timeout_ms"),
            subscribed_topic_names=None
            if record.is_null("subscribed_topic_names")
            else tuple(TopicName(each) for each in names),
            subscribed_topic_regex=record.nullable_text("subscribed_topic_regex"),
            server_assignor=record.nullable_text("server_assignor"),
            owned=None
            if record.is_null("topic_partitions")
            else topic_id_partitions(record.records("topic_partitions")),
            has_client_id=version >= _FIRST_WITH_CLIENT_ID,
        )

    def encode_request(self, request: ConsumerGroupHeartbeat, version: int) -> Fields:
        """Request to fields; version 0 drops the pattern, which it has no place for."""
        return {
            "group_id": request.group_id,
            "member_id": request.member_id,
            "member_epoch": request.member_epoch,
            "instance_id": request.instance_id,
            "rack_id": request.rack_id,
            "rebalance_timeout_ms": request.rebalance_timeout_ms,
            "subscribed_topic_names": request.subscribed_topic_names,
            "subscribed_topic_regex": request.subscribed_topic_regex,
            "server_assignor": request.server_assignor,
            "topic_partitions": None if request.owned is None else topic_id_fields(request.owned),
        }

    def decode_reply(self, record: Record, version: int) -> ConsumerGroupHeartbeatReply:
        """Fields to reply."""
        member_id = record.nullable_text("member_id")
        return ConsumerGroupHeartbeatReply(
            error=error_code(record),
            error_message=record.nullable_text("error_message"),
            member_id=None if member_id is None else MemberId(member_id),
            member_epoch=record.number("member_epoch"),
            heartbeat_interval_ms=record.number("heartbeat_interval_ms"),
            assignment=_assignment(record.nullable_record("assignment")),
        )

    def encode_reply(self, reply: ConsumerGroupHeartbeatReply, version: int) -> Fields:
        """Reply to fields."""
        return {
            "throttle_time_ms": 0,
            "error_code": reply.error,
            "error_message": reply.error_message,
            "member_id": reply.member_id,
            "member_epoch": reply.member_epoch,
            "heartbeat_interval_ms": reply.heartbeat_interval_ms,
            "assignment": None if reply.assignment is None else {"topic_partitions": topic_id_fields(reply.assignment)},
        }

    def refuse(self, request: ConsumerGroupHeartbeat, code: ErrorCode) -> ConsumerGroupHeartbeatReply:
        """The refusal holds nothing but the code."""
        return ConsumerGroupHeartbeatReply(error=code)

    def groups(self, request: ConsumerGroupHeartbeat) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return (request.group_id,)


def _assignment(record: Record | None) -> frozenset[TopicIdPartition] | None:
    return None if record is None else topic_id_partitions(record.records("topic_partitions"))


CONSUMER_GROUP_HEARTBEAT = ConsumerGroupHeartbeatCodec()
