"""The smallest story that still breaks the same law: phases and acts are left out, greedily.

It must not know what the acts do.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from bridge.simulation.schedule import Schedule

Breaks = Callable[[Schedule], bool]
TRIES_MAX = 300


def shrink(schedule: Schedule, breaks: Breaks, tries_max: int = TRIES_MAX) -> Schedule:
    """Leave out whatever can be left out while `breaks` still says yes; at most `tries_max` stories are told."""
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


def _candidates(schedule: Schedule) -> Iterator[Schedule]:
    """Every story with one phase or one act less, later ones first: the end of a story explains it least."""
    phases = schedule.phases
    for index in reversed(range(len(phases))):
        yield replace(schedule, phases=phases[:index] + phases[index + 1 :])
    for index, phase in reversed(list(enumerate(phases))):
        for number in reversed(range(len(phase.acts))):
            fewer = replace(phase, acts=phase.acts[:number] + phase.acts[number + 1 :])
            if fewer.acts:
                yield replace(schedule, phases=(*phases[:index], fewer, *phases[index + 1 :]))
