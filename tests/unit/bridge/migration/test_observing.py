"""Observed groups out of what coordinators describe and what was heard."""

from dataclasses import replace

import pytest

from bridge.migration.observed import GroupKind, MemberProtocol, ObservedGroup, ObservedMember, UserData
from bridge.migration.observing import (
    HeardGroup,
    observe_classic,
    observe_consumer,
    observe_heard,
    observe_listed,
    subscription_data_of,
    user_data_of,
)
from bridge.migration.route import Road
from translators.dialects.admin import DescribedGroup, DescribedMember, ListedGroup
from translators.dialects.classic import Protocol
from translators.dialects.consumer import DescribedConsumerGroup, DescribedConsumerMember, DescribedTopicPartitions
from translators.dialects.consumer_protocol import Subscription, encode_assignment, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_TOPIC_ID, GroupId, InstanceId, MemberId, TopicName, TopicPartition

GROUP, A, B = GroupId("g"), MemberId("a-1"), MemberId("b-1")
LISTED = ListedGroup(group_id=GROUP, protocol_type="consumer", group_state="Stable", group_type="Classic")
SUBSCRIPTION = encode_subscription(Subscription(version=1, topics=(TopicName("orders"),), owned=frozenset()))
ASSIGNMENT = encode_assignment(frozenset({TopicPartition(TopicName("orders"), 0)}))
DESCRIBED_A = DescribedMember(
    member_id=A, instance_id=None, client_id="a", client_host="/10.0.0.1", metadata=SUBSCRIPTION, assignment=ASSIGNMENT
)
DESCRIBED = DescribedGroup(
    error=ErrorCode.NONE,
    group_id=GROUP,
    group_state="Stable",
    protocol_type="consumer",
    protocol_data="range",
    members=(DESCRIBED_A,),
)
HEARD_A = ObservedMember(
    member_id=A,
    client_id="a",
    client_host="10.0.0.1",
    library="librdkafka",
    library_version="2.16",
    assignors=("range", "roundrobin"),
    session_timeout_ms=45_000,
)


def test_heard_group_is_what_was_heard() -> None:
    """Nobody says that these are all."""
    seen = observe_heard(GROUP, HeardGroup(members={A: HEARD_A}, is_long_enough=True))
    assert seen == ObservedGroup(
        group_id=GROUP, kind=GroupKind.CLASSIC, members=(replace(HEARD_A, is_behind_bridge=True),)
    )


def test_heard_kind_is_that_of_the_members() -> None:
    """A consumer group may have classic members, and a group without any says nothing."""
    native = replace(HEARD_A, member_id=B, protocol=MemberProtocol.CONSUMER)
    assert observe_heard(GROUP, HeardGroup(members={A: HEARD_A, B: native})).kind is GroupKind.CONSUMER
    assert observe_heard(GROUP, HeardGroup()).kind is GroupKind.UNKNOWN


def test_group_that_is_coordinated_here_is_complete() -> None:
    """The bridge knows who is in."""
    seen = observe_heard(
        GROUP, HeardGroup(road=Road.EMBEDDED, state="Stable", assignor="uniform", members={A: HEARD_A})
    )
    assert (seen.is_complete, seen.state, seen.assignor, seen.road) == (True, "Stable", "uniform", Road.EMBEDDED)


def test_described_member_is_joined_with_what_was_heard_of_it() -> None:
    """What only the client says comes from what was heard, the rest from the coordinator."""
    seen = observe_classic(LISTED, DESCRIBED, HeardGroup(members={A: HEARD_A}, is_long_enough=True))
    assert seen == ObservedGroup(
        group_id=GROUP,
        kind=GroupKind.CLASSIC,
        state="Stable",
        assignor="range",
        members=(
            replace(
                HEARD_A,
                topics=("orders",),
                subscription_data=UserData.NONE,
                assignment_data=UserData.NONE,
                is_behind_bridge=True,
                partition_count=1,
            ),
        ),
        is_complete=True,
    )


@pytest.mark.parametrize(("is_long_enough", "is_behind_bridge"), [(True, False), (False, None)])
def test_member_that_was_not_heard_is_a_stranger_after_a_while(
    *, is_long_enough: bool, is_behind_bridge: bool | None
) -> None:
    """Of such a member the assignor that was chosen is known."""
    (member,) = observe_classic(LISTED, DESCRIBED, HeardGroup(is_long_enough=is_long_enough)).members
    assert (member.is_behind_bridge, member.assignors, member.library) == (is_behind_bridge, ("range",), "")


def test_blobs_that_are_none_of_consumers_are_said_so_and_not_read_of_others() -> None:
    """A Connect worker's bytes concern nobody here."""
    spoilt = replace(DESCRIBED, members=(replace(DESCRIBED_A, metadata=b"\xff\xff"),))
    assert [member.is_readable for member in observe_classic(LISTED, spoilt).members] == [False]
    connect = replace(spoilt, protocol_type="connect")
    seen = observe_classic(replace(LISTED, protocol_type="connect"), connect)
    assert ([member.is_readable for member in seen.members], seen.is_of_consumers) == ([True], False)


def test_subscription_is_unknown_while_members_join() -> None:
    """Then a coordinator shows no bytes."""
    joining = replace(DESCRIBED, group_state="PreparingRebalance", protocol_data="")
    seen = observe_classic(LISTED, replace(joining, members=(replace(DESCRIBED_A, metadata=b"", assignment=b""),)))
    assert [(one.topics, one.subscription_data, one.is_readable) for one in seen.members] == [
        ((), UserData.UNKNOWN, True)
    ]


def test_refused_description_leaves_what_is_listed() -> None:
    """The bridge's login may list a group that it may not describe."""
    refused = replace(DESCRIBED, error=ErrorCode.GROUP_AUTHORIZATION_FAILED, members=())
    seen = observe_classic(LISTED, refused, HeardGroup(members={A: HEARD_A}))
    assert (seen.kind, seen.state, len(seen.members), seen.is_complete) == (GroupKind.CLASSIC, "Stable", 1, False)


def test_other_kinds_are_listed_only() -> None:
    """Share and streams groups are described by requests of their own."""
    listed = ListedGroup(group_id=GROUP, protocol_type="share", group_state="Stable", group_type="Share")
    seen = observe_listed(listed)
    assert (seen.kind, seen.protocol_type, seen.is_of_consumers) == (GroupKind.SHARE, "share", False)


def test_consumer_group_has_members_of_both_protocols() -> None:
    """Where the coordinator does not say which, they speak the consumer protocol."""
    topic = DescribedTopicPartitions(topic_id=NO_TOPIC_ID, topic_name=TopicName("orders"), partitions=(0, 1))
    native = DescribedConsumerMember(
        member_id=B,
        instance_id=InstanceId("seat"),
        rack_id=None,
        member_epoch=3,
        client_id="b",
        client_host="/10.0.0.2",
        subscribed_topic_names=(TopicName("orders"),),
        subscribed_topic_regex="o.*",
        assignment=(topic,),
        target_assignment=(topic,),
    )
    classic = replace(
        native, member_id=A, instance_id=None, client_id="a", member_type=0, subscribed_topic_regex=None, assignment=()
    )
    found = DescribedConsumerGroup(
        error=ErrorCode.NONE, group_id=GROUP, group_state="Stable", assignor_name="uniform", members=(native, classic)
    )
    seen = observe_consumer(LISTED, found)
    assert (seen.kind, seen.assignor, seen.is_complete) == (GroupKind.CONSUMER, "uniform", True)
    assert [(one.protocol, one.pattern, one.partition_count, one.instance_id) for one in seen.members] == [
        (MemberProtocol.CLASSIC, None, 0, None),
        (MemberProtocol.CONSUMER, "o.*", 2, "seat"),
    ]
    translated = observe_consumer(
        LISTED, found, HeardGroup(road=Road.UPSTREAM, members={B: replace(HEARD_A, member_id=B)})
    )
    assert [(one.protocol, one.is_behind_bridge) for one in translated.members] == [
        (MemberProtocol.CLASSIC, None),
        (MemberProtocol.CLASSIC, True),
    ]
    refused = observe_consumer(LISTED, replace(found, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    assert refused == observe_listed(LISTED)


@pytest.mark.parametrize(
    ("blob", "told"),
    [
        (None, UserData.NONE),
        (b"", UserData.NONE),
        (b"\x00\x00\x00\x05", UserData.STICKY),
        (b"mine", UserData.STICKY),
        (b"what only its assignor reads", UserData.OPAQUE),
    ],
)
def test_user_data_is_what_can_be_read_of_it(blob: bytes | None, told: UserData) -> None:
    """Four bytes are taken for a generation, as Java's cooperative-sticky sends it."""
    assert user_data_of(blob) is told


@pytest.mark.parametrize(
    ("name", "told"),
    [("range", UserData.NONE), ("sticky", UserData.OPAQUE), ("broken", UserData.UNKNOWN), ("none", UserData.UNKNOWN)],
)
def test_user_data_of_a_subscription_is_that_of_the_protocol_that_speaks(name: str, told: UserData) -> None:
    """What can't be read, or is not there, is not known."""
    sticky = Subscription(version=1, topics=(TopicName("orders"),), user_data=b"what only its assignor reads")
    offered = (
        Protocol("range", SUBSCRIPTION),
        Protocol("sticky", encode_subscription(sticky)),
        Protocol("broken", b"\xff"),
    )
    assert subscription_data_of(offered, name) is told


def test_protocol_type_is_what_was_heard_where_nobody_else_tells() -> None:
    """Workers of Connect join by the same requests."""
    assert not observe_heard(GROUP, HeardGroup(protocol_type="connect", members={A: HEARD_A})).is_of_consumers
