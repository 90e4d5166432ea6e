"""Both engines answer every question of a report alike."""

from pathlib import Path

from bridge.analytics.engines.spark_views import views_of
from bridge.analytics.report.facts import report_facts
from bridge.analytics.report.questions import spread_of
from bridge.analytics.tables.definitions import PHASES
from bridge.analytics.tables.store import Store
from tests.support.spark import python_nodes
from tests.support.table_files import duckdb_over
from tests.support.table_samples import sample_tables


def test_engines_give_equal_figures(store: Store) -> None:
    """With nulls and equal values among the rows."""
    by_duckdb = report_facts(duckdb_over(Path(store.root), sample_tables(seed=20)), None)
    assert by_duckdb == report_facts(views_of(store), None)
    assert all((by_duckdb.phases, by_duckdb.members, by_duckdb.culprits, by_duckdb.causes, by_duckdb.heat.groups))
    assert {one.stall is None for one in by_duckdb.changes} == {False}


def test_spread_is_exact(tmp_path: Path) -> None:
    """Median and maximum."""
    views = duckdb_over(tmp_path, {PHASES: [{"duration_us": us} for us in (1, 2, 9)]})
    (found,) = views.ask(f"SELECT {spread_of('duration_us')} FROM phases", lambda row: row.values)
    assert found == {"n": 3, "p50": 2, "p95": 8, "most": 9}


def test_no_python_runs_in_spark(store: Store) -> None:
    """Native expressions only."""
    assert python_nodes(views_of(store).frame(f"SELECT {spread_of('stall_us')} FROM stalls")) == []
