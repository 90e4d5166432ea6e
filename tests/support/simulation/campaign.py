"""Many seeds, and a report of what broke: seed, law, shrunk story, last events."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from tests.support.simulation.drawing import draw_schedule
from tests.support.simulation.schedule import Schedule
from tests.support.simulation.story import Outcome, StoryRun
from tests.support.simulation.subject import MakeSubject

Breaks = Callable[[Schedule], bool]
TRIES_MAX = 300


def shrink(schedule: Schedule, breaks: Breaks, tries_max: int = TRIES_MAX) -> Schedule:
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
            f" {act.name} {act.amount}".rstrip()
            for phase in self.schedule.phases
            for act in phase.acts
        ]
        return "\n".join(
            (
                f"seed {self.outcome.seed}: {self.outcome.broken}",
                f"shrunk to {len(acts)} acts under {self.schedule.conditions}: {self.shrunk.broken}",
                *acts,
                "last events:",
                *self.shrunk.trace[-TRACE_SHOWN:],
            )
        )


FRESH_SEEDS = 10**9
BATCH = 2_000
"""How many stories a batch has that nobody told before."""


def choose_seeds(seed: int | None, count: int | None, draw: Callable[[int], int]) -> range:
    """The seeds of a run: `seed` alone, or `count` from it on; without one a batch from one drawn below a limit on.

    Told again with `--seed` and `--count` as they are printed, it is the same run.
    """
    if seed is None:
        first = draw(FRESH_SEEDS)
        return range(first, first + (count or BATCH))
    return range(seed, seed + (count or 1))


def run_seed(seed: int, make_subject: MakeSubject) -> Outcome:
    """Tell the story of a seed."""
    return StoryRun(draw_schedule(seed), make_subject).run()


def run_seeds(seeds: Iterable[int], make_subject: MakeSubject) -> tuple[list[Outcome], list[Failure]]:
    """Tell the story of each seed; those that break a law are shrunk."""
    outcomes: list[Outcome] = []
    failures: list[Failure] = []
    for seed in seeds:
        outcome = run_seed(seed, make_subject)
        outcomes.append(outcome)
        if outcome.broken is not None:
            failures.append(_fail(outcome, make_subject))
    return outcomes, failures


def _fail(outcome: Outcome, make_subject: MakeSubject) -> Failure:
    assert outcome.broken is not None
    law = outcome.broken.law

    def breaks(candidate: Schedule) -> bool:
        broken = StoryRun(candidate, make_subject).run().broken
        return broken is not None and broken.law == law

    shrunk = shrink(draw_schedule(outcome.seed), breaks)
    return Failure(outcome, shrunk, StoryRun(shrunk, make_subject).run())
