"""What consumers say to their group, by what they were told."""

from dataclasses import replace

from bridge.whatif.membership import ClassicMembership, ConsumerMembership, ConsumerSubscription, Timeouts
from translators.dialects.classic import (
    Heartbeat,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeavingMember,
    MemberAssignment,
    Protocol,
    SyncGroup,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, TopicId, TopicIdPartition, TopicName

GROUP, SEAT, ANNA = GroupId("orders"), InstanceId("seat"), MemberId("anna-1")
TOPICS = (TopicName("orders"),)
SUBSCRIPTION = Subscription(version=1, topics=TOPICS, owned=frozenset())
TIMEOUTS = Timeouts(session_ms=45_000, rebalance_ms=300_000)
NEWCOMER = ClassicMembership(group_id=GROUP, instance_id=SEAT)
MEMBER = replace(NEWCOMER, member_id=ANNA, generation=3)
JOINED = JoinGroupReply(error=ErrorCode.NONE, member_id=ANNA, generation=3, protocol_type="consumer", protocol_name="b")
HELD = frozenset({TopicIdPartition(TopicId(b"1" * 16), 0)})
CONSUMER = ConsumerMembership(group_id=GROUP, member_id=ANNA, instance_id=SEAT)


def test_join_offers_every_assignor_with_one_subscription() -> None:
    """As client libraries do; who has no id yet gives none."""
    blob = encode_subscription(SUBSCRIPTION)
    assert NEWCOMER.join(("a", "b"), SUBSCRIPTION, TIMEOUTS, needs_member_id=False) == JoinGroup(
        group_id=GROUP,
        member_id=MemberId(""),
        instance_id=SEAT,
        protocol_type="consumer",
        protocols=(Protocol("a", blob), Protocol("b", blob)),
        session_timeout_ms=45_000,
        rebalance_timeout_ms=300_000,
        needs_member_id=False,
    )


def test_answers_to_a_join_say_who_one_is() -> None:
    """MEMBER_ID_REQUIRED brings an id and no generation; a refusal may bring nothing, and what was known stays."""
    told = NEWCOMER.joined(JoinGroupReply(error=ErrorCode.MEMBER_ID_REQUIRED, member_id=ANNA))
    assert told == replace(NEWCOMER, member_id=ANNA)
    assert told.joined(JOINED) == MEMBER
    assert MEMBER.joined(JoinGroupReply(error=ErrorCode.NOT_COORDINATOR, member_id=MemberId(""))) == MEMBER


def test_member_speaks_in_its_generation() -> None:
    """SyncGroup, Heartbeat and LeaveGroup name group, member and seat alike."""
    shares = (MemberAssignment(ANNA, b"all"),)
    assert MEMBER.sync(JOINED, shares) == SyncGroup(
        group_id=GROUP,
        generation=3,
        member_id=ANNA,
        instance_id=SEAT,
        protocol_type="consumer",
        protocol_name="b",
        assignments=shares,
        names_protocol=True,
    )
    assert MEMBER.heartbeat() == Heartbeat(GROUP, 3, ANNA, SEAT)
    assert MEMBER.leave() == LeaveGroup(group_id=GROUP, members=(LeavingMember(member_id=ANNA, instance_id=SEAT),))


def test_consumer_says_everything_first_and_then_what_changed() -> None:
    """KIP-848: a field that did not change is absent; the static seat is named each time."""
    subscription = ConsumerSubscription(
        topics=TOPICS, rebalance_timeout_ms=60_000, rack_id="r", server_assignor="range"
    )
    brief = ConsumerGroupHeartbeat(group_id=GROUP, member_id=ANNA, member_epoch=0, instance_id=SEAT)
    assert CONSUMER.brief() == brief
    assert CONSUMER.brief(owned=HELD) == replace(brief, owned=HELD)
    assert CONSUMER.full(subscription, frozenset()) == replace(
        brief,
        rack_id="r",
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=TOPICS,
        server_assignor="range",
        owned=frozenset(),
    )


def test_consumer_goes_for_good_or_for_a_while() -> None:
    """Epochs -1 and -2."""
    member = replace(CONSUMER, epoch=7)
    assert [one.member_epoch for one in (member.brief(), member.leave(), member.vacate())] == [7, -1, -2]
    assert member.leave().owned is None
