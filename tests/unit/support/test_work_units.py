"""How tests are shared between processes. It must not start a process."""

import pytest

from tests.support.work_units import BUSY, LONGEST_FIRST, TOGETHER, next_unit, rank, work_unit


@pytest.mark.parametrize(
    ("node_id", "unit"),
    [
        ("tests/unit/bridge/wire/test_frames.py::test_a[1::2]", "tests/unit/bridge/wire/test_frames.py"),
        ("tests/pipeline/test_run.py::test_a", "spark"),
        ("tests/unit/bridge/analytics/tables/test_daily.py::test_a", "spark"),
        ("tests/unit/bridge/analytics_more/test_a.py::test_a", "tests/unit/bridge/analytics_more/test_a.py"),
        ("tests/conformance/wire/test_replay.py::test_a", "wire"),
    ],
)
def test_test_stays_with_its_file_or_its_folder(node_id: str, unit: str) -> None:
    """A file is never torn apart, as its fixtures may live as long as its module."""
    assert work_unit(node_id) == unit


def test_folders_that_wait_come_first() -> None:
    """Then what takes a core, and all others after them, with one another as they come."""
    paths = ["tests/unit/a.py::t", "tests/endtoend/b.py::t", "tests/pipeline/c.py::t", "tests/properties/d.py::t"]
    paths.append("tests/suites/e.py::t")
    assert sorted(paths, key=rank) == [paths[2], paths[1], paths[3], paths[0], paths[4]]


def test_one_process_waits_while_the_other_works() -> None:
    """Until nothing is left that takes a core for minutes: then both take what comes next."""
    waiting = ["spark", "tests/endtoend/test_a.py", "tests/properties/test_b.py", "tests/unit/test_c.py"]
    assert next_unit(waiting, is_first=True) == "spark"
    assert next_unit(waiting, is_first=False) == "tests/properties/test_b.py"
    assert next_unit([waiting[1], waiting[3]], is_first=False) == "tests/endtoend/test_a.py"


def test_every_folder_named_is_there(pytestconfig: pytest.Config) -> None:
    """A folder that moved would lose its place without a word."""
    assert [name for name in (*TOGETHER, *LONGEST_FIRST, *BUSY) if not (pytestconfig.rootpath / name).is_dir()] == []
