"""Versions that belong together, without Spark."""

import os
from pathlib import Path

import pytest

from bridge.analytics.errors import AnalyticsError
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


@pytest.mark.parametrize(
    "text",
    [b"", b'{"versions": {"fl', b"\0" * 9, b"\xff", b"[]", b'{"versions": []}', b'{"versions": {"flaps": null}}'],
)
def test_damaged_snapshot_is_one_sentence(tmp_path: Path, text: bytes) -> None:
    """Every command reads it."""
    (tmp_path / SNAPSHOT).write_bytes(text)
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-037: .*_snapshot, .*put a copy of it back, or remove it"):
        read_snapshot(str(tmp_path))


def test_snapshot_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a machine that loses its power may keep the name and not what was written."""
    held: list[tuple[int, bool]] = []
    monkeypatch.setattr(os, "fsync", lambda file: held.append((os.fstat(file).st_size, (tmp_path / SNAPSHOT).exists())))
    write_snapshot(str(tmp_path), {"versions": {"flaps": 2}})
    assert held == [((tmp_path / SNAPSHOT).stat().st_size, False)]
