"""A group before a move, from what its broker shows and its members have said."""

from dataclasses import replace

import pytest

from bridge.coordinators.moving.adopt import find_difference
from bridge.coordinators.moving.survey import (
    SESSION_TIMEOUT_MS,
    SHORTEST_SESSION_MS,
    UNHEARD_GENERATION,
    hold_ms_of,
    is_its_brokers,
    is_no_member,
    left_out,
    nobody,
    survey,
)
from bridge.migration.orders import MoveOrder
from bridge.migration.roster import Roster
from bridge.migration.route import Road
from tests.support.moving_world import BLOB, GENERATION, SESSION_MS, classic_join, described
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from translators.dialects.classic import JoinGroup, SyncGroup
from translators.dialects.consumer import DescribedConsumerGroup, DescribedConsumerMember, DescribedTopicPartitions
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, TopicId, TopicPartition, Via

A = MemberId("a")
ZERO, ONE = frozenset({TopicPartition(TOPIC, 0)}), frozenset({TopicPartition(TOPIC, 1)})
VIA = Via(0, 1)


def heard(*requests: JoinGroup) -> Roster:
    """A roster of members that joined so, and synced."""
    roster = Roster()
    for request in requests:
        roster.joins(VIA, CLIENT, request)
        sync = SyncGroup(group_id=GROUP, generation=GENERATION, member_id=request.member_id, instance_id=None)
        roster.syncs(VIA, CLIENT, sync)
    return roster


def consumer_group(member_type: int, state: str = "Stable") -> DescribedConsumerGroup:
    """A consumer group of one member."""
    member = DescribedConsumerMember(
        member_id=A,
        instance_id=None,
        rack_id=None,
        member_epoch=GENERATION,
        client_id="described",
        client_host="/10.0.0.1",
        subscribed_topic_names=(TOPIC,),
        subscribed_topic_regex=None,
        assignment=(DescribedTopicPartitions(topic_id=TopicId(b"t" * 16), topic_name=TOPIC, partitions=(0,)),),
        target_assignment=(),
        member_type=member_type,
    )
    return DescribedConsumerGroup(error=ErrorCode.NONE, group_id=GROUP, group_state=state, members=(member,))


def test_member_that_was_heard_is_known_in_its_own_words() -> None:
    """Its timeouts and generation are not in any description."""
    found = survey(described({"a": ZERO}), heard(classic_join("a")))
    member = found.members[A]
    assert (found.is_at_rest, found.is_empty, found.obstacles) == (True, False, ())
    assert (member.generation, member.session_timeout_ms, member.using) == (GENERATION, SESSION_MS, ZERO)
    assert member.client == CLIENT


def test_member_that_nobody_heard_is_known_as_its_broker_shows_it() -> None:
    """So is one whose words are others by now."""
    for roster in (Roster(), heard(classic_join("a", b"\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"))):
        member = survey(described({"a": ZERO}), roster).members[A]
        assert (member.session_timeout_ms, member.protocols[0].metadata) == (SESSION_TIMEOUT_MS, BLOB)
    assert survey(described({"a": ZERO}), Roster()).members[A].generation == UNHEARD_GENERATION


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance"])
def test_group_in_a_rebalance_is_not_at_rest_and_not_empty(state: str) -> None:
    """Its broker shows neither subscriptions nor assignments."""
    found = survey(described({"a": ZERO}, state), Roster())
    assert (found.members, found.is_at_rest, found.is_empty, found.obstacles) == ({}, False, False, ())


@pytest.mark.parametrize(("owned", "is_at_rest"), [(ZERO, True), (ZERO | ONE, False), (None, True)])
def test_group_is_not_at_rest_while_a_member_has_not_joined_since_it_lost_something(
    owned: frozenset[TopicPartition] | None, is_at_rest: bool
) -> None:
    """It is stable, and a cooperative client that stands still may use what it was not dealt: as a consumer group
    it had that for whoever came first (seed 139055805 of moves).
    """
    version = 0 if owned is None else 1
    said = encode_subscription(Subscription(version=version, topics=(TOPIC,), owned=owned))
    group = described({"a": ZERO})
    found = survey(replace(group, members=tuple(replace(one, metadata=said) for one in group.members)), Roster())
    assert (found.is_at_rest, found.is_empty, found.obstacles) == (is_at_rest, False, ())
    expected = {A: ZERO}
    difference = find_difference(GROUP, replace(group, members=(replace(group.members[0], metadata=said),)), expected)
    assert (difference is None) is is_at_rest


def test_empty_group_is_empty() -> None:
    """There is nobody to be moved."""
    assert survey(described({}, "Dead"), Roster()).is_empty
    assert nobody(GROUP).code == "EB-MOVE-103"


def test_order_without_anybody_to_be_moved_says_why() -> None:
    """To one that was at its broker already, and to an id of another life, it was said that there are no members."""
    assert is_its_brokers(GROUP).sentence == f"this bridge has no member of {GROUP}, which is its broker's already"
    named = MoveOrder(GROUP, Road.UPSTREAM, members=tuple(MemberId(f"m{number}") for number in range(5)))
    assert is_no_member(named).sentence.endswith("of those that are named: m0, m1, m2")


def test_obstacles_of_a_classic_group() -> None:
    """Another kind of group, an assignor of its own, bytes that can't be read."""
    group = described({"a": ZERO})
    assert [one.code for one in survey(replace(group, protocol_type="connect"), Roster()).obstacles] == ["EB-MOVE-102"]
    assert [one.code for one in survey(replace(group, protocol_data="own"), Roster()).obstacles] == ["EB-MOVE-115"]
    unreadable = replace(group, members=(replace(group.members[0], assignment=b"?"),))
    found = survey(unreadable, Roster())
    assert [(one.code, one.member_id) for one in found.obstacles] == [("EB-MOVE-105", A)]


def test_classic_members_of_a_consumer_group_are_found_and_others_are_there_already() -> None:
    """Half a group may have been taken over before."""
    found = survey(consumer_group(0), heard(classic_join("a")))
    member = found.members[A]
    assert (member.using, member.generation, member.protocol_name) == (ZERO, GENERATION, "range")
    assert left_out(GROUP, found.members) == {}
    assert survey(consumer_group(1), Roster()).members == {}
    assert not survey(consumer_group(0, "Reconciling"), Roster()).is_at_rest


@pytest.mark.parametrize("roster", [heard(), heard(replace(classic_join("a"), protocols=()))])
def test_classic_member_of_a_consumer_group_that_nobody_heard_is_left_out(roster: Roster) -> None:
    """Nobody invents an assignor for it: with one that no other member offers nobody could join any more."""
    members = survey(consumer_group(0), roster).members
    assert (members[A].client.client_host, members[A].protocols) in (("10.0.0.1", ()), (CLIENT.client_host, ()))
    assert [one.code for one in left_out(GROUP, members).values()] == ["EB-MOVE-219"]


def test_hostile_words_are_an_obstacle_and_no_bug() -> None:
    """Whoever joined with bytes that are no subscription."""
    found = survey(consumer_group(0), heard(classic_join("a", b"?")))
    assert ([one.code for one in found.obstacles], found.members) == (["EB-MOVE-105"], {})


def test_requests_are_held_for_a_third_of_the_shortest_session_that_there_may_be() -> None:
    """Of who was not heard to join it may be as short as brokers take: 45 s is a guess, and held so long it dies."""
    unheard = survey(described({"a": ZERO}), Roster()).members
    assert unheard[A].session_timeout_ms == SESSION_TIMEOUT_MS
    assert hold_ms_of(unheard.values()) == SHORTEST_SESSION_MS // 3
    known = survey(described({"a": ZERO}), heard(classic_join("a"))).members
    assert hold_ms_of(known.values()) == SESSION_MS // 3
    default = replace(known[A], session_timeout_ms=SESSION_TIMEOUT_MS)
    assert hold_ms_of([default]) == SESSION_TIMEOUT_MS // 3
    assert hold_ms_of([default, *unheard.values()]) == SHORTEST_SESSION_MS // 3
