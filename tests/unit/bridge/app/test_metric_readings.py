"""Where metrics read: owners added up."""

from dataclasses import dataclass, field

import pytest

from bridge.app.metric_readings import coordinator_figures
from bridge.coordinators.owner_task import OwnerState
from bridge.coordinators.turn_times import BOUNDS_NS, TurnTimes

SECOND_NS = 1_000_000_000


@dataclass(slots=True)
class Owner:
    """One whose clock is moved by hand."""

    state: OwnerState = OwnerState.ACTIVE
    queue_size: int = 0
    at_ns: int = 0
    times: TurnTimes = field(init=False)

    def __post_init__(self) -> None:
        """Begin to measure."""
        self.times = TurnTimes(lambda: self.at_ns)

    def work(self, busy_ns: int, until_ns: int) -> None:
        """Take one turn, then rest."""
        with self.times:
            self.at_ns += busy_ns
        self.at_ns = until_ns


def test_owners_are_added_up_and_share_one_thread() -> None:
    """Every state is told; what two owners work is idle time of neither."""
    one, other = Owner(queue_size=2), Owner(state=OwnerState.FAILED, queue_size=1)
    one.work(SECOND_NS, 10 * SECOND_NS)
    other.work(2 * SECOND_NS, 10 * SECOND_NS)
    figures = coordinator_figures((one, other))
    assert figures.by_state == {"loading": 0, "active": 1, "failed": 1}
    assert figures.queued == 3
    assert figures.idle_ratio == pytest.approx(0.7)
    assert figures.processing_time.sum_s == 3
    assert sum(figures.processing_time.counts) == 2
    assert len(figures.processing_time.counts) == len(figures.processing_time.bounds_s) + 1 == len(BOUNDS_NS) + 1
    assert figures.queue_time.sum_s == figures.load_time.sum_s == 0


def test_idle_ratio_is_never_below_zero() -> None:
    """Clocks are read one after another."""
    one, other = Owner(), Owner()
    for owner in (one, other):
        owner.work(SECOND_NS, SECOND_NS)
    assert coordinator_figures((one, other)).idle_ratio == 0
