"""What is written of stretches: rows of tables, a file for each day, and what is left of events for Spark."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from bridge.analytics.stretches.clocks import RunClocks, clocks_of
from bridge.analytics.stretches.coding import numbers_of, stretches_of
from bridge.analytics.stretches.flaps import flaps_within
from bridge.analytics.stretches.holdings import holdings
from bridge.analytics.stretches.phases import phases_within
from bridge.analytics.stretches.shares import shares_of
from bridge.analytics.stretches.spans import Spans, in_all, spans_of
from bridge.analytics.stretches.stalls import BEGAN, stalls_within
from bridge.analytics.tables.definitions import DAY_US, FLAPS, PHASES, STALLS, TABLES, is_often_new

EPOCH = date(1970, 1, 1)
SHARES = "shares"
DAY_OF = {PHASES.name: "began_us", STALLS.name: BEGAN, FLAPS.name: "back_us"}
"""The moments by whose day rows lie."""


@dataclass(frozen=True, slots=True)
class Told:
    """Of a table, what stretches tell: files with rows of a day each (`days`: day as year-month-day, path), and those
    with what is left of events.
    """

    table: str
    days: tuple[tuple[str, str], ...]
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Account:
    """What events tell: of tables, of the clocks of their runs, and where in those they lie."""

    tables: tuple[Told, ...] = ()
    clocks: tuple[RunClocks, ...] = ()
    spans: Spans = Spans()

    @property
    def paths(self) -> tuple[str, ...]:
        """All files that it is in."""
        return tuple(path for one in self.tables for path in (*(path for _, path in one.days), *one.left))

    def count_left(self) -> int:
        """How many rows stretches have left, of all tables."""
        left = (path for one in self.tables if one.table != SHARES for path in one.left)
        return sum(pyarrow.parquet.read_metadata(path).num_rows for path in left)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTogether:
    """Events of phases, of partitions, and all others, as they were read together."""

    phases: Sequence[pa.Table]
    partitions: Sequence[pa.Table]
    others: Sequence[pa.Table]


def in_one_account(parts: Iterable[Account | None]) -> Account | None:
    """What all of them tell; None where that of one is not known."""
    known = list(parts)
    if None in known:
        return None
    told = [part for part in known if part is not None]
    return Account(
        tuple(table for part in told for table in part.tables),
        tuple(clock for part in told for clock in part.clocks),
        in_all(part.spans for part in told),
    )


def write_account(events: ReadTogether, stem: str) -> Account | None:
    """Write what these events tell; None where a number is there twice, or they are too far apart to tell."""
    parts = [_in_one(one) for one in (events.phases, events.partitions, events.others) if one]
    stretches = stretches_of([(part["boot"], part["number"]) for part in parts])
    if stretches is None:
        return None
    placed = list(zip(parts, stretches, strict=True))
    of_phases = placed.pop(0) if events.phases else None
    of_partitions = placed.pop(0) if events.partitions else None
    told = list[Told]()
    if of_phases is not None:
        told.append(_written(PHASES.name, phases_within(*of_phases), stem))
    if of_partitions is not None:
        held = holdings(*of_partitions)
        told += (_written(STALLS.name, stalls_within(held), stem), _written(FLAPS.name, flaps_within(held), stem))
    members = [part for part, _ in placed]
    shares = shares_of(None if of_partitions is None else of_partitions[0], members[0] if members else None)
    told += (Told(SHARES, (), (path,)) for path in _write_left(shares, f"{stem}-{SHARES}"))
    clocks = tuple(clock for part in parts for clock in clocks_of(part))
    return Account(tuple(told), clocks, in_all(map(spans_of, parts)))


def _written(name: str, found: tuple[pa.Table, pa.Table], stem: str) -> Told:
    rows, left = found
    return Told(name, tuple(write_days(rows, name, f"{stem}-{name}")), tuple(_write_left(left, f"{stem}-{name}")))


def _in_one(tables: Sequence[pa.Table]) -> pa.RecordBatch:
    whole = pa.concat_tables(tables).combine_chunks()
    batches = whole.to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], whole.schema)


def write_days(rows: pa.Table, table: str, stem: str) -> Iterator[tuple[str, str]]:
    """Write rows of a table in a file for each day; gives the days with their files."""
    moment, columns = DAY_OF[table], TABLES[table].column_names
    day_of_row = np.floor_divide(numbers_of(rows[moment].combine_chunks()), DAY_US)
    written = rows.select([name for name in rows.column_names if name in columns])
    for day in np.unique(day_of_row).tolist():
        is_its = day_of_row == day
        part = written if is_its.all() else written.filter(pa.array(is_its))
        name = (EPOCH + timedelta(days=day)).isoformat()
        yield name, _write(part.schema, [part], f"{stem}-{name}.parquet")


def put_together(days: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """One file for each day, of all rows that files (day, path) have of it: who reads many small ones opens each."""
    of_day: dict[str, list[str]] = {}
    for day, path in days:
        of_day.setdefault(day, []).append(path)
    for day, paths in of_day.items():
        if len(paths) == 1:
            yield day, paths[0]
            continue
        files = [pyarrow.parquet.ParquetFile(path) for path in paths]
        schema, whole = files[0].schema_arrow, f"{paths[0]}-whole.parquet"
        _write(schema, (file.read().cast(schema) for file in files), whole)
        yield day, whole


def _write_left(left: pa.Table, stem: str) -> Iterator[str]:
    if len(left):
        yield _write(left.schema, [left], f"{stem}-left.parquet")


def _write(schema: pa.Schema, parts: Iterable[pa.Table], path: str) -> str:
    """Without Arrow's own schema: to who reads it a text is a text, however it is written down."""
    plain = [name for name in schema.names if not is_often_new(name)]
    with pyarrow.parquet.ParquetWriter(
        path, schema, compression="snappy", use_dictionary=plain, store_schema=False
    ) as writer:
        for part in parts:
            writer.write_table(part)
    return path
