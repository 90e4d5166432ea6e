"""Machines' questions in the engine's words."""

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.engine_commands import to_answer, to_command
from bridge.engine.commands import Speaks
from bridge.engine.outcome import MemberAnswer
from bridge.engine.settings import EngineSettings
from tests.support.owned_group import CLIENT, GROUP, TOPIC, OwnedGroup
from translators.dialects.classic import JoinGroup, JoinGroupReply, Protocol
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import Subscription, encode_assignment, encode_subscription
from translators.dialects.coordinator import DepartReason, Farewell, Granted, Inquiry, Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, MemberRef, Topic, TopicId, TopicIdPartition, TopicName, TopicPartition

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
    assert (command.ref, command.speaks, command.fresh_id) == (MemberRef(GROUP, MEMBER, 7), Speaks.CLASSIC, MEMBER)
    request = command.request
    assert (request.member_epoch, request.rack_id, request.rebalance_timeout_ms) == (3, "r", 9)
    assert request.subscribed_topic_names == (TOPIC,)
    assert request.owned == frozenset({TopicIdPartition(ID, 1)})
    assert (command.claimed, command.claimed_generation) == (frozenset({TopicIdPartition(ID, 0)}), 5)


def test_farewell_says_only_who_leaves() -> None:
    """At the epoch it was given."""
    asked = Farewell(group_id=GROUP, member_id=MEMBER, member_epoch=-2, instance_id=None, reason=DepartReason.REPLACED)
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


def sticky_join(owned: frozenset[TopicPartition], generation: int) -> JoinGroup:
    """What an eager sticky client sends that had these partitions in a generation (KIP-341)."""
    array = encode_assignment(owned)[2:-4]
    remembered = array + generation.to_bytes(4, "big")
    blob = encode_subscription(Subscription(version=0, topics=(TOPIC,), user_data=remembered))
    return JoinGroup(
        group_id=GROUP,
        member_id=MemberId(""),
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol("sticky", blob),),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        needs_member_id=False,
    )


def test_sticky_clients_begin_with_what_they_had() -> None:
    """KIP-341: what a group assigned before it came here stands; who missed that doesn't get back what it lost."""
    group = OwnedGroup(settings=EngineSettings(group_initial_rebalance_delay_ms=3_000))
    even, odd = (frozenset(TopicPartition(TOPIC, number) for number in range(start, 6, 2)) for start in (0, 1))
    stale, first, second = group.send(sticky_join(even, 3), sticky_join(odd, 4), sticky_join(even, 4))
    group.wait(10_000)
    targets = {
        member_id: group.owner.catalog.to_names(share)
        for member_id, share in group.owner.shard.groups[GROUP].target.items()
    }
    joined = [group.answer(ref, JoinGroupReply).member_id for ref in (stale, first, second)]
    assert (len(targets[joined[0]]), targets[joined[1]] < odd, targets[joined[2]] < even) == (2, True, True)
