"""The tables as a page of the docs, drawn from their definitions."""

from collections.abc import Iterator

from bridge.analytics.tables.definitions import ON_DEMAND, TABLES, Column, Table
from bridge.telemetry.schema.fields import SCHEMA_VERSION

SPARK_NAMES = {
    "text": "string",
    "number": "bigint",
    "flag": "boolean",
    "texts": "array of string",
    "numbers": "array of bigint",
    "date": "date",
}


def table_pages() -> str:
    """Every table with every column, as Markdown."""
    lines = [f"Schema version of the event log: {SCHEMA_VERSION}.", ""]
    for table in (*TABLES.values(), *ON_DEMAND):
        lines += _lines(table)
    return "\n".join(lines).rstrip()


def _lines(table: Table) -> Iterator[str]:
    yield f"### `{table.name}`"
    yield ""
    yield f"{table.meaning[0].upper()}{table.meaning[1:]}. Unique by {', '.join(f'`{name}`' for name in table.key)}."
    yield ""
    yield "| column | type | meaning |"
    yield "|---|---|---|"
    yield from (_row(column) for column in table.columns)
    yield ""


def _row(column: Column) -> str:
    return f"| `{column.name}` | {SPARK_NAMES[column.type]} | {column.meaning} |"
