"""ConsumerGroupDescribe: member types from version 1 on."""

from dataclasses import replace

from bridge.wire.apis import ApiKey
from bridge.wire.codec.consumer import CONSUMER_GROUP_DESCRIBE
from tests.support.codec_trips import reply_trip, request_trip
from translators.dialects.consumer import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeReply,
    DescribedConsumerGroup,
    DescribedConsumerMember,
    DescribedTopicPartitions,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicId, TopicName

REQUEST = ConsumerGroupDescribe((GroupId("g"), GroupId("h")), include_authorized_operations=True)
PARTITIONS = DescribedTopicPartitions(topic_id=TopicId(bytes(16)), topic_name=TopicName("orders"), partitions=(1, 0))
MEMBER = DescribedConsumerMember(
    member_id=MemberId("m"),
    instance_id=None,
    rack_id="r1",
    member_epoch=4,
    client_id="c",
    client_host="/127.0.0.1",
    subscribed_topic_names=(TopicName("orders"),),
    subscribed_topic_regex=None,
    assignment=(PARTITIONS,),
    target_assignment=(),
    member_type=0,
)
GROUP = DescribedConsumerGroup(
    error=ErrorCode.NONE,
    group_id=GroupId("g"),
    group_state="Reconciling",
    group_epoch=5,
    assignment_epoch=4,
    assignor_name="uniform",
    members=(MEMBER,),
    authorized_operations=3,
)


def test_request_arrives_whole() -> None:
    """The same in both versions."""
    assert request_trip(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, REQUEST) == REQUEST
    assert request_trip(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, REQUEST) == REQUEST


def test_reply_of_version_0_knows_no_member_type() -> None:
    """Version 1 brought it (K0.4 in 11.4)."""
    reply = ConsumerGroupDescribeReply((GROUP,))
    unknown = replace(GROUP, members=(replace(MEMBER, member_type=-1),))
    assert reply_trip(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, reply) == ConsumerGroupDescribeReply((unknown,))
    assert reply_trip(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, reply) == reply


def test_refusal_repeats_the_code_for_every_group() -> None:
    """In the order asked."""
    code = ErrorCode.GROUP_ID_NOT_FOUND
    assert CONSUMER_GROUP_DESCRIBE.refuse(REQUEST, code) == ConsumerGroupDescribeReply(
        (
            DescribedConsumerGroup(error=code, group_id=GroupId("g")),
            DescribedConsumerGroup(error=code, group_id=GroupId("h")),
        )
    )
