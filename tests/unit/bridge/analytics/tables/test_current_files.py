"""The files of tables, as somebody finds them who has no Spark."""

from pathlib import Path

import pytest
from pyarrow import parquet

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables.current_files import current_files
from bridge.analytics.tables.definitions import FLAPS, STORMS
from bridge.analytics.tables.store import Store


def test_files_of_a_table_hold_its_rows(store: Store) -> None:
    """All of them, by whole paths; a table that was never written has none."""
    rows = store.spark.sql("select 'g' group_id, explode(array(date '2025-11-21', date '2025-11-22')) date")
    store.replace(FLAPS, conform(FLAPS, rows))
    files = current_files(store.root, FLAPS)
    assert [Path(path).is_absolute() for path in files] == [True, True]
    assert [parquet.read_table(path)["group_id"].to_pylist() for path in files] == [["g"], ["g"]]
    assert current_files(store.root, STORMS) == ()


def test_tables_that_a_version_before_delta_was_moving_are_not_read(tmp_path: Path) -> None:
    """What is not in its place yet would be an empty table."""
    (tmp_path / "_next").mkdir()
    (tmp_path / "_next" / "moves-anew").write_text('[["_next/anew/flaps", "flaps"]]')
    with pytest.raises(AnalyticsError, match="EB-ANALYTICS-033"):
        current_files(str(tmp_path), FLAPS)
