"""The job that writes the report."""

from pathlib import Path

import pytest

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.report.job import main, write_report
from bridge.analytics.tables.definitions import REBALANCES
from tests.support.table_files import duckdb_over


def test_report_lies_beside_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A page and Markdown."""
    views = duckdb_over(tmp_path, {REBALANCES: [{"group_id": "orders", "rebalance_id": "r1", "began_us": 1}]})
    main(str(tmp_path), None, lambda: views)
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / name) for name in ("report.html", "report.md")]
    written = write_report(views, tmp_path, "orders")
    assert [path.name for path in written] == ["report-orders.html", "report-orders.md"]
    assert all("Rebalances of orders" in path.read_text(encoding="utf-8") for path in written)
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-010: .*'payments'.* of orders;"):
        write_report(views, tmp_path, "payments")


def test_group_of_any_name_has_a_file_of_its_own(tmp_path: Path) -> None:
    """A name that the file system can't show becomes one that it can, and never another group's."""
    names = ("a/b", "a_b", "ä" * 249)
    views = duckdb_over(tmp_path, {REBALANCES: [{"group_id": name, "rebalance_id": "r1"} for name in names]})
    files = [write_report(views, tmp_path, name)[0] for name in names]
    assert len(set(files)) == len(names)
    assert all(path.parent == tmp_path and len(path.name) < 200 for path in files)


def test_folder_that_takes_no_file_is_one_sentence(tmp_path: Path) -> None:
    """With what to do."""
    (tmp_path / "report.html").mkdir()
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-050: .*report\.html can't be written: .*copy the tables"):
        write_report(duckdb_over(tmp_path, {}), tmp_path, None)
