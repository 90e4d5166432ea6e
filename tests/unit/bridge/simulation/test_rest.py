"""What is true of a world at rest."""

from bridge.simulation.rest import unrest
from bridge.simulation.world import TOPIC
from tests.unit.bridge.simulation.test_world import make_world
from translators.dialects.ids import TopicPartition


def test_rest_of_an_empty_world_and_of_a_settled_one() -> None:
    """Nothing is wanted of nobody."""
    assert unrest(make_world()) == []
    assert unrest(make_world("java", "java-cooperative", "java-consumer")) == []


def test_partition_without_or_with_two_owners_is_unrest() -> None:
    """Liveness: exactly one."""
    world = make_world("java")
    (actor,) = world.living()
    world.ledger.release(actor.role.number, [TopicPartition(TOPIC, 1)])
    assert unrest(world) == [f"{TopicPartition(TOPIC, 1)} is processed by []"]


def test_ghost_and_lost_member_are_unrest() -> None:
    """The group has the living and nobody else."""
    world = make_world("java")
    (actor,) = world.living()
    known = actor.member_id
    actor.member_id = type(known)("other")
    assert unrest(world) == [f"{known!r} is a member and no client", f"{actor.role.name} is no member"]


def test_disagreement_about_what_is_owned_is_unrest() -> None:
    """Reliability 3.2, 10: both views agree whenever a member is stable."""
    world = make_world("java-consumer")
    (actor,) = world.living()
    actor.owned -= {TopicPartition(TOPIC, 0)}
    problems = unrest(world)
    assert [problem for problem in problems if "for the group" in problem] != []


def test_paused_client_is_unrest() -> None:
    """It can't be called settled."""
    world = make_world("java-consumer")
    world.living()[0].pause(10)
    assert unrest(world) == [f"{world.living()[0].role.name} is not settled"]
