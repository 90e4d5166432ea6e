"""Where the metrics read: every part of the bridge that counts, and the owners of groups, one a road, added up."""

from collections.abc import Iterable, Sequence
from platform import python_version
from typing import Protocol

from bridge.app.bridges import contested, others
from bridge.app.events import Watch
from bridge.app.views import AppSnapshots
from bridge.config.configuration import Config
from bridge.coordinators.embedded.groups import EmbeddedGroups
from bridge.coordinators.owner_task import OwnerState
from bridge.coordinators.turn_times import BOUNDS_NS, TimeTally, TurnTimes
from bridge.net.cluster import OWN_SOFTWARE
from bridge.net.proxy import Proxy
from bridge.telemetry.logs import dropped_lines, told_bugs
from bridge.telemetry.metrics import CoordinatorFigures, Readings, TimeFigures

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


def metric_readings(
    config: Config, groups: EmbeddedGroups, proxy: Proxy, watch: Watch, snapshots: AppSnapshots
) -> Readings:
    """What is asked at every scrape, but for the admin API's refusals and the coordinators."""
    return Readings(
        statistics=proxy.statistics,
        groups=snapshots.counts,
        passing=watch.passing(),
        conversions=lambda: groups.log.conversions,
        offsets_changed=lambda: groups.offsets.changes,
        is_ready=lambda: proxy.is_ready,
        bridges=lambda: others(groups),
        contested=lambda: contested(groups),
        events=watch.event_counts,
        missed=watch.missed_counts,
        failures=lambda: groups.supervised.counts,
        bugs=told_bugs,
        log_lines_dropped=dropped_lines,
        build={"version": OWN_SOFTWARE.version, "python": python_version()},
        settings=config.numbers(),
        started_s=watch.started_s,
        rebalances=watch.figures.rebalances,
        times=watch.figures.times,
    )


def _sum(tallies: Iterable[TimeTally]) -> TimeFigures:
    known = tuple(tallies)
    return TimeFigures(
        bounds_s=tuple(bound / SECOND_NS for bound in BOUNDS_NS),
        counts=tuple(sum(column) for column in zip(*(tally.counts for tally in known), strict=True)),
        sum_s=sum(tally.total_ns for tally in known) / SECOND_NS,
    )
