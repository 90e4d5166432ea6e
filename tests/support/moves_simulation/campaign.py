"""Many seeds of moves, and a report of what broke: seed, law, shrunk story, last events."""

from collections.abc import Iterable
from dataclasses import dataclass

from tests.support.moves_simulation.schedule import Schedule, draw_schedule
from tests.support.moves_simulation.story import Outcome, run_seed, run_story
from tests.support.shrinking import shrink, told

TRIES_MAX = 60


@dataclass(frozen=True, slots=True)
class Failure:
    """A seed that broke a law, as it ended at first and in its shrunk form."""

    outcome: Outcome
    schedule: Schedule
    shrunk: Outcome

    def report(self) -> str:
        """Everything that is needed to look into it."""
        return "moves, " + told(self.schedule, self.outcome.broken, self.shrunk.broken, self.shrunk.trace)


def run_seeds(seeds: Iterable[int]) -> tuple[list[Outcome], list[Failure]]:
    """Tell the story of each seed; those that break a law are shrunk."""
    outcomes = [run_seed(seed) for seed in seeds]
    return outcomes, [_fail(outcome) for outcome in outcomes if outcome.broken is not None]


def _fail(outcome: Outcome) -> Failure:
    assert outcome.broken is not None
    law = outcome.broken.law

    def breaks(candidate: Schedule) -> bool:
        broken = run_story(candidate).broken
        return broken is not None and broken.law == law

    shrunk = shrink(draw_schedule(outcome.seed), breaks, TRIES_MAX)
    return Failure(outcome, shrunk, run_story(shrunk))
