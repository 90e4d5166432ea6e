"""How tests are shared between processes. It must not start a process."""

import pytest

from tests.support.work_units import LONGEST_FIRST, TOGETHER, rank, work_unit


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
    """All others after them, with one another as they come."""
    paths = ["tests/unit/a.py::t", "tests/endtoend/b.py::t", "tests/pipeline/c.py::t", "tests/properties/d.py::t"]
    assert sorted(paths, key=rank) == [paths[2], paths[1], paths[0], paths[3]]


def test_every_folder_named_is_there(pytestconfig: pytest.Config) -> None:
    """A folder that moved would lose its place without a word."""
    assert [name for name in (*TOGETHER, *LONGEST_FIRST) if not (pytestconfig.rootpath / name).is_dir()] == []
