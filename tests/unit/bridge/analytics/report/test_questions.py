"""Both engines answer every question of a report alike."""

from pathlib import Path

from bridge.analytics.engines.spark_views import views_of
from bridge.analytics.engines.views import SUM_MAX
from bridge.analytics.report.facts import report_facts
from bridge.analytics.report.page import page
from bridge.analytics.report.questions import spread_of
from bridge.analytics.tables.definitions import MEMBERS, PHASES, REBALANCES, STALLS
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


def test_engines_give_equal_figures_of_clocks_that_are_far_apart(store: Store) -> None:
    """Between runs the wall clock counts: stalls of a bridge that began in 1970 add up to more than a column holds."""
    far_us, key = 250_000 * 10**12, {"group_id": "g", "member_id": "anna"}
    tables = {
        STALLS: [{**key, "before": "anna", "stall_us": far_us, "released_us": 5, "fetched_us": 7}] * 50,
        REBALANCES: [{**key, "critical_member": "anna", "waited_us": far_us, "moved": far_us, "began_us": 1}] * 50,
        PHASES: [{**key, "phase": "joining", "protocol": "x", "duration_us": far_us, "is_closed": True}] * 50,
        MEMBERS: [{**key, "departure": "session-expired", "began_us": 1, "ended_us": 5, "protocol": "classic"}],
    }
    by_duckdb = report_facts(duckdb_over(Path(store.root), tables), None)
    assert by_duckdb == report_facts(views_of(store), None)
    assert by_duckdb.heat.stall_us == [[SUM_MAX]]
    assert [(one.waited_us, one.stall_us) for one in by_duckdb.culprits] == [(SUM_MAX, SUM_MAX)]
    assert [(one.total_us, one.spread.p50_us) for one in by_duckdb.members] == [(SUM_MAX, far_us)]
    assert [(one.rebalances, one.moved, one.told) for one in by_duckdb.causes] == [(50, SUM_MAX, 0)]
    assert page(by_duckdb)


def test_spread_is_exact(tmp_path: Path) -> None:
    """Median and maximum."""
    views = duckdb_over(tmp_path, {PHASES: [{"duration_us": us} for us in (1, 2, 9)]})
    (found,) = views.ask(f"SELECT {spread_of('duration_us')} FROM phases", lambda row: row.values)
    assert found == {"n": 3, "p50": 2, "p95": 8, "most": 9}


def test_no_python_runs_in_spark(store: Store) -> None:
    """Native expressions only."""
    assert python_nodes(views_of(store).frame(f"SELECT {spread_of('stall_us')} FROM stalls")) == []
