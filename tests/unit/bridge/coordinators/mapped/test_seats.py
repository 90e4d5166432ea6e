"""A request in the words of a seat: id, generation, and the generation inside subscriptions."""

from dataclasses import replace

import pytest

from bridge.coordinators.mapped.seats import MappedSeat, MemberRequest, to_broker, to_client
from tests.support.owned_group import GROUP, TOPIC
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    LeaveGroup,
    LeaveGroupReply,
    LeavingMember,
    LeftMember,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, MemberId, TopicPartition
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    GroupOffsets,
    OffsetCommit,
    OffsetCommitReply,
    OffsetFetch,
    PartitionCommit,
    TopicCommit,
    TxnOffsetCommit,
)

SEAT = MappedSeat(member_id=MemberId("mine"), generation=3, seat_id=MemberId("seat"), seat_generation=8)
INSTANCE = InstanceId("i")
TOPICS = (TopicCommit(name=TOPIC, partitions=(PartitionCommit(partition=0, offset=7),)),)


def commit(member_id: str, generation: int) -> OffsetCommit:
    """One offset."""
    return OffsetCommit(
        group_id=GROUP, generation=generation, member_id=MemberId(member_id), instance_id=INSTANCE, topics=TOPICS
    )


def transactional(member_id: str, generation: int) -> TxnOffsetCommit:
    """The same in a transaction."""
    return TxnOffsetCommit(
        transactional_id="t",
        group_id=GROUP,
        producer_id=1,
        producer_epoch=2,
        topics=TOPICS,
        generation=generation,
        member_id=MemberId(member_id),
    )


def sync(member_id: str, generation: int) -> SyncGroup:
    """A follower's."""
    return SyncGroup(group_id=GROUP, generation=generation, member_id=MemberId(member_id), instance_id=INSTANCE)


def beat(member_id: str, generation: int) -> Heartbeat:
    """A heartbeat."""
    return Heartbeat(GROUP, generation, MemberId(member_id), INSTANCE)


def refused(code: ErrorCode) -> OffsetCommitReply:
    """The code for the one partition."""
    return OffsetCommitReply(topics=(CommittedTopic(name=TOPIC, partitions=(CommittedPartition(0, code),)),))


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        (beat("mine", 3), beat("seat", 8)),
        (sync("mine", 3), sync("seat", 8)),
        (commit("mine", 3), commit("seat", 8)),
        (transactional("mine", 3), transactional("seat", 8)),
    ],
)
def test_id_and_generation_are_the_seats(said: MemberRequest, asked: MemberRequest) -> None:
    """Nothing else is changed."""
    assert to_broker(SEAT, said) == asked


def test_other_generation_is_refused_here() -> None:
    """By each API's own kind of answer (22)."""
    stale = ErrorCode.ILLEGAL_GENERATION
    assert [to_broker(SEAT, one) for one in (beat("mine", 8), sync("mine", 2), commit("mine", 8))] == [
        HeartbeatReply(stale),
        SyncGroupReply(error=stale),
        refused(stale),
    ]
    assert to_broker(SEAT, transactional("mine", 2)) == refused(stale)


def test_called_member_is_told_so_and_commits_on_its_way() -> None:
    """What it commits as it gives its partitions up is not lost: nobody else has them before it joins."""
    called = replace(SEAT, is_called=True)
    assert to_broker(called, beat("mine", 3)) == HeartbeatReply(ErrorCode.REBALANCE_IN_PROGRESS)
    assert to_broker(called, sync("mine", 3)) == SyncGroupReply(error=ErrorCode.REBALANCE_IN_PROGRESS)
    assert to_broker(called, beat("mine", 2)) == HeartbeatReply(ErrorCode.ILLEGAL_GENERATION)
    assert to_broker(called, commit("mine", 3)) == commit("seat", 8)
    assert to_broker(called, transactional("mine", 3)) == transactional("seat", 8)


def joining(member_id: str, *blobs: bytes) -> JoinGroup:
    """A JoinGroup that offers these subscriptions."""
    return JoinGroup(
        group_id=GROUP,
        member_id=MemberId(member_id),
        instance_id=INSTANCE,
        protocol_type="consumer",
        protocols=tuple(Protocol(f"p{number}", blob) for number, blob in enumerate(blobs)),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        reason="why not",
    )


def subscription(generation: int) -> bytes:
    """What a cooperative client says of itself."""
    owned = frozenset({TopicPartition(TOPIC, 0)})
    return encode_subscription(Subscription(version=2, topics=(TOPIC,), owned=owned, generation=generation))


def test_join_says_the_seats_generation_inside_its_subscriptions() -> None:
    """Leaders deal partitions twice where members say different ones; unreadable bytes are the leader's."""
    said = joining("mine", subscription(3), subscription(2), b"\x00")
    assert to_broker(SEAT, said) == joining("seat", subscription(8), subscription(2), b"\x00")


def test_leave_is_mapped_there_and_back() -> None:
    """Only the entry that names this member."""
    said = LeaveGroup(group_id=GROUP, members=tuple(LeavingMember(member_id=MemberId(one)) for one in ("mine", "x")))
    asked = LeaveGroup(group_id=GROUP, members=tuple(LeavingMember(member_id=MemberId(one)) for one in ("seat", "x")))
    assert to_broker(SEAT, said) == asked

    def reply(*names: str) -> LeaveGroupReply:
        members = (LeftMember(member_id=MemberId(one), instance_id=None, error=ErrorCode.NONE) for one in names)
        return LeaveGroupReply(error=ErrorCode.NONE, members=tuple(members))

    assert to_client(SEAT, reply("seat", "x")) == reply("mine", "x")
    assert to_client(SEAT, HeartbeatReply(ErrorCode.NONE)) == HeartbeatReply(ErrorCode.NONE)


def test_offset_fetch_names_nobody() -> None:
    """An old epoch would be answered 113."""
    said = OffsetFetch(
        groups=(GroupOffsets(group_id=GROUP, topics=None, member_id=SEAT.member_id, member_epoch=3),),
        require_stable=True,
    )
    assert to_broker(SEAT, said) == OffsetFetch(
        groups=(GroupOffsets(group_id=GROUP, topics=None),), require_stable=True
    )
