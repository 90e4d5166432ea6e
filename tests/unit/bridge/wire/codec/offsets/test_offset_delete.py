"""OffsetDelete, in its only version."""

from bridge.wire.apis import ApiKey
from bridge.wire.codec.offsets import OFFSET_DELETE
from tests.support.codec_trips import reply_trip, request_trip
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, TopicName
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    OffsetDelete,
    OffsetDeleteReply,
    TopicOffsets,
)

REQUEST = OffsetDelete(group_id=GroupId("g"), topics=(TopicOffsets(name=TopicName("orders"), partitions=(0, 3)),))


def test_request_arrives_whole() -> None:
    """KIP-496."""
    assert request_trip(ApiKey.OFFSET_DELETE, 0, REQUEST) == REQUEST


def test_reply_arrives_whole() -> None:
    """With an error per partition."""
    reply = OffsetDeleteReply(
        error=ErrorCode.NONE,
        topics=(
            CommittedTopic(
                name=TopicName("orders"), partitions=(CommittedPartition(3, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC),)
            ),
        ),
        throttle_time_ms=2,
    )
    assert reply_trip(ApiKey.OFFSET_DELETE, 0, reply) == reply


def test_refusal_names_no_topics() -> None:
    """A code on top."""
    assert OFFSET_DELETE.refuse(REQUEST, ErrorCode.NON_EMPTY_GROUP) == OffsetDeleteReply(
        error=ErrorCode.NON_EMPTY_GROUP
    )
