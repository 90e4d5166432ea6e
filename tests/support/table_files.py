"""Tables written as files without Spark, for tests of what only reads them.

It must not know what is tested.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bridge.analytics.engines.duckdb_views import DuckDbViews, open_views
from bridge.analytics.tables.arrow_types import arrow_schema
from bridge.analytics.tables.definitions import DATE, Table
from bridge.analytics.tables.table_log import DataFile, TableLog

Record = Mapping[str, object]
DAY = date(2025, 11, 21)


def write_rows(root: Path, table: Table, rows: Iterable[Record], day: date = DAY) -> None:
    """Put rows, of which only some columns matter, in the place of those of a day; the other columns are null."""
    schema = pa.schema([field for field in arrow_schema(table) if field.name != DATE])
    log = TableLog(f"{root}/{table.name}", table)
    path = f"{DATE}={day}/part-{log.version or 0}.parquet"
    file = root / table.name / path
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], schema=schema), file)
    fresh = DataFile(path=path, size_bytes=file.stat().st_size, day=str(day))
    log.commit([fresh], [known for known in log.files() if known.day == str(day)])


def duckdb_over(root: Path, tables: Mapping[Table, Iterable[Record]]) -> DuckDbViews:
    """DuckDB's views of these rows; a table that is not named is empty."""
    for table, rows in tables.items():
        write_rows(root, table, rows)
    return open_views(str(root), None, None, {})
