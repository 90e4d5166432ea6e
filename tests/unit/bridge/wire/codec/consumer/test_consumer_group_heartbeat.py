"""ConsumerGroupHeartbeat: absent fields stay apart from empty ones."""

from dataclasses import replace

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.consumer import CONSUMER_GROUP_HEARTBEAT
from tests.support.codec_trips import reply_trip, request_trip
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, TopicId, TopicIdPartition, TopicName

FIRST_ID, SECOND_ID = TopicId(bytes([1] * 16)), TopicId(bytes([2] * 16))
OWNED = frozenset({TopicIdPartition(FIRST_ID, 3), TopicIdPartition(FIRST_ID, 1), TopicIdPartition(SECOND_ID, 0)})
REQUEST = ConsumerGroupHeartbeat(
    group_id=GroupId("g"),
    member_id=MemberId("m"),
    member_epoch=0,
    instance_id=InstanceId("seat"),
    rack_id="r1",
    rebalance_timeout_ms=300_000,
    subscribed_topic_names=(TopicName("orders"), TopicName("bills")),
    subscribed_topic_regex="o.*",
    server_assignor="uniform",
    owned=OWNED,
)
UNCHANGED = ConsumerGroupHeartbeat(group_id=GroupId("g"), member_id=MemberId("m"), member_epoch=7)
REPLY = ConsumerGroupHeartbeatReply(
    error=ErrorCode.NONE,
    member_id=MemberId("m"),
    member_epoch=7,
    heartbeat_interval_ms=5000,
    assignment=OWNED,
)


@pytest.mark.parametrize(
    "asked",
    [
        REQUEST,
        UNCHANGED,
        replace(REQUEST, owned=frozenset(), subscribed_topic_names=()),
        replace(REQUEST, bare_topics=frozenset({TopicId(bytes([3] * 16))})),
        replace(REQUEST, owned=frozenset(), bare_topics=frozenset({FIRST_ID, SECOND_ID})),
    ],
)
def test_request_of_version_1_arrives_whole(asked: ConsumerGroupHeartbeat) -> None:
    """Null means unchanged, which differs from empty; a topic without partitions is not nothing either."""
    assert request_trip(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, asked) == asked


def test_request_of_version_0_has_no_pattern_and_no_id_of_its_own() -> None:
    """KIP-1082 came with version 1."""
    expected = replace(REQUEST, subscribed_topic_regex=None, has_client_id=False)
    assert request_trip(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, REQUEST) == expected


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    "reply",
    [
        REPLY,
        replace(REPLY, assignment=None),
        replace(REPLY, assignment=frozenset()),
        ConsumerGroupHeartbeatReply(error=ErrorCode.FENCED_MEMBER_EPOCH, error_message="epoch 3, not 4"),
    ],
)
def test_reply_arrives_whole(version: int, reply: ConsumerGroupHeartbeatReply) -> None:
    """A missing assignment differs from an empty one (KIP-893 on the wire)."""
    assert reply_trip(ApiKey.CONSUMER_GROUP_HEARTBEAT, version, reply) == reply


def test_equal_sets_are_equal_bytes() -> None:
    """Topics and partitions go out sorted, in requests and answers."""
    fields = CONSUMER_GROUP_HEARTBEAT.encode_reply(REPLY, 1)
    assert fields["assignment"] == {
        "topic_partitions": [
            {"topic_id": FIRST_ID, "partitions": [1, 3]},
            {"topic_id": SECOND_ID, "partitions": [0]},
        ]
    }


def test_refusal_holds_the_code() -> None:
    """Nothing else: no epoch, no interval."""
    assert CONSUMER_GROUP_HEARTBEAT.refuse(REQUEST, ErrorCode.UNSUPPORTED_VERSION) == ConsumerGroupHeartbeatReply(
        error=ErrorCode.UNSUPPORTED_VERSION
    )
