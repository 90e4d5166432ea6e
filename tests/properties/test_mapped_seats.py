"""Laws of mapped members: the broker sees the seat in every request, and the mapping back gives the client's words."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from bridge.coordinators.mapped.seats import MappedSeat, MemberRequest, to_broker, to_client
from translators.dialects.classic import (
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    LeaveGroupReply,
    LeavingMember,
    LeftMember,
    Protocol,
    SyncGroup,
)
from translators.dialects.consumer_protocol import (
    MalformedBlob,
    Subscription,
    decode_sticky_user_data,
    decode_subscription,
    encode_subscription,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, TopicName, TopicPartition
from translators.dialects.offsets import OffsetCommit, PartitionCommit, TopicCommit, TxnOffsetCommit

GROUP = GroupId("g")
TOPIC = TopicName("t")
KNOWN, AT_BROKER = 3, 8
SEAT = MappedSeat(member_id=MemberId("mine"), generation=KNOWN, seat_id=MemberId("seat"), seat_generation=AT_BROKER)
BACK = MappedSeat(member_id=MemberId("seat"), generation=AT_BROKER, seat_id=MemberId("mine"), seat_generation=KNOWN)

INSTANCES = st.none() | st.just(InstanceId("i"))
GENERATIONS = st.sampled_from([KNOWN, KNOWN, -1, 0, 2, 4, 2**31 - 1])
"""The client's own, and any that is nobody's."""
PARTITIONS = st.frozensets(st.builds(TopicPartition, st.just(TOPIC), st.integers(0, 3)), max_size=3)
MEMORIES = PARTITIONS.map(
    lambda some: (
        struct.pack(">i2s1si", 1, b"\0\x01", TOPIC.encode(), len(some))
        + b"".join(struct.pack(">i", one.partition) for one in sorted(some))
    )
)
STICKY = st.one_of(
    MEMORIES,
    st.builds(lambda memory, generation: memory + struct.pack(">i", generation), MEMORIES, GENERATIONS),
    st.builds(lambda memory, generation: b"\0\0" + memory + struct.pack(">i", generation), MEMORIES, GENERATIONS),
    GENERATIONS.map(lambda generation: struct.pack(">i", generation)),
)
SUBSCRIPTIONS = st.builds(
    lambda version, owned, generation, user_data: Subscription(
        version=version,
        topics=(TOPIC,),
        owned=owned if version else None,
        generation=generation if version > 1 else -1,
        user_data=user_data,
    ),
    st.integers(0, 3),
    PARTITIONS,
    GENERATIONS,
    st.none() | st.just(b"") | st.just(b"anything else") | STICKY,
)
BLOBS = SUBSCRIPTIONS.map(encode_subscription) | st.binary(max_size=8)
OFFSETS = st.builds(
    lambda offset: (TopicCommit(name=TOPIC, partitions=(PartitionCommit(partition=0, offset=offset),)),),
    st.integers(0, 9),
)
JOINS = st.builds(
    JoinGroup,
    group_id=st.just(GROUP),
    member_id=st.just(SEAT.member_id),
    instance_id=INSTANCES,
    protocol_type=st.just("consumer"),
    protocols=st.lists(BLOBS, max_size=3).map(
        lambda blobs: tuple(Protocol(f"p{number}", blob) for number, blob in enumerate(blobs))
    ),
    session_timeout_ms=st.just(10_000),
    rebalance_timeout_ms=st.just(60_000),
)
LEAVES = st.builds(
    lambda names, instance: LeaveGroup(
        group_id=GROUP,
        members=tuple(LeavingMember(member_id=MemberId(one), instance_id=instance) for one in names),
    ),
    st.lists(st.sampled_from(["mine", "other"]), min_size=1, max_size=3),
    INSTANCES,
)
OTHERS = st.one_of(
    st.builds(Heartbeat, st.just(GROUP), st.just(KNOWN), st.just(SEAT.member_id), INSTANCES),
    st.builds(
        SyncGroup,
        group_id=st.just(GROUP),
        generation=st.just(KNOWN),
        member_id=st.just(SEAT.member_id),
        instance_id=INSTANCES,
    ),
    st.builds(
        OffsetCommit,
        group_id=st.just(GROUP),
        generation=st.just(KNOWN),
        member_id=st.just(SEAT.member_id),
        instance_id=INSTANCES,
        topics=OFFSETS,
    ),
    st.builds(
        TxnOffsetCommit,
        transactional_id=st.just("x"),
        group_id=st.just(GROUP),
        producer_id=st.just(1),
        producer_epoch=st.just(0),
        topics=OFFSETS,
        generation=st.just(KNOWN),
        member_id=st.just(SEAT.member_id),
        instance_id=INSTANCES,
    ),
)


@given(request=JOINS | LEAVES | OTHERS)
def test_there_and_back_is_what_the_client_said(request: MemberRequest) -> None:
    """Nothing is lost or changed on the way but who says it and in which generation."""
    asked = to_broker(SEAT, request)
    assert isinstance(asked, MemberRequest)
    assert to_broker(BACK, asked) == request


def said_generations(blob: bytes) -> list[int]:
    """Every generation that stands in a subscription's bytes."""
    try:
        said = decode_subscription(blob)
    except MalformedBlob:
        return []
    memory = decode_sticky_user_data(said.user_data or b"")
    return [said.generation] if memory is None else [said.generation, memory.generation]


@given(request=JOINS | OTHERS)
def test_broker_sees_the_seat_alone(
    request: JoinGroup | Heartbeat | SyncGroup | OffsetCommit | TxnOffsetCommit,
) -> None:
    """Neither the client's id nor its generation reaches it, inside of its bytes neither."""
    asked = to_broker(SEAT, request)
    assert isinstance(asked, JoinGroup | Heartbeat | SyncGroup | OffsetCommit | TxnOffsetCommit)
    assert asked.member_id == SEAT.seat_id
    if isinstance(asked, JoinGroup):
        assert KNOWN not in {generation for one in asked.protocols for generation in said_generations(one.metadata)}
    else:
        assert asked.generation == AT_BROKER


@given(names=st.lists(st.sampled_from(["seat", "other"]), max_size=3))
def test_client_sees_its_own_id_in_the_answer(names: list[str]) -> None:
    """To LeaveGroup, the one answer that names it and hands nothing out."""

    def left(each: list[str]) -> LeaveGroupReply:
        entries = (LeftMember(member_id=MemberId(one), instance_id=None, error=ErrorCode.NONE) for one in each)
        return LeaveGroupReply(error=ErrorCode.NONE, members=tuple(entries))

    assert to_client(SEAT, left(names)) == left(["mine" if one == "seat" else one for one in names])
