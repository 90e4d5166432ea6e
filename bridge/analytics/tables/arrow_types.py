"""Arrow's types for our tables, generated from their definitions: what files have that are written without Spark."""

from collections.abc import Mapping

import pyarrow as pa

from bridge.analytics.tables.definitions import ColumnType, Table

ARROW_TYPES: Mapping[ColumnType, pa.DataType] = {
    ColumnType.TEXT: pa.string(),
    ColumnType.NUMBER: pa.int64(),
    ColumnType.FLAG: pa.bool_(),
    ColumnType.TEXTS: pa.list_(pa.string()),
    ColumnType.NUMBERS: pa.list_(pa.int64()),
    ColumnType.DATE: pa.date32(),
}


def arrow_schema(table: Table) -> pa.Schema:
    """The schema of one table."""
    return pa.schema([(column.name, ARROW_TYPES[column.type]) for column in table.columns])
