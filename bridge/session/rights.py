"""What a client needs a right for, which question its broker is asked about it, and what the broker's answers tell.

The broker decides: it knows who the client is and what that one was granted.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum, auto
from itertools import chain

from bridge.migration.route import Road, is_of_consumer_group
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, Request
from translators.dialects.admin import DescribeGroups, DescribeGroupsReply
from translators.dialects.classic import Heartbeat, HeartbeatReply, JoinGroup, LeaveGroup, Protocol, SyncGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.consumer_protocol import MalformedBlob, Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply, PartitionCommit, TxnOffsetCommit


class Operation(IntEnum):
    """Kafka's `AclOperation`, as far as groups and their topics know it; the number is its bit in an answer."""

    READ = 3
    DELETE = 6
    DESCRIBE = 8
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11


class Judge(StrEnum):
    """How it comes about that a request is answered as its broker would."""

    ASKED_BEFORE = auto()
    """The right on the group is asked for before the first request, and again now and then."""
    ASKED_WITH = auto()
    """The broker is asked with every such request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What one API needs, and how that is judged; topics None: it names none, or nobody asks about them."""

    group: Operation
    topics: Operation | None = None
    judge: Judge


NEEDS: Mapping[ApiKey, Need] = {
    ApiKey.JOIN_GROUP: Need(group=Operation.READ, judge=Judge.ASKED_BEFORE),
    ApiKey.SYNC_GROUP: Need(group=Operation.READ, judge=Judge.ASKED_BEFORE),
    ApiKey.HEARTBEAT: Need(group=Operation.READ, judge=Judge.ASKED_BEFORE),
    ApiKey.LEAVE_GROUP: Need(group=Operation.READ, judge=Judge.ASKED_BEFORE),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: Need(group=Operation.READ, topics=Operation.DESCRIBE, judge=Judge.ASKED_BEFORE),
    ApiKey.OFFSET_COMMIT: Need(group=Operation.READ, topics=Operation.READ, judge=Judge.ASKED_BEFORE),
    ApiKey.TXN_OFFSET_COMMIT: Need(group=Operation.READ, topics=Operation.READ, judge=Judge.ASKED_BEFORE),
    ApiKey.OFFSET_FETCH: Need(group=Operation.DESCRIBE, topics=Operation.DESCRIBE, judge=Judge.ASKED_WITH),
    ApiKey.OFFSET_DELETE: Need(group=Operation.DELETE, topics=Operation.READ, judge=Judge.ASKED_WITH),
    # Of topics it names none where Kafka has the group: what its members say of them is bytes to brokers.
    ApiKey.DESCRIBE_GROUPS: Need(group=Operation.DESCRIBE, judge=Judge.ASKED_WITH),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Need(group=Operation.DESCRIBE, topics=Operation.DESCRIBE, judge=Judge.ASKED_WITH),
    ApiKey.LIST_GROUPS: Need(group=Operation.DESCRIBE, judge=Judge.ASKED_WITH),
    ApiKey.DELETE_GROUPS: Need(group=Operation.DELETE, judge=Judge.ASKED_WITH),
    ApiKey.DESCRIBE_CONFIGS: Need(group=Operation.DESCRIBE_CONFIGS, judge=Judge.ASKED_WITH),
    ApiKey.ALTER_CONFIGS: Need(group=Operation.ALTER_CONFIGS, judge=Judge.ASKED_WITH),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Need(group=Operation.ALTER_CONFIGS, judge=Judge.ASKED_WITH),
    # On the cluster: a list is none of groups alone.
    ApiKey.LIST_CONFIG_RESOURCES: Need(group=Operation.DESCRIBE_CONFIGS, judge=Judge.ASKED_WITH),
}
"""Every API of groups, as `KafkaApis` of 3.9.1 and 4.3.1 judges it; docs/reference/rights.md has the answers."""

Guarded = JoinGroup | SyncGroup | Heartbeat | LeaveGroup | ConsumerGroupHeartbeat | OffsetCommit | TxnOffsetCommit
"""Requests of which nothing may be carried out before it is known that their sender may READ the group."""
JUDGED_HERE = frozenset(set(Road) - {Road.PASS})
"""Roads on which requests change what the bridge knows of a member, or are answered by it, before any broker sees them
on the connection of whoever sent them: on `upstream` strangers read others' assignments, and had others leave.
"""

OPERATIONS_SINCE, OPERATIONS_UNTIL = 3, 5
"""The versions of DescribeGroups in which a broker says of every group, known to it or not, what one may do with it."""
TOPIC_CHARS_MAX = 249
"""Kafka's `Topic.MAX_NAME_LENGTH`."""
NO_PARTITION = 2**31 - 1
"""The number of a partition that no topic has."""
STRANGER = MemberId("epochbridge-asks-for-rights")
"""A member that no group has: a broker says 25 of it to who may READ the group, and 30 to others."""
_AFTER_READ_WAS_JUDGED = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.GROUP_ID_NOT_FOUND,
    }
)
"""What a broker says to a Heartbeat after it has found that its sender may READ the group: it judges that first."""


def guarded_in(road: Road, request: Request) -> Guarded | None:
    """The request if its sender's right to READ the group is to be known first; a group without a name is refused by
    everybody.
    """
    if road in JUDGED_HERE and isinstance(request, Guarded) and request.group_id:
        return request
    return None


def goes_on_unheard(request: Guarded, seen: AbstractSet[TopicName]) -> bool:
    """Whether a request is carried out where no broker of an open cluster can be reached to judge it.

    Who beats was let in before, and hears nothing but that it is a member still; a beat that names topics besides those
    that were `seen` would have the bridge assign what nobody was asked about.
    """
    if isinstance(request, ConsumerGroupHeartbeat):
        return request.member_epoch > 0 and topics_of(request) <= seen
    return isinstance(request, Heartbeat)


def operations_question(group_id: GroupId) -> DescribeGroups:
    """The question what one may do with a group; there need be none of that name."""
    return DescribeGroups(group_ids=(group_id,), include_authorized_operations=True)


def read_question(group_id: GroupId) -> Heartbeat:
    """The question whether one may READ a group, for whom may not DESCRIBE it."""
    return Heartbeat(group_id, 0, STRANGER, None)


def may(operations: int, operation: Operation) -> bool | None:
    """Whether a set of operations as a broker tells it has one; None: it tells nothing."""
    return None if operations < 0 else bool(operations >> operation & 1)


def read_by_operations(reply: Reply | None) -> bool | None:
    """What the answer to `operations_question` tells of READ; None: nothing."""
    if not isinstance(reply, DescribeGroupsReply) or len(reply.groups) != 1:
        return None
    group = reply.groups[0]
    return may(group.authorized_operations, Operation.READ) if group.error is ErrorCode.NONE else None


def read_by_heartbeat(reply: Reply | None) -> bool | None:
    """What the answer to `read_question` tells of READ; None: nothing."""
    if not isinstance(reply, HeartbeatReply):
        return None
    if reply.error is ErrorCode.GROUP_AUTHORIZATION_FAILED:
        return False
    return True if reply.error in _AFTER_READ_WAS_JUDGED else None


def transaction_question(request: TxnOffsetCommit) -> TxnOffsetCommit:
    """The question whether one may WRITE the transactional id of a commit, for whom may not READ its group.

    It is the same for a partition that no topic has: nothing is committed should that right have been given by now.
    """
    nothing = PartitionCommit(partition=NO_PARTITION, offset=0)
    return replace(request, topics=tuple(replace(one, partitions=(nothing,)) for one in request.topics[:1]))


def refusal_of_transaction(reply: Reply | None) -> ErrorCode:
    """What the answer to `transaction_question` says of a commit whose sender may not READ its group: brokers look at
    the transactional id first.
    """
    found = reply.topics if isinstance(reply, OffsetCommitReply) else ()
    codes = {item.error for topic in found for item in topic.partitions}
    denied = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return denied if denied in codes else ErrorCode.GROUP_AUTHORIZATION_FAILED


# ---------------------------------------------------------------------------------------------------------- topics


def topics_of(request: Guarded) -> frozenset[TopicName]:
    """The topics by name that a member subscribes to with a request, but for names that no topic can have.

    Whatever is in here is kept for the group, and asked about again: 3,500 names of 32 kB made a question that brokers
    take for too large, and closed the connection of whoever it was asked on.
    """
    if isinstance(request, ConsumerGroupHeartbeat):
        return _possible(request.subscribed_topic_names or ())
    if isinstance(request, JoinGroup) and is_of_consumer_group(request):
        return _possible(chain.from_iterable(one.topics for _, one in _subscriptions(request) if one is not None))
    return frozenset()


def _possible(names: Iterable[TopicName]) -> frozenset[TopicName]:
    return frozenset([name for name in names if len(name) <= TOPIC_CHARS_MAX])


def without_topics(request: JoinGroup, unseen: Collection[TopicName]) -> JoinGroup:
    """The request of a classic member that is not told of some topics: it does not subscribe to them."""
    protocols = tuple(
        protocol if one is None or not set(one.topics) & set(unseen) else _without(protocol, one, unseen)
        for protocol, one in _subscriptions(request)
    )
    return replace(request, protocols=protocols)


def _without(protocol: Protocol, subscription: Subscription, unseen: Collection[TopicName]) -> Protocol:
    topics = tuple(name for name in subscription.topics if name not in unseen)
    return Protocol(protocol.name, encode_subscription(replace(subscription, topics=topics)))


def _subscriptions(request: JoinGroup) -> Iterator[tuple[Protocol, Subscription | None]]:
    for protocol in request.protocols:
        try:
            yield protocol, request.subscription(protocol)
        except MalformedBlob:
            yield protocol, None
