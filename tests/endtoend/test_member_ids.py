"""Who a member is over connections, at the broker and through the bridge: an id that was handed out and not used yet,
and a live member of the consumer protocol that begins again.

It must not know where the bridge keeps ids.
"""

import time
from pathlib import Path
from uuid import uuid4

import pytest

from bridge.wire.apis import ApiKey
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.kafka import KafkaUnderTest, TopicFactory
from tests.support.talker import talk
from translators.dialects.classic import (
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeavingMember,
    Protocol,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, TopicName

NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID
LATER = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
"""What a broker says that has had no group yet."""
PATIENCE_S = 60.0
JOIN_VERSION, LEAVE_VERSION, HEARTBEAT_VERSION = 5, 3, 1


def joined(bootstrap: str, group: GroupId, topic: str, member_id: MemberId) -> JoinGroupReply:
    """What a JoinGroup is answered that comes by a connection of its own."""
    request = JoinGroup(
        group_id=group,
        member_id=member_id,
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol("range", encode_subscription(Subscription(version=0, topics=(TopicName(topic),)))),),
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
    )
    until = time.monotonic() + PATIENCE_S
    while True:
        with talk(bootstrap) as line:
            line.coordinator(group)
            reply = line.ask(ApiKey.JOIN_GROUP, JOIN_VERSION, request)
        assert isinstance(reply, JoinGroupReply)
        if reply.error not in LATER:
            return reply
        assert time.monotonic() < until, reply


def left(bootstrap: str, group: GroupId, member_id: MemberId) -> ErrorCode:
    """The same of a LeaveGroup."""
    request = LeaveGroup(group_id=group, members=(LeavingMember(member_id=member_id, reason=""),))
    with talk(bootstrap) as line:
        reply = line.ask(ApiKey.LEAVE_GROUP, LEAVE_VERSION, request)
    assert isinstance(reply, LeaveGroupReply)
    return reply.members[0].error


def use_promised_ids(bootstrap: str, prefix: str, topic: str) -> list[ErrorCode]:
    """Be given an id, come back by another connection and join under it; then the same, leaving twice before that."""
    codes: list[ErrorCode] = []
    first, second = GroupId(f"{prefix}-joins"), GroupId(f"{prefix}-leaves")
    promised = joined(bootstrap, first, topic, MemberId(""))
    codes += [promised.error, joined(bootstrap, first, topic, promised.member_id).error]
    promised = joined(bootstrap, second, topic, MemberId(""))
    codes += [promised.error, *(left(bootstrap, second, promised.member_id) for _ in range(2))]
    return [*codes, joined(bootstrap, second, topic, promised.member_id).error]


def begin_again(bootstrap: str, prefix: str, topic: str) -> list[tuple[ErrorCode, int, int]]:
    """What a live member is answered that begins again at epoch 0, by what it was and is: code, epoch, partitions."""
    answers: list[tuple[ErrorCode, int, int]] = []
    for number, instances in enumerate(((None, None), (None, "one"), ("one", "two"), ("one", None))):
        with talk(bootstrap) as line:
            group = GroupId(f"{prefix}-again-{number}")
            line.coordinator(group)
            for instance in instances:
                request = ConsumerGroupHeartbeat(
                    group_id=group,
                    member_id=MemberId("m"),
                    member_epoch=0,
                    instance_id=None if instance is None else InstanceId(instance),
                    rebalance_timeout_ms=30_000,
                    subscribed_topic_names=(TopicName(topic),),
                    owned=frozenset(),
                )
                reply = line.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, HEARTBEAT_VERSION, request)
                assert isinstance(reply, ConsumerGroupHeartbeatReply)
                answers.append((reply.error, reply.member_epoch, len(reply.assignment or ())))
    return answers


@pytest.mark.timeout(300)
def test_ids_outlive_connections_and_members_begin_again_as_at_the_broker(
    kafka_43: KafkaUnderTest, topic_factory: TopicFactory, tmp_path: Path
) -> None:
    """A promised id is its group's: a classic group knows it (0), a consumer group of Kafka keeps nothing of it and
    takes any id in (25, then 0), and so does the bridge. Who begins again has its share at once, whatever instance it
    names.
    """
    topic, mark = topic_factory(kafka_43.bootstrap, 2), uuid4().hex[:6]
    required = ErrorCode.MEMBER_ID_REQUIRED
    as_classic = [required, NONE, required, NONE, UNKNOWN, UNKNOWN]
    as_consumer = [required, NONE, required, UNKNOWN, UNKNOWN, NONE]
    assert use_promised_ids(kafka_43.bootstrap, f"direct-{mark}", topic) == as_classic
    again = begin_again(kafka_43.bootstrap, f"direct-{mark}", topic)
    assert [(code, partitions) for code, _, partitions in again] == [(NONE, 2)] * len(again)
    settings = {**QUICK_SETTINGS, "embedded.initial.group.type": "classic"}
    with bridge_process(kafka_43.bootstrap, (f"embedded-{mark}*",), tmp_path / "classic", settings) as bridge:
        for road, expected in (("embedded", as_classic), ("pass", as_classic), ("upstream", as_consumer)):
            assert use_promised_ids(bridge.bootstrap, f"{road}-{mark}", topic) == expected, road
            assert begin_again(bridge.bootstrap, f"{road}-{mark}", topic) == again, road
    with bridge_process(kafka_43.bootstrap, (f"consumer-{mark}*",), tmp_path / "consumer") as bridge:
        assert use_promised_ids(bridge.bootstrap, f"consumer-{mark}", topic) == as_consumer
