"""Many seeds, and a report of what broke: seed, law, shrunk story, last events."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.support.shrinking import shrink, told
from tests.support.simulation.drawing import draw_schedule
from tests.support.simulation.schedule import Schedule
from tests.support.simulation.story import Outcome, StoryRun
from tests.support.simulation.subject import MakeSubject

TRIES_MAX = 300


@dataclass(frozen=True, slots=True)
class Failure:
    """A seed that broke a law, as it ended at first and in its shrunk form."""

    outcome: Outcome
    schedule: Schedule
    shrunk: Outcome

    def report(self) -> str:
        """Everything that is needed to look into it."""
        return told(self.schedule, self.outcome.broken, self.shrunk.broken, self.shrunk.trace)


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

    shrunk = shrink(draw_schedule(outcome.seed), breaks, TRIES_MAX)
    return Failure(outcome, shrunk, StoryRun(shrunk, make_subject).run())
