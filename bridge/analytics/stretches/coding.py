"""Stretches of runs, and numbers in the place of texts, by which NumPy puts rows in order and tells them apart."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bridge.analytics.intake.numbers import SPAN_MAX

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
CODES_MAX = 2**62
NOBODY, UNKNOWN = -1, -2


@dataclass(frozen=True, slots=True)
class Coded:
    """A column as numbers: the place of each value among the different ones, `NOBODY` for null."""

    places: Ints
    values: pa.Array

    @property
    def count(self) -> int:
        """How many different values there are, null included."""
        return len(self.values) + 1

    def at(self, rows: Ints, *, where: Flags | None = None) -> pa.DictionaryArray:
        """The values of some rows, null where the row is not meant.

        As places among the different ones: so Parquet writes them down without a look at a text.
        """
        places = self.places[rows]
        is_null = places < 0 if where is None else (places < 0) | ~where
        return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32), mask=is_null), self.values)


@dataclass(frozen=True, slots=True)
class Stretches(Coded):
    """In which stretch each row lies, and the first and the last number of each stretch."""

    first: Ints
    last: Ints


def coded(column: pa.Array) -> Coded:
    """A column of texts as numbers."""
    told = pc.dictionary_encode(column)
    return Coded(pc.fill_null(told.indices, NOBODY).to_numpy(zero_copy_only=False).astype(np.int64), told.dictionary)


def keyed(*columns: Coded) -> Ints:
    """A number for each row that stands for the values of all columns."""
    key, count = np.zeros(len(columns[0].places), np.int64), 1
    for column in columns:
        if count > CODES_MAX // column.count:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            count = int(key.max(initial=0)) + 1
        key = key * column.count + column.places + 1
        count *= column.count
    return key


def numbers_of(column: pa.Array) -> Ints:
    """A column of numbers, 0 for null."""
    return np.asarray(pc.fill_null(column, 0).to_numpy(zero_copy_only=False))


def stretches_of(parts: Sequence[tuple[pa.Array, pa.Array]]) -> list[Stretches] | None:
    """For each row of parts (its `boot`, its `number`) in which stretch it lies: of one run, and with no number missing
    between the rows of all parts. None where a number is there twice, or they are too far apart to tell.
    """
    boots = coded(pa.concat_arrays([boot for boot, _ in parts]))
    numbers = np.concatenate([numbers_of(number) for _, number in parts])
    places, first, last = np.zeros(len(numbers), np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    for boot in range(len(boots.values)):
        is_its = boots.places == boot
        found = _stretches(numbers[is_its])
        if found is None:
            return None
        place, its_first, its_last = found
        places[is_its] = place + len(first)
        first, last = np.append(first, its_first), np.append(last, its_last)
    names, ends = pa.array(np.arange(len(first))), np.cumsum([len(boot) for boot, _ in parts])
    return [Stretches(own, names, first, last) for own in np.split(places, ends[:-1])]


def _stretches(numbers: Ints) -> tuple[Ints, Ints, Ints] | None:
    """Of numbers of a run the stretch of each, and the first and the last number of each stretch."""
    lowest, highest = int(numbers.min()), int(numbers.max())
    if highest - lowest >= SPAN_MAX:
        return None
    came = np.zeros(highest - lowest + 3, np.int64)
    came[numbers - lowest + 1] = 1
    if np.count_nonzero(came) != len(numbers):
        return None
    turns = np.diff(came)
    is_first = turns > 0
    first, behind = np.flatnonzero(is_first) + lowest, np.flatnonzero(turns < 0) + lowest
    return np.cumsum(is_first)[numbers - lowest] - 1, first, behind - 1


def last_place(is_wanted: Flags, first: Ints) -> Ints:
    """For each row the place of the last wanted row before it, at `first` or behind; `NOBODY` where there is none.

    Rows are in order, and `first` is the place of the first row that belongs together with each.
    """
    places = np.where(is_wanted, np.arange(len(is_wanted)), NOBODY)
    last = np.empty_like(places)
    last[:1] = NOBODY
    np.maximum.accumulate(places[:-1], out=last[1:])
    last[last < first] = NOBODY
    return last


def firsts(keys: Ints) -> Ints:
    """For each row, where rows of the same key follow one another, the place of the first one of its key."""
    begins = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
    return np.maximum.accumulate(np.where(begins, np.arange(len(keys)), 0))


def lasts(keys: Ints) -> Ints:
    """For each row, where rows of the same key follow one another, the place of the last one of its key."""
    count = len(keys)
    return count - 1 - firsts(keys[::-1])[::-1]


def place_of(column: Coded, value: str) -> int:
    """The number that stands for a text; one that stands for none where it is not there."""
    found = pc.index(column.values, pa.scalar(value, column.values.type)).as_py()
    return int(found) if found >= 0 else UNKNOWN


def taken(column: pa.Array, rows: Ints) -> pa.Array:
    """The values of some rows."""
    return column.take(pa.array(rows))


def table_of(columns: Iterable[tuple[str, pa.Array]], schema: pa.Schema) -> pa.Table:
    """A table with these columns in the order of a schema; of columns that are not told there are nulls."""
    told = dict(columns)
    count = len(next(iter(told.values())))
    arrays = [told[name] if name in told else pa.nulls(count, schema.field(name).type) for name in schema.names]
    return pa.table(arrays, names=schema.names)
