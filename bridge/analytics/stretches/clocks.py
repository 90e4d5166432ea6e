"""When each run began, and whether its wall clock ever stood otherwise to its monotonic one."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class RunClocks:
    """Of events of a run: the least number, the wall clock of that event, and by how much the wall clock was ahead of
    the monotonic one, at least and at most.
    """

    boot: str
    number: int
    wall_us: int
    least_lag_us: int
    most_lag_us: int

    def beside(self, other: "RunClocks") -> "RunClocks":
        """Of these events and of others of the same run."""
        return replace(
            self if self.number < other.number else other,
            least_lag_us=min(self.least_lag_us, other.least_lag_us),
            most_lag_us=max(self.most_lag_us, other.most_lag_us),
        )


def clocks_of(events: pa.RecordBatch) -> list[RunClocks]:
    """Those of each run of which events are there."""
    return [_of_run(str(boot), events) for boot in pc.unique(events["boot"]).to_pylist()]


def _of_run(boot: str, events: pa.RecordBatch) -> RunClocks:
    number, wall_us, mono_us = (
        events[name].filter(pc.equal(events["boot"], boot)) for name in ("number", "wall_us", "mono_us")
    )
    ends = pc.min_max(pc.subtract(wall_us, mono_us)).as_py()
    least = pc.min(number)
    return RunClocks(boot, least.as_py(), wall_us[pc.index(number, least).as_py()].as_py(), ends["min"], ends["max"])


def by_run(clocks: Iterable[RunClocks]) -> dict[str, RunClocks]:
    """One for each run."""
    runs: dict[str, RunClocks] = {}
    for one in clocks:
        runs[one.boot] = one.beside(runs[one.boot]) if one.boot in runs else one
    return runs
