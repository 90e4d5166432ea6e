"""Machines' questions in the engine's words."""

from bridge.coordinators.asks import to_answer, to_command
from bridge.coordinators.catalog import Catalog
from bridge.engine.commands import AskRef, Speaks
from bridge.engine.outcome import MemberAnswer
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from translators.classic_member.effects import Farewell, Inquiry
from translators.classic_member.events import Granted, Refused
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, Topic, TopicId, TopicIdPartition, TopicName, TopicPartition

ID = TopicId(b"t" * 16)
MEMBER = MemberId("m")


def catalog() -> Catalog:
    """A catalog with one topic."""
    made = Catalog()
    made.update([Topic(ID, TOPIC, 2)])
    return made


def test_inquiry_is_a_complete_heartbeat() -> None:
    """Names become ids; the number comes back with the answer."""
    asked = Inquiry(
        group_id=GROUP,
        member_id=MEMBER,
        member_epoch=3,
        instance_id=None,
        rack_id="r",
        topics=frozenset({TOPIC}),
        rebalance_timeout_ms=9,
        owned=frozenset({TopicPartition(TOPIC, 1)}),
        claimed=frozenset({TopicPartition(TOPIC, 0), TopicPartition(TopicName("gone"), 0)}),
        claimed_generation=5,
    )
    command = to_command(asked, CLIENT, catalog(), 7)
    assert (command.ref, command.speaks, command.fresh_id) == (AskRef(GROUP, MEMBER, 7), Speaks.CLASSIC, MEMBER)
    request = command.request
    assert (request.member_epoch, request.rack_id, request.rebalance_timeout_ms) == (3, "r", 9)
    assert request.subscribed_topic_names == (TOPIC,)
    assert request.owned == frozenset({TopicIdPartition(ID, 1)})
    assert (command.claimed, command.claimed_generation) == (frozenset({TopicIdPartition(ID, 0)}), 5)


def test_farewell_says_only_who_leaves() -> None:
    """At the epoch it was given."""
    asked = Farewell(group_id=GROUP, member_id=MEMBER, member_epoch=-2, instance_id=None)
    request = to_command(asked, CLIENT, catalog(), 1).request
    assert (request.member_epoch, request.owned, request.subscribed_topic_names) == (-2, None, None)


def test_answers_come_back_by_name() -> None:
    """What changed, what is pending, and refusals with their reason."""
    part = TopicIdPartition(ID, 0)
    reply = ConsumerGroupHeartbeatReply(error=ErrorCode.NONE, member_epoch=4, assignment=frozenset({part}))
    name = frozenset({TopicPartition(TOPIC, 0)})
    answer = to_answer(MemberAnswer(reply, frozenset({part})), catalog())
    assert answer == Granted(member_epoch=4, assigned=name, pending=name)
    fenced = ConsumerGroupHeartbeatReply(error=ErrorCode.FENCED_MEMBER_EPOCH, error_message="why")
    assert to_answer(MemberAnswer(fenced), catalog()) == Refused(ErrorCode.FENCED_MEMBER_EPOCH, "why")
