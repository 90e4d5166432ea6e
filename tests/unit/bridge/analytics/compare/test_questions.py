"""Both engines choose the same arms."""

from pathlib import Path

import pytest

from bridge.analytics.compare.questions import CHOSEN, HOUR_US, arms, values
from bridge.analytics.compare.samples import Choice, Measure, UnitKind, rows_of, sample
from bridge.analytics.engines.spark_views import views_of
from bridge.analytics.tables.definitions import MEMBERS, PHASES
from bridge.analytics.tables.store import Store
from bridge.migration.canary.pairing import Unit
from tests.support.spark import python_nodes
from tests.support.table_files import duckdb_over
from tests.support.table_samples import sample_tables

CLASSIC, CONSUMER = "protocol = 'classic' -- the old one", "protocol = 'consumer' OR member_id = 'nobody'"


@pytest.mark.parametrize("unit", UnitKind)
@pytest.mark.parametrize("measure", Measure)
def test_engines_give_equal_samples(store: Store, measure: Measure, unit: UnitKind) -> None:
    """With nulls and equal values among the rows, and every value of a unit in the same order."""
    treatment = CONSUMER if measure is Measure.MEMBER else "protocol = 'consumer'"
    choice = Choice(control=CLASSIC, treatment=treatment, measure=measure, unit=unit)
    by_duckdb = sample(duckdb_over(Path(store.root), sample_tables(seed=20)), choice)
    assert by_duckdb == sample(views_of(store), choice)
    assert len(by_duckdb.units) > 10


def test_span_that_ends_before_it_began_is_of_the_hour_in_which_it_began(store: Store) -> None:
    """A wall clock that was set back by hours. Spark refuses a sequence that goes backwards."""
    span = {"group_id": "g", "member_id": "anna", "protocol": "classic", "began_us": 5 * HOUR_US + 7, "ended_us": 9}
    treated = span | {"member_id": "ben", "protocol": "consumer", "ended_us": 5 * HOUR_US + 8}
    tables = {**sample_tables(seed=20), MEMBERS: [span, treated], PHASES: []}
    choice = Choice(control=CLASSIC, treatment=CONSUMER, unit=UnitKind.GROUP_HOUR)
    found = sample(duckdb_over(Path(store.root), tables), choice).units
    assert found == (Unit(at_us=5 * HOUR_US, control=(0.0,), treatment=(0.0,)),)
    assert sample(views_of(store), choice).units == found


@pytest.mark.parametrize(
    ("measure", "unit"), [(Measure.MEMBER, UnitKind.GROUP_HOUR), (Measure.PARTITION, UnitKind.REBALANCE)]
)
def test_no_python_runs_in_spark(store: Store, measure: Measure, unit: UnitKind) -> None:
    """Native expressions only."""
    choice = Choice(control=CLASSIC, treatment="false", measure=measure, unit=unit)
    question = arms(rows_of(choice), choice.control, choice.treatment)
    assert python_nodes(views_of(store).frame(question)) == []


def test_values_of_a_unit_are_in_an_order_that_says_nothing_of_them(tmp_path: Path) -> None:
    """Who they are decides, by a digest: what somebody waited may change everything but that."""
    tables = sample_tables(seed=20)
    choice = Choice(control="true", treatment="false")
    orders = []
    for name, factor in (("first", 1), ("second", -1)):
        phases = [{**row, "duration_us": factor * int(str(row["duration_us"] or 0))} for row in tables[PHASES]]
        views = duckdb_over(tmp_path / name, {**tables, PHASES: phases})
        views.keep(CHOSEN, arms(rows_of(choice), choice.control, choice.treatment))
        orders.append(
            [abs(row) for row in views.ask(values(("member_id", "protocol")), lambda row: row.number("waited_us"))]
        )
    assert orders[0] == orders[1]
