"""Stories are told in phases, with rest and laws in between."""

import pytest

from bridge.simulation.schedule import Act, Conditions, Deed, Phase, Schedule
from bridge.simulation.telling import Ending, Telling, perform
from tests.support.scripted_subject import ScriptedSubject
from tests.support.simulated_bridge import OwnerSubject
from tests.unit.bridge.simulation.test_world import make_world

FORM = Phase(
    is_calm=False,
    acts=(
        Act(at_ms=0, deed=Deed.START, place=0, name="java"),
        Act(at_ms=0, deed=Deed.START, place=1, name="java-consumer"),
    ),
)


def tell(*phases: Phase) -> Ending:
    """Tell a story with the real owner."""
    return Telling(Schedule(1, Conditions(partitions=4, latency_ms=0), (FORM, *phases)), OwnerSubject).tell()


def test_told_story_ends_at_rest_with_everything_counted() -> None:
    """A calm join breaks nothing."""
    ending = tell(Phase(is_calm=True, acts=(Act(at_ms=0, deed=Deed.START, place=2, name="librdkafka"),)))
    assert ending.broken is None
    assert ending.takes > 0
    assert ending.commits > 0
    assert ending.joins >= 3


def test_bridge_that_never_answers_breaks_a_law() -> None:
    """Liveness: every request is answered."""
    ending = Telling(Schedule(1, Conditions(partitions=1), (FORM,)), ScriptedSubject).tell()
    assert ending.broken is not None
    assert ending.broken.law == "every request is answered"


def test_bridge_that_raises_breaks_a_law() -> None:
    """The bug is named with the story."""

    class Raising(ScriptedSubject):
        """A subject with a bug."""

        def next_deadline_ms(self) -> int | None:
            """Fail once time has passed."""
            if self.surroundings.now_ms():
                raise LookupError("lost")
            return None

    ending = Telling(Schedule(1, Conditions(partitions=1), (FORM,)), Raising).tell()
    assert ending.broken is not None
    assert (ending.broken.law, "lost" in str(ending.broken)) == ("nothing raises", True)


def test_calm_phase_with_a_fence_breaks_the_law() -> None:
    """A pause past the session is no calm change: the laws of calm see it."""
    ending = tell(Phase(is_calm=True, acts=(Act(at_ms=0, deed=Deed.PAUSE, place=0, amount=30_000),)))
    assert ending.broken is not None
    assert ending.broken.law == "nobody is fenced in calm"


@pytest.mark.parametrize("deed", [Deed.LEAVE, Deed.KILL, Deed.RESTART, Deed.KILL_RESTART])
def test_deeds_that_end_a_client(deed: Deed) -> None:
    """Those that restart bring another process to its place."""
    world = make_world("java", "java")
    first = world.fleet[0]
    perform(world, Act(at_ms=0, deed=deed, place=0, name="java-consumer", amount=100))
    world.timeline.run_until(world.timeline.now_ms + 2_000)
    assert not first.is_alive
    assert world.fleet[0].is_alive is (deed in {Deed.RESTART, Deed.KILL_RESTART})


def test_deeds_to_topics_broker_and_nobody() -> None:
    """A deed that finds nothing to act on does nothing, so that stories can be shrunk."""
    world = make_world("java")
    for deed, amount in ((Deed.GROW, 2), (Deed.CREATE, 3), (Deed.SLOW_BROKER, 700), (Deed.BREAK_UPSTREAM, 0)):
        perform(world, Act(at_ms=0, deed=deed, amount=amount))
    for deed in (Deed.KILL, Deed.PAUSE, Deed.CUT, Deed.LAG):
        perform(world, Act(at_ms=0, deed=deed, place=7, amount=1))
    assert [topic.partition_count for topic in world.topics.all()] == [6, 3]
    assert (world.broker.delay_ms, world.broker.is_broken) == (700, True)
    world.timeline.run_until(world.timeline.now_ms + 5_000)
    assert not world.broker.is_broken
