"""The definitions of the tables, without Spark."""

from bridge.analytics.tables.definitions import DATE, EVENTS, GAPS, REJECTED, TABLES, flag, logged, number, spell, text
from bridge.telemetry.schema.fields import COLUMNS


def test_events_hold_every_column_of_the_log() -> None:
    """Generated from the schema: a field that is added is in the table."""
    assert EVENTS.column_names[: len(COLUMNS)] == tuple(COLUMNS)


def test_table_names_each_column_once_and_has_its_key() -> None:
    """A key is made of columns of the table."""
    wrong = [
        name
        for name, table in TABLES.items()
        if len(set(table.column_names)) != len(table.columns) or not set(table.key) <= set(table.column_names)
    ]
    assert wrong == []


def test_table_is_partitioned_by_date() -> None:
    """Only what a stream writes has a batch behind the date."""
    assert {name: table.column_names.index(DATE) - len(table.columns) for name, table in TABLES.items()} == {
        name: -2 if table in {EVENTS, REJECTED, GAPS} else -1 for name, table in TABLES.items()
    }


def test_column_of_the_log_keeps_type_and_meaning() -> None:
    """One meaning per name."""
    (column,) = logged("waited_us")
    assert (column.type, column.meaning) == ("number", COLUMNS["waited_us"].meaning)


def test_columns_of_our_own() -> None:
    """The shorthands say the type."""
    assert [column.type for column in (number("a", "b"), text("a", "b"), flag("a", "b"))] == ["number", "text", "flag"]
    assert [column.name for column in spell()] == ["began_us", "ended_us", "duration_us"]
