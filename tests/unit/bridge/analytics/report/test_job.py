"""The job that writes the report."""

from pathlib import Path

import pytest

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.report.job import require_tables, write_report
from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables.definitions import REBALANCES
from bridge.analytics.tables.store import Store


def test_report_lies_beside_the_tables(store: Store) -> None:
    """A page and Markdown."""
    row = "'orders' group_id", "'r1' rebalance_id", "1L began_us", "date '2025-11-21' as date"
    store.replace(REBALANCES, conform(REBALANCES, store.spark.range(1).selectExpr(*row)))
    require_tables(store.root)
    assert [path.name for path in write_report(store, Path(store.root), None)] == ["report.html", "report.md"]
    written = write_report(store, Path(store.root), "orders")
    assert [path.name for path in written] == ["report-orders.html", "report-orders.md"]
    assert all("Rebalances of orders" in path.read_text(encoding="utf-8") for path in written)
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-010: .*'payments'.* of orders;"):
        write_report(store, Path(store.root), "payments")


def test_group_of_any_name_has_a_file_of_its_own(store: Store) -> None:
    """A name that the file system can't show becomes one that it can, and never another group's."""
    names = ("a/b", "a_b", "ä" * 249)
    rows = ", ".join(f"('{name}', 'r1', 1L)" for name in names)
    chosen = f"select *, date '2025-11-21' as date from values {rows} as t(group_id, rebalance_id, began_us)"
    store.replace(REBALANCES, conform(REBALANCES, store.spark.sql(chosen)))
    files = [write_report(store, Path(store.root), name)[0] for name in names]
    assert len(set(files)) == len(names)
    assert all(path.parent == Path(store.root) and len(path.name) < 200 for path in files)


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
