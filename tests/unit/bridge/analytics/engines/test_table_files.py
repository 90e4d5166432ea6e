"""The files of a table, and where there are none."""

from pathlib import Path

import pytest

from bridge.analytics.engines.table_files import UNSETTLED, require_tables, settled_files
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.tables.definitions import STALLS
from bridge.analytics.tables.placing import NOTE
from bridge.analytics.tables.store import NEXT
from tests.support.table_files import write_rows


def test_files_are_those_of_the_table(tmp_path: Path) -> None:
    """None where there is no table."""
    write_rows(tmp_path, STALLS, [{"group_id": "g"}])
    assert [Path(path).parts[-3:] for path in settled_files(str(tmp_path), STALLS)] == [
        ("stalls", "date=2025-11-21", "part-0.parquet")
    ]
    assert settled_files(str(tmp_path / "nowhere"), STALLS) == ()


def test_tables_that_change_places_are_not_read(tmp_path: Path) -> None:
    """What is missing for a moment would be an empty table."""
    assert f"{NEXT}/{NOTE}*" == UNSETTLED
    (tmp_path / NEXT).mkdir()
    (tmp_path / NEXT / f"{NOTE}anew").write_text("[]")
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-051: .*--engine spark"):
        settled_files(str(tmp_path), STALLS)


def test_tables_that_a_killed_run_was_putting_in_place_are_tables(tmp_path: Path) -> None:
    """Whoever opens them puts the rest there."""
    (tmp_path / "_next").mkdir()
    (tmp_path / "_next" / "moves-anew").write_text("[]")
    require_tables(str(tmp_path))


def test_folder_without_tables_is_one_sentence(tmp_path: Path) -> None:
    """Or on another machine."""
    for out in (str(tmp_path), "hdfs://cluster/tables"):
        with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-009: .*epochbridge analytics run"):
            require_tables(out)
