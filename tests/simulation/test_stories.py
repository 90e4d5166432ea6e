"""A fixed batch of stories with the real owner of groups: no law breaks, and a seed has one outcome."""

from dataclasses import replace

import pytest

from bridge.simulation.campaign import run_seeds, tell
from bridge.simulation.drawing import draw_schedule
from bridge.simulation.schedule import Act, Conditions, Deed, Phase, Schedule
from bridge.simulation.telling import LOOK_MS, QUIET_MS, Telling
from bridge.simulation.temperaments import TEMPERAMENTS, UNDRAWN
from tests.support.simulated_bridge import OwnerSubject

BATCH = range(60)
SHY = tuple(name for name in UNDRAWN if name.endswith("-shy"))
HEARTBEAT_MS = 3_000
ONCE_BROKEN = (138, 157, 180, 337, 340, 391, 562, 602, 778, 986, 1386, 100_049, 100_050, 721_091_639, 721_093_151)
"""Seeds that found a bug of the bridge, or of this world, when they were first told."""


def test_batch_of_stories_breaks_no_law() -> None:
    """Reliability 3.2: every law at every step, and rest after every phase."""
    endings, failures = run_seeds(BATCH, OwnerSubject)
    assert "\n\n".join(failure.report() for failure in failures) == ""
    assert sum(ending.takes for ending in endings) > 1_000
    assert sum(ending.commits for ending in endings) > 10_000


def test_stories_that_once_broke_a_law_break_none() -> None:
    """What was found stays fixed."""
    _, failures = run_seeds(ONCE_BROKEN, OwnerSubject)
    assert "\n\n".join(failure.report() for failure in failures) == ""


def test_seed_has_one_outcome() -> None:
    """Reliability 3.6: the same trace, event for event."""
    assert tell(4, OwnerSubject) == tell(4, OwnerSubject)


@pytest.mark.parametrize("newcomer", ["java-consumer", "java-cooperative", "java"])
@pytest.mark.parametrize("shy", SHY)
def test_cooperative_clients_that_let_go_and_wait_are_called(shy: str, newcomer: str) -> None:
    """A client that lets go of what it lost and doesn't join by itself keeps nobody waiting for long: within three
    heartbeats (the loser is called, is called once more, the gainer is called) everything is in use.
    """
    form = Phase(is_calm=False, acts=tuple(Act(at_ms=0, deed=Deed.START, place=place, name=shy) for place in (0, 1)))
    join = Phase(is_calm=False, acts=(Act(at_ms=0, deed=Deed.START, place=2, name=newcomer),))
    formed, joined = (_tell_shy(form), _tell_shy(form, join))
    assert joined - formed - QUIET_MS - LOOK_MS <= 3 * HEARTBEAT_MS


def _tell_shy(*phases: Phase) -> int:
    """How long a story takes that breaks no law."""
    conditions = Conditions(partitions=12, initial_delay_ms=500, consumer_heartbeat_ms=2_000)
    ending = Telling(Schedule(1, conditions, phases), OwnerSubject).tell()
    assert ending.broken is None
    return ending.virtual_ms


@pytest.mark.parametrize("seed", range(3_000, 3_012))
def test_stories_of_cooperative_clients_that_wait_to_be_called_break_no_law(seed: int) -> None:
    """After every kind of fault the living come to rest, and every partition has an owner, whoever waits for whom."""
    schedule = draw_schedule(seed)
    phases = tuple(replace(phase, acts=tuple(map(_made_shy, phase.acts))) for phase in schedule.phases)
    ending = Telling(replace(schedule, phases=phases), OwnerSubject).tell()
    assert ending.broken is None


def _made_shy(act: Act) -> Act:
    """Every client of the story is one that waits."""
    return replace(act, name=SHY[act.place % len(SHY)]) if act.name in TEMPERAMENTS else act
