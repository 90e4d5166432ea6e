"""One world with the real owner of groups in it."""

import pytest

from tests.support.simulated_bridge import OwnerSubject
from tests.support.simulation.oracle import InvariantBroken
from tests.support.simulation.schedule import Conditions
from tests.support.simulation.story import unrest
from tests.support.simulation.world import EXTRA_TOPIC, RESUME_GRACE_MS, TOPIC, World
from tests.unit.support.simulation.test_cluster import COMMIT
from translators.dialects.ids import RequestRef, TopicPartition


def make_world(*names: str, static: frozenset[int] = frozenset()) -> World:
    """A world at rest, with a client of each profile at the places 0, 1, …"""
    world = World(Conditions(partitions=4, static_places=static, latency_ms=0), 1, OwnerSubject)
    for place, name in enumerate(names):
        world.start(place, name)
    world.timeline.run_until(20_000)
    assert unrest(world) == []
    return world


def test_place_takes_one_client_at_a_time() -> None:
    """Who lives stays; static places have instance ids where the library knows them."""
    world = make_world("java", "kafkajs", static=frozenset({0, 1}))
    first = world.fleet[0]
    world.start(0, "kafkajs")
    assert world.fleet[0] is first
    assert [world.fleet[place].role.instance_id for place in (0, 1)] == ["instance-0", None]
    first.die()
    world.start(0, "kafkajs")
    assert world.fleet[0] is not first
    assert world.living() == [world.fleet[0], world.fleet[1]]


def test_bridge_that_lost_its_memory_gathers_its_members_again() -> None:
    """Nobody is assigned anything before the grace has passed (decision 9)."""
    world = make_world("java-cooperative", "java-consumer")
    world.restart_bridge()
    world.timeline.run_until(20_000 + RESUME_GRACE_MS - 1)
    assert [actor.owned for actor in world.living()] == [frozenset(), frozenset()]
    world.timeline.run_until(60_000)
    assert unrest(world) == []


def test_deleted_topic_is_made_again_only_after_healing() -> None:
    """Until then clients may still read the one of that name that was deleted."""
    world = make_world("java")
    world.create_topic(EXTRA_TOPIC, 1)
    world.delete_topic(EXTRA_TOPIC)
    world.create_topic(EXTRA_TOPIC, 1)
    assert [topic.name for topic in world.topics.all()] == [TOPIC]
    world.heal()
    world.create_topic(EXTRA_TOPIC, 1)
    assert [topic.name for topic in world.topics.all()] == [TOPIC, EXTRA_TOPIC]


def test_bridge_notices_new_partitions_after_a_while() -> None:
    """The watcher of topics looks now and then."""
    world = make_world("librdkafka-consumer")
    world.change_topics(world.topics.grow(TOPIC, 2))
    assert len(unrest(world)) == 2
    world.timeline.run_until(40_000)
    assert len(world.fleet[0].owned) == 6


def test_commits_of_owners_land() -> None:
    """Every client commits what it processes."""
    world = make_world("kafka-python", "platformatic-consumer")
    assert world.commits_landed > 0
    assert [actor.commits_refused for actor in world.living()] == [0, 0]


def test_commit_that_lands_in_another_s_partition_breaks_the_law() -> None:
    """It would overwrite the new owner's offsets (decision 2)."""
    world = make_world("java-consumer", "java-consumer")
    first, second = world.living()
    partition = min(first.owned)
    topic = COMMIT.topics[0]
    entry = topic.partitions[0]
    late = type(COMMIT)(
        group_id=COMMIT.group_id,
        generation=second.epoch,
        member_id=second.member_id,
        instance_id=None,
        topics=(type(topic)(name=TOPIC, partitions=(type(entry)(partition=partition.partition, offset=1),)),),
    )
    road = next(ref for ref in world._committers if world.network.client_of(ref.connection) == second.role.number)
    world._committers[road] = second.member_id
    with pytest.raises(InvariantBroken, match="no commit lands"):
        world._land(RequestRef(0, road.connection, road.sequence), late)
    assert partition == TopicPartition(TOPIC, partition.partition)
