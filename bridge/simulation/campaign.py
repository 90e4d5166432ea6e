"""Many seeds, and a report of what broke: seed, law, shrunk story, last events.

It must not know laws or stories.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from bridge.simulation.drawing import draw_schedule
from bridge.simulation.schedule import Schedule
from bridge.simulation.shrinking import shrink
from bridge.simulation.subject import MakeSubject
from bridge.simulation.telling import Ending, Telling

TRACE_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Failure:
    """A seed that broke a law, as it ended at first and in its shrunk form."""

    ending: Ending
    schedule: Schedule
    shrunk: Ending

    def report(self) -> str:
        """Everything that is needed to look into it."""
        acts = [
            f"  {'calm' if phase.is_calm else 'storm'} {act.at_ms:>6} {act.deed.value} place {act.place}"
            f" {act.name} {act.amount}".rstrip()
            for phase in self.schedule.phases
            for act in phase.acts
        ]
        return "\n".join(
            (
                f"seed {self.ending.seed}: {self.ending.broken}",
                f"shrunk to {len(acts)} acts under {self.schedule.conditions}: {self.shrunk.broken}",
                *acts,
                "last events:",
                *self.shrunk.trace[-TRACE_SHOWN:],
            )
        )


def tell(seed: int, make_subject: MakeSubject) -> Ending:
    """Tell the story of a seed."""
    return Telling(draw_schedule(seed), make_subject).tell()


def run_seeds(seeds: Iterable[int], make_subject: MakeSubject) -> tuple[list[Ending], list[Failure]]:
    """Tell the story of each seed; those that break a law are shrunk."""
    endings: list[Ending] = []
    failures: list[Failure] = []
    for seed in seeds:
        ending = tell(seed, make_subject)
        endings.append(ending)
        if ending.broken is not None:
            failures.append(_fail(ending, make_subject))
    return endings, failures


def _fail(ending: Ending, make_subject: MakeSubject) -> Failure:
    assert ending.broken is not None
    law = ending.broken.law

    def breaks(candidate: Schedule) -> bool:
        broken = Telling(candidate, make_subject).tell().broken
        return broken is not None and broken.law == law

    shrunk = shrink(draw_schedule(ending.seed), breaks)
    return Failure(ending, shrunk, Telling(shrunk, make_subject).tell())
