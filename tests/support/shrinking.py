"""Stories that broke a law, of either simulated world: made as short as they can be, and told."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from tests.support.moves_simulation.schedule import Act as MoveAct
from tests.support.moves_simulation.schedule import Schedule as MoveSchedule
from tests.support.simulation.oracle import InvariantBroken
from tests.support.simulation.schedule import Act, Schedule

ScheduleT = TypeVar("ScheduleT", Schedule, MoveSchedule)
TRACE_SHOWN = 40


def shrink(schedule: ScheduleT, breaks: Callable[[ScheduleT], bool], tries_max: int) -> ScheduleT:
    """Leave out whatever can be left out while `breaks` still says yes; at most `tries_max` stories are run."""
    tries = 0
    smaller = True
    while smaller:
        smaller = False
        for candidate in _candidates(schedule):
            tries += 1
            if tries > tries_max:
                return schedule
            if breaks(candidate):
                schedule, smaller = candidate, True
                break
    return schedule


def _candidates(schedule: ScheduleT) -> Iterator[ScheduleT]:
    """Every story with one phase or one act less, later ones first: the end of a story explains it least."""
    phases = schedule.phases
    for place in reversed(range(len(phases))):
        yield replace(schedule, phases=phases[:place] + phases[place + 1 :])
    for place, phase in reversed(list(enumerate(phases))):
        for number in reversed(range(len(phase.acts))):
            fewer = replace(phase, acts=phase.acts[:number] + phase.acts[number + 1 :])
            if fewer.acts:
                yield replace(schedule, phases=tuple(fewer if at == place else one for at, one in enumerate(phases)))


def told(
    schedule: Schedule | MoveSchedule, first: InvariantBroken | None, last: InvariantBroken | None, trace: Sequence[str]
) -> str:
    """Everything that is needed to look into a story: the law it broke at first, and as it is left, and what was last
    seen.
    """
    acts = [f"  {'calm' if phase.is_calm else 'storm'} {_line(act)}" for phase in schedule.phases for act in phase.acts]
    return "\n".join(
        (
            f"seed {schedule.seed}: {first}",
            f"shrunk to {len(acts)} acts under {schedule.conditions}: {last}",
            *acts,
            "last events:",
            *trace[-TRACE_SHOWN:],
        )
    )


def _line(act: Act | MoveAct) -> str:
    places = act.places if isinstance(act, MoveAct) and act.places else ""
    return f"{act.at_ms:>6} {act.action.value} place {act.place} {act.name} {act.amount} {places}".rstrip()
