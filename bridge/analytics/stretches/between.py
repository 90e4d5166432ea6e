"""Rows of tables that no stretch tells by itself, made of what all stretches have left: by the same rules, with nothing
before it and nothing behind.

Those are few rows. Spark would need as long to plan and compile what is done with them as for all that there are.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from bridge.analytics.stretches.coding import Coded, coded, numbers_of
from bridge.analytics.stretches.files import Account, write_days
from bridge.analytics.stretches.flaps import flaps_between
from bridge.analytics.stretches.holdings import Holdings, holdings
from bridge.analytics.stretches.phases import phases_between
from bridge.analytics.stretches.stalls import stalls_between
from bridge.analytics.tables.definitions import FLAPS, PHASES, STALLS

LEFT_MAX = 1_000_000
"""More rows than these, some 300 MB, are not held here."""
_OF_PARTITIONS: Mapping[str, Callable[[Holdings], pa.Table]] = {STALLS.name: stalls_between, FLAPS.name: flaps_between}


def write_between(account: Account, table: str, runs: Sequence[str]) -> list[tuple[str, str]] | None:
    """Write those rows of a table beside what is left, in a file for each day (day, path); `runs` are all, as they
    began. None where that is for Spark: too much is left, or it does not tell.
    """
    paths = [path for one in account.tables if one.table == table for path in one.left]
    if not paths:
        return []
    if sum(pyarrow.parquet.read_metadata(path).num_rows for path in paths) > LEFT_MAX:
        return None
    left = in_order(pa.concat_tables(pyarrow.parquet.ParquetFile(path).read() for path in paths), runs)
    rows = phases_between(left) if table == PHASES.name else _OF_PARTITIONS[table](holdings(left, _as_one(left)))
    return None if rows is None else list(write_days(rows, table, f"{paths[0]}-between"))


def in_order(events: pa.Table, runs: Sequence[str]) -> pa.RecordBatch:
    """Events of several runs in order, numbered anew from 0 on across all of them."""
    boots = coded(events["boot"].combine_chunks())
    places = {boot: place for place, boot in enumerate(runs)}
    run = np.array([places[boot] for boot in boots.values.to_pylist()], np.int64)[boots.places]
    order = np.lexsort((numbers_of(events["number"].combine_chunks()), run))
    at = events.schema.get_field_index("number")
    whole = events.take(pa.array(order)).set_column(at, "number", pa.array(np.arange(len(order))))
    return whole.combine_chunks().to_batches()[0]


def _as_one(events: pa.RecordBatch) -> Coded:
    """All of them in one stretch."""
    return Coded(np.zeros(len(events), np.int64), pa.array([0]))
