"""Versions that belong together, without Spark."""

from pathlib import Path

from bridge.analytics.tables.definitions import FLAPS
from bridge.analytics.tables.snapshot import SNAPSHOT, pinned_log, read_snapshot, versions_of, write_snapshot
from bridge.analytics.tables.table_log import TableLog


def test_table_is_read_at_the_version_that_was_written_down(tmp_path: Path) -> None:
    """As it is now where nobody wrote one down; what is written down is there whole."""
    log = TableLog(f"{tmp_path}/flaps", FLAPS)
    log.commit([])
    assert (read_snapshot(str(tmp_path)), pinned_log(str(tmp_path), FLAPS).version) == ({}, 1)
    write_snapshot(str(tmp_path), {"versions": {"flaps": 1}, "more": "x"})
    log.commit([])
    assert pinned_log(str(tmp_path), FLAPS).version == 1
    assert read_snapshot(str(tmp_path))["more"] == "x"
    write_snapshot(str(tmp_path), {"versions": {"flaps": 2}})
    assert pinned_log(str(tmp_path), FLAPS).version == 2
    assert {path.name for path in tmp_path.iterdir()} == {SNAPSHOT, "flaps"}


def test_snapshot_of_nothing_names_no_version() -> None:
    """Every table is as it is."""
    assert versions_of({}) == {}
