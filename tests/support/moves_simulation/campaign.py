"""Many seeds of moves, and a report of what broke: seed, law, shrunk story, last events."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tests.support.moves_simulation.schedule import Schedule, draw_schedule
from tests.support.moves_simulation.story import Outcome, run_seed, run_story

TRIES_MAX = 60
TRACE_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Failure:
    """A seed that broke a law, as it ended at first and in its shrunk form."""

    outcome: Outcome
    schedule: Schedule
    shrunk: Outcome

    def report(self) -> str:
        """Everything that is needed to look into it."""
        acts = [
            f"  {'calm' if phase.is_calm else 'storm'} {act.at_ms:>6} {act.action.value} place {act.place}"
            f" {act.name} {act.amount} {act.places or ''}".rstrip()
            for phase in self.schedule.phases
            for act in phase.acts
        ]
        return "\n".join(
            (
                f"moves, seed {self.outcome.seed}: {self.outcome.broken}",
                f"shrunk to {len(acts)} acts under {self.schedule.conditions}: {self.shrunk.broken}",
                *acts,
                "last events:",
                *self.shrunk.trace[-TRACE_SHOWN:],
            )
        )


def run_seeds(seeds: Iterable[int]) -> tuple[list[Outcome], list[Failure]]:
    """Tell the story of each seed; those that break a law are shrunk."""
    outcomes = [run_seed(seed) for seed in seeds]
    return outcomes, [_fail(outcome) for outcome in outcomes if outcome.broken is not None]


def _fail(outcome: Outcome) -> Failure:
    assert outcome.broken is not None
    law = outcome.broken.law
    schedule, shrunk = draw_schedule(outcome.seed), outcome
    tries, smaller = 0, True
    while smaller:
        smaller = False
        for candidate in _candidates(schedule):
            tries += 1
            if tries > TRIES_MAX:
                return Failure(outcome, schedule, shrunk)
            told = run_story(candidate)
            if told.broken is not None and told.broken.law == law:
                schedule, shrunk, smaller = candidate, told, True
                break
    return Failure(outcome, schedule, shrunk)


def _candidates(schedule: Schedule) -> Iterator[Schedule]:
    """Every story with one phase or one act less, later ones first."""
    phases = schedule.phases
    for index in reversed(range(len(phases))):
        yield replace(schedule, phases=phases[:index] + phases[index + 1 :])
    for index, phase in reversed(list(enumerate(phases))):
        for number in reversed(range(len(phase.acts))):
            fewer = replace(phase, acts=phase.acts[:number] + phase.acts[number + 1 :])
            if fewer.acts:
                yield replace(schedule, phases=(*phases[:index], fewer, *phases[index + 1 :]))
