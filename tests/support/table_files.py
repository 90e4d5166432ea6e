"""Tables written as files without Spark, for tests of what only reads them.

It must not know what is tested.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bridge.analytics.engines.duckdb_views import DuckDbViews, open_views
from bridge.analytics.tables.definitions import DATE, ColumnType, Table

Record = Mapping[str, object]
TYPES: Mapping[ColumnType, pa.DataType] = {
    ColumnType.TEXT: pa.string(),
    ColumnType.NUMBER: pa.int64(),
    ColumnType.FLAG: pa.bool_(),
    ColumnType.TEXTS: pa.list_(pa.string()),
    ColumnType.NUMBERS: pa.list_(pa.int64()),
    ColumnType.DATE: pa.date32(),
}
DAY = date(2025, 11, 21)


def write_rows(root: Path, table: Table, rows: Iterable[Record], day: date = DAY) -> None:
    """Put rows, of which only some columns matter, in the place of those of a day; the other columns are null."""
    schema = pa.schema([(column.name, TYPES[column.type]) for column in table.columns if column.name != DATE])
    folder = root / table.name / f"{DATE}={day}"
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], schema=schema), folder / "part-0.parquet")


def duckdb_over(root: Path, tables: Mapping[Table, Iterable[Record]]) -> DuckDbViews:
    """DuckDB's views of these rows; a table that is not named is empty."""
    for table, rows in tables.items():
        write_rows(root, table, rows)
    return open_views(str(root), None, None, {})
