"""Each request of a group by people of different rights: at a broker and at a bridge before it, with what was answered.

It must not know how either is started.
"""

import re
import socket
import time
from collections.abc import Callable, Mapping

from bridge.wire.apis import CONFIG_APIS, ApiKey
from bridge.wire.codec.registry import Reply, Request, decode_reply, encode_request
from bridge.wire.frames import LENGTH_BYTES
from bridge.wire.sasl import (
    FIRST_WITH_LIFETIME,
    Credentials,
    Mechanism,
    authenticate_request,
    handshake_request,
    plain_token,
)
from translators.dialects.admin import DeleteGroups, DescribeGroups, ListGroups, ListGroupsReply
from translators.dialects.classic import (
    Heartbeat,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeavingMember,
    Protocol,
    SyncGroup,
)
from translators.dialects.configs import (
    GROUP,
    Alteration,
    AlterConfigs,
    AskedResource,
    DescribeConfigs,
    IncrementalAlterConfigs,
    ListConfigResources,
    Resource,
    ResourceAlterations,
)
from translators.dialects.consumer import ConsumerGroupDescribe, ConsumerGroupHeartbeat
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName
from translators.dialects.offsets import (
    GroupOffsets,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    PartitionCommit,
    TopicCommit,
    TopicOffsets,
    TxnOffsetCommit,
)

ANSWER_TIMEOUT_S = 120.0
OF_RIGHTS = frozenset(
    {
        "TOPIC_AUTHORIZATION_FAILED",
        "GROUP_AUTHORIZATION_FAILED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
    }
)
"""Codes that say that somebody may not do something."""
COME_AGAIN = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS})
STRANGER = MemberId("nobody-that-is-there")
TRANSACTION = "rights-transaction"


class Line:
    """One connection of somebody, logged in by PLAIN unless nobody logs in."""

    def __init__(self, bootstrap: str, name: str | None, password: str = "") -> None:
        host, _, port = bootstrap.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), ANSWER_TIMEOUT_S)
        if name is not None:
            self.exchange(handshake_request(Mechanism.PLAIN, "rights"))
            token = plain_token(Credentials(mechanism=Mechanism.PLAIN, username=name, password=password))
            answer = self.exchange(authenticate_request(token, "rights", FIRST_WITH_LIFETIME))
            assert answer[8:10] == b"\x00\x00", f"{name} is not let in"

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def ask(self, api_key: ApiKey, version: int, request: Request) -> Reply:
        """What is answered to a request."""
        frame = self.exchange(encode_request(api_key, version, 7, "rights", request))
        return decode_reply(api_key, version, frame[LENGTH_BYTES:])[1]

    def exchange(self, frame: bytes) -> bytes:
        """The answer to a frame, length prefix included."""
        self._socket.sendall(frame)
        start = self._receive(LENGTH_BYTES)
        return start + self._receive(int.from_bytes(start, "big"))

    def _receive(self, size: int) -> bytes:
        received = b""
        while len(received) < size:
            chunk = self._socket.recv(size - len(received))
            assert chunk, "the other end has hung up"
            received += chunk
        return received


Make = Callable[[GroupId, TopicName], Request]


def _subscription(topic: TopicName) -> bytes:
    return encode_subscription(Subscription(version=0, topics=(topic,)))


def _join(group: GroupId, topic: TopicName) -> JoinGroup:
    return JoinGroup(
        group_id=group,
        member_id=MemberId(""),
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol("range", _subscription(topic)),),
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
    )


def _topics(topic: TopicName) -> tuple[TopicCommit, ...]:
    return (TopicCommit(name=topic, partitions=(PartitionCommit(partition=0, offset=1),)),)


def _commit(group: GroupId, topic: TopicName) -> OffsetCommit:
    return OffsetCommit(group_id=group, generation=-1, member_id=MemberId(""), instance_id=None, topics=_topics(topic))


def _commit_in_transaction(group: GroupId, topic: TopicName) -> TxnOffsetCommit:
    return TxnOffsetCommit(
        transactional_id=TRANSACTION, group_id=group, producer_id=1, producer_epoch=0, topics=_topics(topic)
    )


def _leave(group: GroupId, _: TopicName) -> LeaveGroup:
    return LeaveGroup(group_id=group, members=(LeavingMember(member_id=STRANGER, instance_id=None),))


def _beat_natively(group: GroupId, topic: TopicName) -> ConsumerGroupHeartbeat:
    """Of a member that nobody has: it changes nothing anywhere."""
    return ConsumerGroupHeartbeat(
        group_id=group, member_id=STRANGER, member_epoch=5, rebalance_timeout_ms=30_000, subscribed_topic_names=(topic,)
    )


def _offsets(topic: TopicName) -> tuple[TopicOffsets, ...]:
    return (TopicOffsets(name=topic, partitions=(0,)),)


A_SETTING = "consumer.heartbeat.interval.ms"


def _altered(group: GroupId) -> tuple[ResourceAlterations, ...]:
    return (ResourceAlterations(Resource(GROUP, group), (Alteration(A_SETTING, "6000"),)),)


REQUESTS: Mapping[ApiKey, tuple[int, Make]] = {
    ApiKey.JOIN_GROUP: (5, _join),
    ApiKey.SYNC_GROUP: (
        3,
        lambda group, _: SyncGroup(group_id=group, generation=1, member_id=STRANGER, instance_id=None),
    ),
    ApiKey.HEARTBEAT: (3, lambda group, _: Heartbeat(group, 1, STRANGER, None)),
    ApiKey.LEAVE_GROUP: (3, _leave),
    ApiKey.OFFSET_COMMIT: (8, _commit),
    ApiKey.TXN_OFFSET_COMMIT: (3, _commit_in_transaction),
    ApiKey.OFFSET_FETCH: (
        8,
        lambda group, topic: OffsetFetch(groups=(GroupOffsets(group_id=group, topics=_offsets(topic)),)),
    ),
    ApiKey.OFFSET_DELETE: (0, lambda group, topic: OffsetDelete(group_id=group, topics=_offsets(topic))),
    ApiKey.DESCRIBE_GROUPS: (
        5,
        lambda group, _: DescribeGroups(group_ids=(group,), include_authorized_operations=True),
    ),
    ApiKey.LIST_GROUPS: (4, lambda _, __: ListGroups()),
    ApiKey.DELETE_GROUPS: (2, lambda group, _: DeleteGroups(group_ids=(group,))),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (0, _beat_natively),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (
        0,
        lambda group, _: ConsumerGroupDescribe(group_ids=(group,), include_authorized_operations=True),
    ),
    ApiKey.DESCRIBE_CONFIGS: (
        4,
        lambda group, _: DescribeConfigs(resources=(AskedResource(Resource(GROUP, group), (A_SETTING,)),)),
    ),
    ApiKey.ALTER_CONFIGS: (2, lambda group, _: AlterConfigs(resources=_altered(group), validate_only=True)),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (
        1,
        lambda group, _: IncrementalAlterConfigs(resources=_altered(group), validate_only=True),
    ),
    ApiKey.LIST_CONFIG_RESOURCES: (1, lambda _, __: ListConfigResources(types=(GROUP,))),
}
"""Each API of groups, as a request that changes no group that is there."""
SINCE_KAFKA_4 = frozenset({ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE, *CONFIG_APIS})
"""What Kafka 3.9 has turned off, or knows of no group."""


def answered(line: Line, api_key: ApiKey, group: GroupId, topic: TopicName) -> tuple[str, str]:
    """What somebody is answered, as far as rights decide it: the codes of rights, with all of the answer where there
    are any; what may be done with the group; and whether it is listed. Besides, the whole answer in words.

    Whoever joins and is told to come again does so: a busy broker may not say in time what somebody may do.
    """
    version, make = REQUESTS[api_key]
    reply = line.ask(api_key, version, make(group, topic))
    until = time.monotonic() + ANSWER_TIMEOUT_S
    while isinstance(reply, JoinGroupReply) and reply.error in COME_AGAIN and time.monotonic() < until:
        time.sleep(0.2)
        reply = line.ask(api_key, version, make(group, topic))
    if isinstance(reply, ListGroupsReply):
        return f"{reply.error.name} {any(one.group_id == group for one in reply.groups)}", repr(reply)
    text = repr(reply).replace(group, "GROUP")
    codes = sorted(OF_RIGHTS.intersection(re.findall(r"<ErrorCode\.(\w+)", text)))
    operations = re.findall(r"authorized_operations=(-?\d+)", text)
    return f"{codes} {operations} {re.sub(r'throttle_time_ms=[0-9]+', '', text) if codes else ''}", text
