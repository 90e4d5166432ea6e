"""What all clients share: pauses, ends, last commits."""

import pytest

from tests.support.simulation.oracle import InvariantBroken
from tests.support.simulation.story import unrest
from tests.unit.support.simulation.test_world import make_world
from translators.dialects.errors import ErrorCode


def test_paused_client_does_nothing_and_keeps_what_it_has() -> None:
    """Shorter than its session it comes back as if nothing had been."""
    world = make_world("java", "java-consumer")
    actor = world.fleet[0]
    before, commits = actor.owned, world.commits_landed
    world.fleet[1].pause(5_000)
    actor.pause(5_000)
    world.timeline.run_until(world.timeline.now_ms + 5_000)
    assert world.commits_landed == commits
    assert actor.owned == before
    world.timeline.run_until(world.timeline.now_ms + 20_000)
    assert unrest(world) == []
    assert (actor.owned, actor.standing.treatment.fences) == (before, 0)


def test_client_paused_past_its_session_comes_back_with_nothing() -> None:
    """Its commits are refused, its partitions are another's."""
    world = make_world("kafka-python", "java-consumer")
    actor = world.fleet[0]
    actor.pause(30_000)
    world.timeline.run_until(world.timeline.now_ms + 29_000)
    assert len(world.fleet[1].owned) == 4
    assert actor.owned
    world.timeline.run_until(world.timeline.now_ms + 20_000)
    assert actor.standing.treatment.fences == 1
    assert unrest(world) == []


def test_dead_client_processes_nothing() -> None:
    """It is gone at once; its group hears of it when the session is over."""
    world = make_world("java-cooperative", "java-cooperative")
    actor = world.fleet[0]
    owned = actor.owned
    actor.die()
    assert [world.oracle.holders(partition) for partition in owned] == [()] * len(owned)
    assert unrest(world) != []
    world.timeline.run_until(world.timeline.now_ms + 30_000)
    assert unrest(world) == []


def test_client_driven_into_a_fatal_error_breaks_the_law_unless_it_had_expired() -> None:
    """Reliability 3.2: a live member is not fenced."""
    world = make_world("java", "java")
    with pytest.raises(InvariantBroken, match="fatal"):
        world.fleet[0].fail(ErrorCode.FENCED_INSTANCE_ID)
    world.fleet[1].standing.has_expired = True
    world.fleet[1].fail(ErrorCode.FENCED_INSTANCE_ID)
    assert (world.fleet[1].is_alive, world.fleet[1].failure) == (False, ErrorCode.FENCED_INSTANCE_ID)


@pytest.mark.parametrize(("name", "waits"), [("kafka-python", True), ("librdkafka", False)])
def test_partitions_are_given_up_after_the_last_commit_or_at_once(name: str, waits: bool) -> None:
    """The patient wait for the broker."""
    world = make_world(name)
    actor = world.fleet[0]
    done: list[int] = []
    actor.give_up(actor.owned, lambda: done.append(world.timeline.now_ms))
    assert bool(done) is not waits
    assert bool(actor.owned) is waits
    world.timeline.run_until(world.timeline.now_ms + 100)
    assert (len(done), actor.owned) == (1, frozenset())
