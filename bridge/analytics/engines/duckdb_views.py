"""The tables as views of DuckDB's over their Parquet files: no Java, no Spark.

The only door to DuckDB. It looks for no extension, on no disk and in no network: what it needs is in its wheel.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import duckdb
from deltalake.exceptions import DeltaError

from bridge.analytics.engines.views import VIEWS, QuestionRefused, Row, Views
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.tables.current_files import current_files
from bridge.analytics.tables.definitions import DATE, ColumnType, Table
from bridge.analytics.tables.snapshot import read_snapshot

T = TypeVar("T")
SETTINGS: Mapping[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    # What memory does not hold; DuckDB's own choice is a folder where the command was given.
    "temp_directory": str(Path(tempfile.gettempdir()) / "epochbridge-duckdb"),
}
TYPES: Mapping[ColumnType, str] = {
    ColumnType.TEXT: "VARCHAR",
    ColumnType.NUMBER: "BIGINT",
    ColumnType.FLAG: "BOOLEAN",
    ColumnType.TEXTS: "VARCHAR[]",
    ColumnType.NUMBERS: "BIGINT[]",
    ColumnType.DATE: "DATE",
}
_FILE = "path_of_file"
_DAY = f"TRY_CAST(regexp_extract({_FILE}, '{DATE}=([^/]*)/[^/]*$', 1) AS DATE)"
"""Null for rows without a day, whose folder has a name that is none."""
_OF_WORDS = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
"""What DuckDB raises for words, as against files that it can't read."""
SPARK_NAMES = (
    "CREATE TEMP MACRO explode(several) AS unnest(several)",
    "CREATE TEMP MACRO sequence(first, last, step) AS generate_series(first, last, step)",
)
"""What DuckDB has under other names than Spark SQL."""


@dataclass(frozen=True, slots=True)
class DuckDbViews:
    """Views over the files of each table, by a connection of their own."""

    connection: duckdb.DuckDBPyConnection
    files: Mapping[str, tuple[str, ...]]

    def of_group(self, group: str) -> Views:
        """The same with the rows of one group only."""
        return views_over(self.files, group)

    def keep(self, name: str, question: str) -> None:
        """Answer once, as a view of that name; raise QuestionRefused where its words are at fault."""
        try:
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {question}")
        except (*_OF_WORDS, duckdb.DataError) as problem:
            raise QuestionRefused(_first_line(problem)) from problem

    def ask(self, question: str, shape: Callable[[Row], T]) -> list[T]:
        """The answer, each row made into something."""
        answer = self.connection.execute(question)
        names = [str(column[0]) for column in answer.description or ()]
        return [shape(Row(dict(zip(names, row, strict=True)))) for row in answer.fetchall()]


def views_over(files: Mapping[str, tuple[str, ...]], group: str | None = None) -> DuckDbViews:
    """The views over the files of each table, of one group or of all."""
    connection = duckdb.connect(":memory:", config=dict(SETTINGS))
    for macro in SPARK_NAMES:
        connection.execute(macro)
    for table in VIEWS:
        connection.execute(_view(table, files[table.name], group))
    return DuckDbViews(connection, files)


def open_views(out: str, _engine: str | None, _master: str | None, _settings: Mapping[str, str]) -> DuckDbViews:
    """The views of the tables below `out`; raise AnalyticsError if that can't be read as it is."""
    told = read_snapshot(out)
    return views_over({table.name: current_files(out, table, told) for table in VIEWS})


@contextmanager
def told_failures() -> Iterator[None]:
    """Raise AnalyticsError in the place of what DuckDB or the disk raise; a question that it refuses is our bug."""
    try:
        yield
    except (BrokenPipeError, *_OF_WORDS):
        raise
    except (OSError, DeltaError, duckdb.Error) as problem:
        raise AnalyticsError(
            f"EB-ANALYTICS-052: DuckDB broke off ({_first_line(problem)}); memory may be short, or a file of the "
            "tables damaged, or gone because they were made anew meanwhile: look, and run the same command again"
        ) from problem


def _view(table: Table, files: tuple[str, ...], group: str | None) -> str:
    """Columns that older files lack are null, further ones are left out; a table without files is empty.

    The day is that of the folder of a file. DuckDB by itself takes every `name=value` of a path for a column, also of
    the folders above the tables, and believes that instead of what is in the files.
    """
    empty = ", ".join(f"CAST(NULL AS {TYPES[column.type]}) AS {column.name}" for column in table.columns)
    rows = f"SELECT {empty} WHERE false"
    if files:
        listed = ", ".join(map(_literal, files))
        read = f"read_parquet([{listed}], union_by_name = true, hive_partitioning = false, filename = '{_FILE}')"
        rows = f"{rows} UNION ALL BY NAME SELECT * EXCLUDE ({_FILE}), {_DAY} AS {DATE} FROM {read}"
    condition = "" if group is None else f" WHERE group_id = {_literal(group)}"
    return f"CREATE TEMP VIEW {table.name} AS SELECT {', '.join(table.column_names)} FROM ({rows}){condition}"


def _literal(text: str) -> str:
    """Nothing but the quote means anything else in DuckDB's literals."""
    return "'" + text.replace("'", "''") + "'"


def _first_line(problem: BaseException) -> str:
    text = str(problem).strip()
    return text.splitlines()[0] if text else type(problem).__name__
