"""What the owners of groups tell the metrics, added up: the bridge has one for each road that it coordinates."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from bridge.coordinators.owner_task import OwnerState
from bridge.coordinators.turn_times import BOUNDS_NS, TimeTally, TurnTimes
from bridge.telemetry.coordinator_metrics import CoordinatorFigures, TimeFigures

SECOND_NS = 1_000_000_000


class Measured(Protocol):
    """The task of an owner, as far as it is measured."""

    @property
    def times(self) -> TurnTimes:
        """What it measured."""
        ...

    @property
    def queue_size(self) -> int:
        """How much waits for its next turn."""
        ...

    @property
    def state(self) -> OwnerState:
        """What keeps it from deciding."""
        ...


def coordinator_figures(tasks: Sequence[Measured]) -> CoordinatorFigures:
    """All owners together; their turns share one thread, so that what is left of its time is what is idle."""
    by_state = {state.value: 0 for state in OwnerState}
    for task in tasks:
        by_state[task.state.value] += 1
    return CoordinatorFigures(
        by_state=by_state,
        queued=sum(task.queue_size for task in tasks),
        idle_ratio=max(0.0, 1.0 - sum(task.times.busy_ratio() for task in tasks)),
        queue_time=_sum(task.times.queue for task in tasks),
        processing_time=_sum(task.times.processing for task in tasks),
        load_time=_sum(task.times.loading for task in tasks),
    )


def _sum(tallies: Iterable[TimeTally]) -> TimeFigures:
    known = tuple(tallies)
    return TimeFigures(
        bounds_s=tuple(bound / SECOND_NS for bound in BOUNDS_NS),
        counts=tuple(sum(column) for column in zip(*(tally.counts for tally in known), strict=True)),
        sum_s=sum(tally.total_ns for tally in known) / SECOND_NS,
    )
