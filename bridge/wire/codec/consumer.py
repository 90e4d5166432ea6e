"""ConsumerGroupHeartbeat and ConsumerGroupDescribe between fields and the consumer dialect (KIP-848, KIP-1082)."""

from collections.abc import Sequence

from bridge.wire.codec.api import (
    ApiCodec,
    Fields,
    Record,
    error_code,
    instance_id,
    topic_id_fields,
    topic_id_partitions,
)
from translators.dialects.consumer import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeReply,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatReply,
    DescribedConsumerGroup,
    DescribedConsumerMember,
    DescribedTopicPartitions,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicId, TopicIdPartition, TopicName

_FIRST_WITH_CLIENT_ID = 1


class ConsumerGroupHeartbeatCodec(ApiCodec[ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply]):
    """ConsumerGroupHeartbeat between fields and the consumer dialect (KIP-848, KIP-1082)."""

    request_type = ConsumerGroupHeartbeat
    reply_type = ConsumerGroupHeartbeatReply

    def decode_request(self, record: Record, version: int) -> ConsumerGroupHeartbeat:
        """Fields to request."""
        names, owned = record.texts("subscribed_topic_names"), record.records("topic_partitions")
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
            owned=None if record.is_null("topic_partitions") else topic_id_partitions(owned),
            bare_topics=_bare_topics(owned),
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
            "topic_partitions": _owned_fields(request),
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


def _bare_topics(topics: Sequence[Record]) -> frozenset[TopicId]:
    return frozenset(TopicId(each.blob("topic_id")) for each in topics if not each.numbers("partitions"))


def _owned_fields(request: ConsumerGroupHeartbeat) -> list[Fields] | None:
    """Equal requests are equal bytes; what is named without partitions comes last."""
    if request.owned is None:
        return None
    bare = ({"topic_id": each, "partitions": []} for each in sorted(request.bare_topics))
    return [*topic_id_fields(request.owned), *bare]


def _assignment(record: Record | None) -> frozenset[TopicIdPartition] | None:
    return None if record is None else topic_id_partitions(record.records("topic_partitions"))


CONSUMER_GROUP_HEARTBEAT = ConsumerGroupHeartbeatCodec()


class ConsumerGroupDescribeCodec(ApiCodec[ConsumerGroupDescribe, ConsumerGroupDescribeReply]):
    """ConsumerGroupDescribe between fields and the consumer dialect (KIP-848)."""

    request_type = ConsumerGroupDescribe
    reply_type = ConsumerGroupDescribeReply

    def decode_request(self, record: Record, version: int) -> ConsumerGroupDescribe:
        """Fields to request."""
        return ConsumerGroupDescribe(
            tuple(GroupId(each) for each in record.texts("group_ids")),
            record.flag("include_authorized_operations"),
        )

    def encode_request(self, request: ConsumerGroupDescribe, version: int) -> Fields:
        """Request to fields."""
        return {
            "group_ids": request.group_ids,
            "include_authorized_operations": request.include_authorized_operations,
        }

    def decode_reply(self, record: Record, version: int) -> ConsumerGroupDescribeReply:
        """Fields to reply; version 0 knows no member types."""
        return ConsumerGroupDescribeReply(tuple(_group(each) for each in record.records("groups")))

    def encode_reply(self, reply: ConsumerGroupDescribeReply, version: int) -> Fields:
        """Reply to fields."""
        return {"throttle_time_ms": 0, "groups": [_group_fields(group) for group in reply.groups]}

    def refuse(self, request: ConsumerGroupDescribe, code: ErrorCode) -> ConsumerGroupDescribeReply:
        """The refusal repeats the code for every group."""
        return ConsumerGroupDescribeReply(
            tuple(DescribedConsumerGroup(error=code, group_id=group_id) for group_id in request.group_ids)
        )

    def groups(self, request: ConsumerGroupDescribe) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return request.group_ids


def _group(record: Record) -> DescribedConsumerGroup:
    return DescribedConsumerGroup(
        error=error_code(record),
        group_id=GroupId(record.text("group_id")),
        error_message=record.nullable_text("error_message"),
        group_state=record.text("group_state"),
        group_epoch=record.number("group_epoch"),
        assignment_epoch=record.number("assignment_epoch"),
        assignor_name=record.text("assignor_name"),
        members=tuple(_member(each) for each in record.records("members")),
        authorized_operations=record.number("authorized_operations"),
    )


def _member(record: Record) -> DescribedConsumerMember:
    return DescribedConsumerMember(
        member_id=MemberId(record.text("member_id")),
        instance_id=instance_id(record, "instance_id"),
        rack_id=record.nullable_text("rack_id"),
        member_epoch=record.number("member_epoch"),
        client_id=record.text("client_id"),
        client_host=record.text("client_host"),
        subscribed_topic_names=tuple(TopicName(each) for each in record.texts("subscribed_topic_names")),
        subscribed_topic_regex=record.nullable_text("subscribed_topic_regex"),
        assignment=_described_assignment(record.record("assignment")),
        target_assignment=_described_assignment(record.record("target_assignment")),
        member_type=record.number("member_type"),
    )


def _described_assignment(record: Record) -> tuple[DescribedTopicPartitions, ...]:
    return tuple(
        DescribedTopicPartitions(
            topic_id=TopicId(each.blob("topic_id")),
            topic_name=TopicName(each.text("topic_name")),
            partitions=tuple(each.numbers("partitions")),
        )
        for each in record.records("topic_partitions")
    )


def _group_fields(group: DescribedConsumerGroup) -> Fields:
    return {
        "error_code": group.error,
        "error_message": group.error_message,
        "group_id": group.group_id,
        "group_state": group.group_state,
        "group_epoch": group.group_epoch,
        "assignment_epoch": group.assignment_epoch,
        "assignor_name": group.assignor_name,
        "members": [_member_fields(member) for member in group.members],
        "authorized_operations": group.authorized_operations,
    }


def _member_fields(member: DescribedConsumerMember) -> Fields:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "member_epoch": member.member_epoch,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": member.subscribed_topic_names,
        "subscribed_topic_regex": member.subscribed_topic_regex,
        "assignment": _assignment_fields(member.assignment),
        "target_assignment": _assignment_fields(member.target_assignment),
        "member_type": member.member_type,
    }


def _assignment_fields(assignment: tuple[DescribedTopicPartitions, ...]) -> Fields:
    return {
        "topic_partitions": [
            {"topic_id": each.topic_id, "topic_name": each.topic_name, "partitions": each.partitions}
            for each in assignment
        ]
    }


CONSUMER_GROUP_DESCRIBE = ConsumerGroupDescribeCodec()
