"""The page of the tables."""

from bridge.analytics.tables.definitions import TABLES, ColumnType
from deploy.table_pages import SPARK_NAMES, table_pages


def test_page_names_every_table_and_column() -> None:
    """Generated: what is added to a table is on its page."""
    page = table_pages()
    missing = [
        (name, column)
        for name, table in TABLES.items()
        for column in table.column_names
        if f"| `{column}` |" not in page or f"### `{name}`" not in page
    ]
    assert missing == []


def test_every_type_has_its_name() -> None:
    """As Spark shows it."""
    assert set(SPARK_NAMES) == set(ColumnType)
