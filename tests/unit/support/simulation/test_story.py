"""Stories are told in phases, with rest and laws in between."""

import pytest

from tests.support.scripted_subject import ScriptedSubject
from tests.support.simulated_bridge import OwnerSubject
from tests.support.simulation.schedule import Act, Action, Conditions, Phase, Schedule
from tests.support.simulation.story import Outcome, StoryRun, perform, unrest
from tests.support.simulation.world import TOPIC
from tests.unit.support.simulation.test_world import make_world
from translators.dialects.ids import TopicPartition

FORM = Phase(
    is_calm=False,
    acts=(
        Act(at_ms=0, action=Action.START, place=0, name="java"),
        Act(at_ms=0, action=Action.START, place=1, name="java-consumer"),
    ),
)


def run_seed(*phases: Phase) -> Outcome:
    """Tell a story with the real owner."""
    return StoryRun(Schedule(1, Conditions(partitions=4, latency_ms=0), (FORM, *phases)), OwnerSubject).run()


def test_told_story_ends_at_rest_with_everything_counted() -> None:
    """A calm join breaks nothing."""
    outcome = run_seed(Phase(is_calm=True, acts=(Act(at_ms=0, action=Action.START, place=2, name="librdkafka"),)))
    assert outcome.broken is None
    assert outcome.takes > 0
    assert outcome.commits > 0
    assert outcome.joins >= 3


def test_bridge_that_never_answers_breaks_a_law() -> None:
    """Liveness: every request is answered."""
    outcome = StoryRun(Schedule(1, Conditions(partitions=1), (FORM,)), ScriptedSubject).run()
    assert outcome.broken is not None
    assert outcome.broken.law == "every request is answered"


def test_bridge_that_raises_breaks_a_law() -> None:
    """The bug is named with the story."""

    class Raising(ScriptedSubject):
        """A subject with a bug."""

        def next_deadline_ms(self) -> int | None:
            """Fail once time has passed."""
            if self.surroundings.now_ms():
                raise LookupError("lost")
            return None

    outcome = StoryRun(Schedule(1, Conditions(partitions=1), (FORM,)), Raising).run()
    assert outcome.broken is not None
    assert (outcome.broken.law, "lost" in str(outcome.broken)) == ("nothing raises", True)


def test_calm_phase_with_a_fence_breaks_the_law() -> None:
    """A pause past the session is no calm change: the laws of calm see it."""
    outcome = run_seed(Phase(is_calm=True, acts=(Act(at_ms=0, action=Action.PAUSE, place=0, amount=30_000),)))
    assert outcome.broken is not None
    assert outcome.broken.law == "nobody is fenced in calm"


@pytest.mark.parametrize("action", [Action.LEAVE, Action.KILL, Action.RESTART, Action.KILL_RESTART])
def test_deeds_that_end_a_client(action: Action) -> None:
    """Those that restart bring another process to its place."""
    world = make_world("java", "java")
    first = world.fleet[0]
    perform(world, Act(at_ms=0, action=action, place=0, name="java-consumer", amount=100))
    world.timeline.run_until(world.timeline.now_ms + 2_000)
    assert not first.is_alive
    assert world.fleet[0].is_alive is (action in {Action.RESTART, Action.KILL_RESTART})


def test_deeds_to_topics_broker_and_nobody() -> None:
    """A action that finds nothing to act on does nothing, so that stories can be shrunk."""
    world = make_world("java")
    for action, amount in ((Action.GROW, 2), (Action.CREATE, 3), (Action.SLOW_BROKER, 700), (Action.BREAK_UPSTREAM, 0)):
        perform(world, Act(at_ms=0, action=action, amount=amount))
    for action in (Action.KILL, Action.PAUSE, Action.CUT, Action.LAG):
        perform(world, Act(at_ms=0, action=action, place=7, amount=1))
    assert [topic.partition_count for topic in world.topics.all()] == [6, 3]
    assert (world.broker.delay_ms, world.broker.is_broken) == (700, True)
    world.timeline.run_until(world.timeline.now_ms + 5_000)
    assert not world.broker.is_broken


def test_rest_of_an_empty_world_and_of_a_settled_one() -> None:
    """Nothing is wanted of nobody."""
    assert unrest(make_world()) == []
    assert unrest(make_world("java", "java-cooperative", "java-consumer")) == []


def test_partition_without_or_with_two_owners_is_unrest() -> None:
    """Liveness: exactly one."""
    world = make_world("java")
    (actor,) = world.living()
    world.oracle.release(actor.role.number, [TopicPartition(TOPIC, 1)])
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
