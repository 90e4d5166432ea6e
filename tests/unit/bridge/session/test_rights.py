"""Which requests need a right, what is asked about it, and what answers tell."""

from dataclasses import replace
from pathlib import Path

import pytest

from bridge.migration.route import Road
from bridge.session.rights import (
    NEEDS,
    NO_PARTITION,
    STRANGER,
    Guarded,
    Judge,
    Operation,
    goes_on_unheard,
    guarded_in,
    may,
    operations_question,
    read_by_heartbeat,
    read_by_operations,
    read_question,
    refusal_of_transaction,
    topics_of,
    transaction_question,
    without_topics,
)
from bridge.wire.apis import api_name
from bridge.wire.codec.registry import APIS, Reply
from translators.dialects.admin import DescribedGroup, DescribeGroups, DescribeGroupsReply, ListGroups
from translators.dialects.classic import Heartbeat, HeartbeatReply, JoinGroup, LeaveGroup, Protocol
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName, TopicPartition
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    OffsetCommitReply,
    PartitionCommit,
    TopicCommit,
    TxnOffsetCommit,
)

ROOT = Path(__file__).resolve().parents[4]
GROUP = GroupId("orders")
BEAT = Heartbeat(GROUP, 1, MemberId("m"), None)
A, B = TopicName("a"), TopicName("b")
OWNED = frozenset({TopicPartition(A, 0)})
ALL = sum(1 << one for one in Operation)
"""3400, what Kafka 4.3.1 says of a group where everybody may do everything."""


def join(*blobs: bytes, protocol_type: str = "consumer") -> JoinGroup:
    """A member that offers a protocol for each blob."""
    return JoinGroup(
        group_id=GROUP,
        member_id=MemberId("m"),
        instance_id=None,
        protocol_type=protocol_type,
        protocols=tuple(Protocol(f"p{number}", blob) for number, blob in enumerate(blobs)),
        session_timeout_ms=1,
        rebalance_timeout_ms=1,
    )


def subscription(*topics: TopicName) -> bytes:
    """With all that a subscription can have."""
    shown = Subscription(version=3, topics=topics, owned=OWNED, generation=7, rack_id="r", user_data=b"u")
    return encode_subscription(shown)


def native(epoch: int, topics: tuple[TopicName, ...] | None = None) -> ConsumerGroupHeartbeat:
    """A heartbeat of the consumer protocol."""
    return ConsumerGroupHeartbeat(
        group_id=GROUP, member_id=MemberId("m"), member_epoch=epoch, subscribed_topic_names=topics
    )


def described(error: ErrorCode, operations: int) -> DescribeGroupsReply:
    """A broker's answer about one group."""
    return DescribeGroupsReply(groups=(DescribedGroup(error=error, group_id=GROUP, authorized_operations=operations),))


def test_every_api_of_groups_needs_something() -> None:
    """An API that is added and forgotten here fails."""
    assert set(NEEDS) == set(APIS)
    asked_before = {APIS[key].request_type for key, need in NEEDS.items() if need.judge is Judge.ASKED_BEFORE}
    assert asked_before == set(Guarded.__args__)


def test_page_has_the_table() -> None:
    """Whoever grants rights reads it there."""
    lines = (ROOT / "docs" / "reference" / "rights.md").read_text(encoding="utf-8").splitlines()
    for key, need in NEEDS.items():
        topics = "" if need.topics is None else need.topics.name
        judge = need.judge.value.replace("_", " ")
        assert f"| {api_name(key)} | {need.group.name} | {topics} | {judge} |" in lines


@pytest.mark.parametrize(("road", "is_judged"), [(road, road is not Road.PASS) for road in Road])
def test_requests_that_the_bridge_looks_into_are_guarded(road: Road, is_judged: bool) -> None:
    """Also where a broker will be asked: by then a stranger has spoken for somebody's member."""
    assert (guarded_in(road, BEAT) is BEAT) is is_judged
    assert guarded_in(road, ListGroups()) is None
    assert guarded_in(road, replace(BEAT, group_id=GroupId(""))) is None


def test_only_members_go_on_unheard() -> None:
    """Who joins, commits or leaves comes again later."""
    nothing = frozenset[TopicName]()
    assert goes_on_unheard(BEAT, nothing)
    assert goes_on_unheard(native(3), nothing)
    assert not goes_on_unheard(native(0), nothing)
    assert not goes_on_unheard(native(-1), nothing)
    assert not goes_on_unheard(LeaveGroup(group_id=GROUP, members=()), nothing)
    assert not goes_on_unheard(join(), nothing)


def test_member_that_names_other_topics_does_not_go_on_unheard() -> None:
    """One that says its subscription over again does, as Java's do after a heartbeat that failed."""
    one, two = TopicName("one"), TopicName("two")
    assert goes_on_unheard(native(3, ()), frozenset())
    assert goes_on_unheard(native(3, (one,)), frozenset({one, two}))
    assert not goes_on_unheard(native(3, (one, two)), frozenset({one}))
    assert not goes_on_unheard(native(0, (one,)), frozenset({one}))


def test_questions_are_about_the_group_and_about_nobody_in_it() -> None:
    """A stranger's heartbeat changes nothing."""
    assert operations_question(GROUP) == DescribeGroups(group_ids=(GROUP,), include_authorized_operations=True)
    assert (read_question(GROUP).group_id, read_question(GROUP).member_id) == (GROUP, STRANGER)


@pytest.mark.parametrize(
    ("reply", "reads"),
    [
        (described(ErrorCode.NONE, ALL), True),
        (described(ErrorCode.NONE, 1 << Operation.DESCRIBE), False),
        (described(ErrorCode.NONE, -(2**31)), None),
        (described(ErrorCode.GROUP_AUTHORIZATION_FAILED, -(2**31)), None),
        (described(ErrorCode.NOT_COORDINATOR, ALL), None),
        (DescribeGroupsReply(groups=()), None),
        (HeartbeatReply(ErrorCode.NONE), None),
        (None, None),
    ],
)
def test_operations_tell_whether_a_group_may_be_read(reply: Reply | None, reads: bool | None) -> None:
    """Only where the broker names them."""
    assert read_by_operations(reply) is reads


@pytest.mark.parametrize(
    ("code", "reads"),
    [
        (ErrorCode.UNKNOWN_MEMBER_ID, True),
        (ErrorCode.NOT_COORDINATOR, True),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, True),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, False),
        (ErrorCode.UNKNOWN_SERVER_ERROR, None),
        (ErrorCode.ILLEGAL_SASL_STATE, None),
        (ErrorCode.NONE, None),
    ],
)
def test_strangers_heartbeat_tells_whether_a_group_may_be_read(code: ErrorCode, reads: bool | None) -> None:
    """A broker judges READ before it looks for the member."""
    assert read_by_heartbeat(HeartbeatReply(code)) is reads
    assert read_by_heartbeat(None) is None


def test_operations_that_are_not_told_tell_nothing() -> None:
    """Kafka's word for that is the smallest number."""
    assert [may(ALL, one) for one in Operation] == [True] * len(Operation)
    assert [may(0, one) for one in Operation] == [False] * len(Operation)
    assert [may(-(2**31), one) for one in Operation] == [None] * len(Operation)


def test_topics_are_those_that_a_member_subscribes_to() -> None:
    """Under any of its protocols; what can't be read names none."""
    assert topics_of(join(subscription(A), subscription(A, B), b"?")) == {A, B}
    assert topics_of(join(subscription(A), protocol_type="connect")) == frozenset()
    assert topics_of(native(0, (A,))) == {A}
    assert topics_of(native(3)) == frozenset()
    assert topics_of(BEAT) == frozenset()


def test_names_that_no_topic_can_have_are_asked_about_by_nobody() -> None:
    """Brokers close the connection on which they are asked about 100 MB of them, and it may be that of another member,
    since what one was found to see is asked again for all.
    """
    longest, beyond = TopicName("t" * 249), TopicName("t" * 250)
    assert topics_of(join(subscription(longest, beyond))) == {longest}
    assert topics_of(native(0, (beyond, longest))) == {longest}


def test_unseen_topics_leave_a_subscription_and_nothing_else_does() -> None:
    """What a member owns, its generation, rack and user data stay."""
    first = join(subscription(A, B), subscription(B), b"?")
    second = without_topics(first, {A})
    assert topics_of(second) == {B}
    assert second.subscription(second.protocols[0]) == replace(first.subscription(first.protocols[0]), topics=(B,))
    assert second.protocols[1:] == first.protocols[1:]


def test_transaction_is_asked_about_by_a_partition_that_is_nowhere() -> None:
    """Who is given the right on the group in between commits nothing by it."""
    partitions = tuple(PartitionCommit(partition=number, offset=7, metadata="m") for number in range(3))
    topics = tuple(TopicCommit(name=name, partitions=partitions) for name in (A, B))
    commit = TxnOffsetCommit(
        transactional_id="t", group_id=GROUP, producer_id=1, producer_epoch=0, topics=topics, member_id=MemberId("m")
    )
    nowhere = (PartitionCommit(partition=NO_PARTITION, offset=0),)
    assert transaction_question(commit) == replace(commit, topics=(TopicCommit(name=A, partitions=nowhere),))
    assert transaction_question(replace(commit, topics=())) == replace(commit, topics=())


@pytest.mark.parametrize(
    ("told", "refusal"),
    [
        (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.GROUP_AUTHORIZATION_FAILED),
        (None, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    ],
)
def test_transactional_id_is_refused_before_the_group(told: ErrorCode | None, refusal: ErrorCode) -> None:
    """As brokers do; what they don't say changes nothing of what is known of the group."""
    partition = CommittedPartition(NO_PARTITION, told or ErrorCode.NONE)
    reply = OffsetCommitReply(topics=(CommittedTopic(name=A, partitions=(partition,)),))
    assert refusal_of_transaction(None if told is None else reply) is refusal
