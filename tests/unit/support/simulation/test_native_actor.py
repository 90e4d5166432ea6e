"""Clients of KIP-848 against the real owner of groups."""

import pytest

from tests.support.simulation.native_actor import NativeActor
from tests.support.simulation.oracle import InvariantBroken
from tests.support.simulation.profiles import PROFILES
from tests.support.simulation.story import unrest
from tests.support.simulation.world import EXTRA_TOPIC, TOPIC
from tests.unit.support.simulation.test_world import make_world
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import TopicPartition

NATIVE = tuple(name for name, profile in PROFILES.items() if profile.is_native)


@pytest.mark.parametrize("name", NATIVE)
def test_third_gets_its_share_and_nobody_joins_again(name: str) -> None:
    """KIP-848: members go on while partitions move."""
    world = make_world(name, name)
    world.oracle.rest()
    world.start(2, name)
    world.timeline.run_until(world.timeline.now_ms + 20_000)
    assert unrest(world) == []
    assert [world.fleet[place].standing.treatment.joins for place in (0, 1, 2)] == [0, 0, 1]
    assert sorted(len(actor.owned) for actor in world.living()) == [1, 1, 2]


@pytest.mark.parametrize("name", NATIVE)
def test_dynamic_leaver_frees_its_partitions_and_a_static_one_keeps_its_seat(name: str) -> None:
    """-1 is for good, -2 for a while (K2.13)."""
    world = make_world(name, name, static=frozenset({1}))
    share = world.fleet[1].owned
    world.fleet[1].leave()
    world.timeline.run_until(world.timeline.now_ms + 5_000)
    assert world.fleet[0].owned.isdisjoint(share)
    world.start(1, name)
    world.fleet[0].leave()
    world.timeline.run_until(world.timeline.now_ms + 8_000)
    assert unrest(world) == []
    assert (len(world.fleet[1].owned), world.fleet[1].owned >= share) == (4, True)


def test_fenced_client_drops_everything_and_joins_anew() -> None:
    """Another epoch than its coordinator has of it fences a member (K2.18); one that lives must not be."""
    world = make_world("java-consumer")
    actor = world.fleet[0]
    assert isinstance(actor, NativeActor)
    fenced = ConsumerGroupHeartbeatReply(error=ErrorCode.FENCED_MEMBER_EPOCH)
    with pytest.raises(InvariantBroken, match="fenced who lives"):
        actor._answered(fenced)
    actor.standing.has_expired = True
    actor._answered(fenced)
    assert (actor.owned, actor.member_epoch) == (frozenset(), 0)
    world.timeline.run_until(world.timeline.now_ms + 8_000)
    assert unrest(world) == []


def test_saying_everything_again_while_taking_releases_nothing() -> None:
    """deviations.md on K2.34: librdkafka after an error; the oracle would tell of two owners."""
    world = make_world()
    world.start(0, "librdkafka-consumer")
    world.timeline.run_until(world.timeline.now_ms + 100)
    actor = world.fleet[0]
    assert isinstance(actor, NativeActor)
    assert (actor.owned, actor.member_epoch > 0) == (frozenset(), True)
    world.start(1, "java")
    world.timeline.run_until(world.timeline.now_ms + 100)
    actor._says_all = True
    actor._beat()
    world.timeline.run_until(world.timeline.now_ms + 20_000)
    assert unrest(world) == []
    assert [actor.standing.treatment.fences for actor in world.living()] == [0, 0]


def test_what_was_being_taken_is_not_taken_after_a_fence() -> None:
    """Java gives a reconciliation up when it has joined again in the meantime."""
    world = make_world()
    world.start(0, "librdkafka-consumer")
    world.timeline.run_until(world.timeline.now_ms + 100)
    actor = world.fleet[0]
    assert isinstance(actor, NativeActor)
    membership = actor._membership
    actor.standing.has_expired = True
    actor._answered(ConsumerGroupHeartbeatReply(error=ErrorCode.UNKNOWN_MEMBER_ID))
    actor._moved(frozenset({TopicPartition(TOPIC, 0)}), membership)
    assert actor.owned == frozenset()
    world.timeline.run_until(world.timeline.now_ms + 20_000)
    assert unrest(world) == []


@pytest.mark.parametrize("name", [*NATIVE, "java", "java-cooperative", "kafkajs"])
def test_client_that_changes_its_mind_reads_other_topics(name: str) -> None:
    """It joins again, or says so in a heartbeat; who reads the same as before keeps its share."""
    world = make_world(name, name)
    world.create_topic(EXTRA_TOPIC, 2)
    world.timeline.run_until(world.timeline.now_ms + 8_000)
    world.fleet[0].resubscribe([EXTRA_TOPIC])
    world.timeline.run_until(world.timeline.now_ms + 20_000)
    assert unrest(world) == []
    assert {partition.topic for partition in world.fleet[0].owned} == {EXTRA_TOPIC}
    assert {partition.topic for partition in world.fleet[1].owned} == {TOPIC}


def test_falling_epoch_breaks_a_law() -> None:
    """Reliability 3.2, 3."""
    world = make_world("java-consumer")
    actor = world.fleet[0]
    assert isinstance(actor, NativeActor)
    older = ConsumerGroupHeartbeatReply(error=ErrorCode.NONE, member_epoch=actor.member_epoch - 1)
    with pytest.raises(InvariantBroken, match="epochs never fall"):
        actor._answered(older)
