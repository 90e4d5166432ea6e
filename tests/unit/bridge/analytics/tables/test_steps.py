"""Which table is made from which."""

from bridge.analytics.tables.definitions import DERIVED
from bridge.analytics.tables.steps import FROM_EVENTS, FROM_TABLES


def test_every_derived_table_has_its_step() -> None:
    """None is forgotten."""
    assert {*FROM_EVENTS, *FROM_TABLES} == {table.name for table in DERIVED}
