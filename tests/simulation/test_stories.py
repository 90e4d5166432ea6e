"""A fixed batch of stories with the real owner of groups: no law breaks, and a seed has one outcome."""

from dataclasses import replace

import pytest

from tests.support.simulated_bridge import OwnerSubject
from tests.support.simulation.campaign import run_seed, run_seeds
from tests.support.simulation.drawing import draw_schedule
from tests.support.simulation.profiles import PROFILES, UNDRAWN
from tests.support.simulation.schedule import Act, Action, Conditions, Phase, Schedule
from tests.support.simulation.story import LOOK_MS, QUIET_MS, StoryRun

BATCH = range(60)
SHY = tuple(name for name in UNDRAWN if name.endswith("-shy"))
HEARTBEAT_MS = 3_000
ONCE_BROKEN = (
    *(138, 157, 180, 337, 340, 391, 562, 602, 778, 986, 1386, 100_049, 100_050),
    *(393_056_763, 721_091_639, 721_093_151),
)
"""Seeds that found a bug of the bridge, or of this world, when they were first run."""


def test_batch_of_stories_breaks_no_law() -> None:
    """Reliability 3.2: every law at every step, and rest after every phase."""
    outcomes, failures = run_seeds(BATCH, OwnerSubject)
    assert "\n\n".join(failure.report() for failure in failures) == ""
    assert sum(outcome.takes for outcome in outcomes) > 1_000
    assert sum(outcome.commits for outcome in outcomes) > 10_000


def test_stories_that_once_broke_a_law_break_none() -> None:
    """What was found stays fixed."""
    _, failures = run_seeds(ONCE_BROKEN, OwnerSubject)
    assert "\n\n".join(failure.report() for failure in failures) == ""


def test_seed_has_one_outcome() -> None:
    """Reliability 3.6: the same trace, event for event."""
    assert run_seed(4, OwnerSubject) == run_seed(4, OwnerSubject)


@pytest.mark.parametrize("newcomer", ["java-consumer", "java-cooperative", "java"])
@pytest.mark.parametrize("shy", SHY)
def test_cooperative_clients_that_let_go_and_wait_are_called(shy: str, newcomer: str) -> None:
    """A client that lets go of what it lost and doesn't join by itself keeps nobody waiting for long: within three
    heartbeats (the loser is called, is called once more, the gainer is called) everything is in use.
    """
    form = Phase(
        is_calm=False, acts=tuple(Act(at_ms=0, action=Action.START, place=place, name=shy) for place in (0, 1))
    )
    join = Phase(is_calm=False, acts=(Act(at_ms=0, action=Action.START, place=2, name=newcomer),))
    formed, joined = (_tell_shy(form), _tell_shy(form, join))
    assert joined - formed - QUIET_MS - LOOK_MS <= 3 * HEARTBEAT_MS


def _tell_shy(*phases: Phase) -> int:
    """How long a story takes that breaks no law."""
    conditions = Conditions(partitions=12, initial_delay_ms=500, consumer_heartbeat_ms=2_000)
    outcome = StoryRun(Schedule(1, conditions, phases), OwnerSubject).run()
    assert outcome.broken is None
    return outcome.virtual_ms


@pytest.mark.parametrize("seed", range(3_000, 3_012))
def test_stories_of_cooperative_clients_that_wait_to_be_called_break_no_law(seed: int) -> None:
    """After every kind of fault the living come to rest, and every partition has an owner, whoever waits for whom."""
    schedule = draw_schedule(seed)
    phases = tuple(replace(phase, acts=tuple(map(_made_shy, phase.acts))) for phase in schedule.phases)
    outcome = StoryRun(replace(schedule, phases=phases), OwnerSubject).run()
    assert outcome.broken is None


def _made_shy(act: Act) -> Act:
    """Every client of the story is one that waits."""
    return replace(act, name=SHY[act.place % len(SHY)]) if act.name in PROFILES else act
