"""Where there are tables, and where there are none."""

from pathlib import Path

import pytest

from bridge.analytics.engines.table_files import require_tables
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.tables.current_files import BEFORE


def test_tables_that_were_being_taken_over_are_tables(tmp_path: Path) -> None:
    """Whoever opens them does the rest."""
    (tmp_path / BEFORE).mkdir()
    require_tables(str(tmp_path))


def test_tables_that_were_being_put_in_place_are_tables(tmp_path: Path) -> None:
    """By a version before Delta that was ended: who opens them says what to do."""
    (tmp_path / "_next").mkdir()
    (tmp_path / "_next" / "moves-anew").write_text("[]")
    require_tables(str(tmp_path))


def test_folder_without_tables_is_one_sentence(tmp_path: Path) -> None:
    """Or on another machine."""
    for out in (str(tmp_path), "hdfs://cluster/tables"):
        with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-009: .*epochbridge analytics run"):
            require_tables(out)
