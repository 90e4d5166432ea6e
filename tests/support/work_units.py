"""How a run is shared between processes (`pytest -n 2`): which tests stay together, and which come first."""

from collections.abc import Iterable
from pathlib import PurePosixPath

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

SPARK = "spark"
TOGETHER = {"tests/pipeline": SPARK, "tests/unit/bridge/analytics": SPARK, "tests/conformance/wire": "wire"}
"""Folders whose tests share something that takes long to start: a Spark session, brokers with many topics."""
LONGEST_FIRST = ("tests/pipeline", "tests/unit/bridge/analytics", "tests/endtoend", "tests/conformance")
"""What waits for brokers and clients begins first, so that no process is left with it alone at the end."""
BUSY = ("tests/simulation", "tests/properties", "tests/architecture")
"""What takes a core for minutes and waits for nobody. All processes but the first begin with it, beside tests of the
first that wait; what is left of a run then are many small files, with which all processes end at about the same time.
"""


def work_unit(node_id: str) -> str:
    """Return the name of what must run in one process and in one piece with this test: its file, or its folder."""
    file = node_id.partition("::")[0]
    units = (unit for folder, unit in TOGETHER.items() if PurePosixPath(file).is_relative_to(folder))
    return next(units, file)


def rank(node_id: str) -> int:
    """Return where the test's folder stands in the order of a run."""
    path = PurePosixPath(node_id.partition("::")[0])
    order = (*LONGEST_FIRST, *BUSY)
    return next((place for place, folder in enumerate(order) if path.is_relative_to(folder)), len(order))


def next_unit(waiting: Iterable[str], *, is_first: bool) -> str:
    """Return which of the units that wait in this order a process gets; the first process, or one of the others."""
    units = list(waiting)
    busy = (unit for unit in units if any(PurePosixPath(unit).is_relative_to(folder) for folder in BUSY))
    return units[0] if is_first else next(busy, units[0])


class WorkUnitScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist ships no types that mypy may read
    """Shares tests by work units. A test in which its process ended has failed: xdist would have every next process run
    it anew, and each would hang in it until its time is over.
    """

    def _split_scope(self, nodeid: str) -> str:
        return work_unit(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        is_first = node is next(iter(self.assigned_work), node)
        self.workqueue.move_to_end(next_unit(self.workqueue, is_first=is_first), last=False)
        super()._assign_work_unit(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """The test in which the process of this node ended, None if in none; the rest of its units is anybody's."""
        units: dict[str, dict[str, bool]] = self.assigned_work.pop(node)
        ended_in = next((test for tests in units.values() for test, is_done in tests.items() if not is_done), None)
        if ended_in is None:
            return None
        units[work_unit(ended_in)][ended_in] = True
        self.workqueue.update({unit: tests for unit, tests in units.items() if not all(tests.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return ended_in


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Share by work units; the number of tests in one says nothing about its length."""
    config.option.loadscopereorder = False
    return WorkUnitScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest folders first; within one the order stays as it was shuffled."""
    items.sort(key=lambda item: rank(item.nodeid))
