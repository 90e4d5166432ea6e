"""How a run is shared between processes (`pytest -n 2`): which tests stay together, and which come first."""

from pathlib import PurePosixPath

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

SPARK = "spark"
TOGETHER = {"tests/pipeline": SPARK, "tests/unit/bridge/analytics": SPARK, "tests/conformance/wire": "wire"}
"""Folders whose tests share something that takes long to start: a Spark session, brokers with many topics."""
LONGEST_FIRST = ("tests/pipeline", "tests/unit/bridge/analytics", "tests/endtoend", "tests/conformance")
"""What waits for brokers and clients begins first, so that no process is left with it alone at the end."""


def work_unit(node_id: str) -> str:
    """Return the name of what must run in one process and in one piece with this test: its file, or its folder."""
    file = node_id.partition("::")[0]
    units = (unit for folder, unit in TOGETHER.items() if PurePosixPath(file).is_relative_to(folder))
    return next(units, file)


def rank(node_id: str) -> int:
    """Return where the test's folder stands in the order of a run."""
    path = PurePosixPath(node_id.partition("::")[0])
    places = (place for place, folder in enumerate(LONGEST_FIRST) if path.is_relative_to(folder))
    return next(places, len(LONGEST_FIRST))


class WorkUnitScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist ships no types that mypy may read
    """Shares tests by work units. A test in which its process ended has failed: xdist would have every next process run
    it anew, and each would hang in it until its time is over.
    """

    def _split_scope(self, nodeid: str) -> str:
        return work_unit(nodeid)

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
