"""One process at a time writes the tables below a folder."""

import os
from pathlib import Path

import pytest

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.tables.ownership import owned


def test_second_writer_is_told_who_the_first_one_is(tmp_path: Path) -> None:
    """Two streams on one --out cleared each other's batches."""
    with (
        owned(str(tmp_path)),
        pytest.raises(AnalyticsError, match=rf"^EB-ANALYTICS-014: process {os.getpid()} writes the tables in"),
        owned(str(tmp_path)),
    ):
        pytest.fail("both write")


def test_tables_are_free_when_their_writer_is_gone(tmp_path: Path) -> None:
    """The file stays, the lock does not."""
    for _ in range(2):
        with owned(str(tmp_path)):
            assert [path.name for path in tmp_path.iterdir()] == ["_writer"]


def test_folder_elsewhere_has_no_lock() -> None:
    """Nothing is made for it here."""
    with owned("hdfs://cluster/tables"), owned("hdfs://cluster/tables"):
        assert not Path("hdfs:").exists()
