"""What came of each member in a rebalance, added up over events that were read together (`tables/disturbance.py` says
what for). Sums of parts are sums, so it matters to nobody where one part ends.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bridge.analytics.stretches.coding import Flags, Ints, coded, keyed
from bridge.analytics.stretches.spark_hash import HASH_OF_NULL, xxhash64
from bridge.telemetry.schema.facts import MemberLeft, MemberTold, PartitionsAssigned, PartitionsReleased
from bridge.telemetry.schema.terms import News

NEWS = (News.REJOIN.value, News.REVOKE.value)
KEY = ("group_id", "rebalance_id", "member_id")
FLAGS = ("is_told", "is_touched", "is_gone")
BALANCE = ("count", "low", "high")
"""What was released less what was assigned: how many partitions, and the sums of both halves of their hashes."""
SUMS = ("lost", *BALANCE)
HALF_BITS = 32
NAMES_KEPT = 100_000
Values = Ints | Flags


def shares_of(of_partitions: pa.RecordBatch | None, others: pa.RecordBatch | None) -> pa.Table:
    """A row for each member that was told, gave up, was given something in a rebalance, or went."""
    parts = [
        *([_of_partitions(of_partitions)] if of_partitions is not None else []),
        *([_of_members(others)] if others is not None else []),
    ]
    if not parts:
        return pa.table({})
    names = [coded(pa.concat_arrays([part[name] for part, _ in parts])) for name in KEY]
    key = keyed(*names)
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.append(True, key[order][1:] != key[order][:-1])[: len(key)])
    told = {name: np.concatenate([values[name] for _, values in parts])[order] for name in (*FLAGS, *SUMS)}
    columns = {name: column.at(order[begins]) for name, column in zip(KEY, names, strict=True)}
    columns |= {name: pa.array(_by_member(np.logical_or, told[name], begins)) for name in FLAGS}
    columns |= {name: pa.array(_by_member(np.add, told[name], begins)) for name in SUMS}
    return pa.table(columns)


def _by_member(fold: np.ufunc, values: Values, begins: Ints) -> Values:
    return fold.reduceat(values, begins) if len(begins) else values


def _named(events: pa.RecordBatch, kinds: Sequence[str]) -> pa.RecordBatch:
    """Events of these kinds that name a rebalance."""
    names_one = pc.and_(pc.is_valid(events["group_id"]), pc.not_equal(events["rebalance_id"], ""))
    is_one = pc.is_in(events["kind"], value_set=pa.array(kinds))
    return events.filter(pc.fill_null(pc.and_(is_one, names_one), False))


def _of_partitions(events: pa.RecordBatch) -> tuple[pa.RecordBatch, dict[str, Values]]:
    rows = _named(events, (PartitionsReleased.kind, PartitionsAssigned.kind))
    is_released: Flags = pc.equal(rows["kind"], PartitionsReleased.kind).to_numpy(zero_copy_only=False)
    is_again: Flags = pc.fill_null(rows["is_again"], False).to_numpy(zero_copy_only=False)
    sign, nothing = np.where(is_released, 1, -1), np.zeros(len(rows), bool)
    count, low, high = _amounts(rows["partitions"])
    # Unused, and in its generation: it has had them all along, and has given up that much less.
    lost = np.where(is_released, count, np.where(is_again, -count, 0))
    told: dict[str, Values] = {"is_told": nothing, "is_touched": is_released, "is_gone": nothing, "lost": lost}
    return rows, told | {"count": sign * count, "low": sign * low, "high": sign * high}


def _of_members(events: pa.RecordBatch) -> tuple[pa.RecordBatch, dict[str, Values]]:
    rows = _named(events, (MemberTold.kind, MemberLeft.kind))
    is_gone: Flags = pc.equal(rows["kind"], MemberLeft.kind).to_numpy(zero_copy_only=False)
    is_news = pc.fill_null(pc.is_in(rows["news"], value_set=pa.array(NEWS)), False).to_numpy(zero_copy_only=False)
    is_told = is_news & ~is_gone
    told: dict[str, Values] = {"is_told": is_told, "is_touched": is_told, "is_gone": is_gone}
    return rows, told | {name: np.zeros(len(rows), np.int64) for name in SUMS}


def _amounts(lists: pa.ListArray) -> tuple[Ints, Ints, Ints]:
    """How many partitions each event names, and the sums of the halves of their hashes."""
    flat, event = pc.list_flatten(lists), pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    partitions = coded(flat)
    # The last one is for null, whose place is -1.
    hashes = np.array([*map(_hash_of, partitions.values.to_pylist()), HASH_OF_NULL], np.int64)[partitions.places]
    halves = (np.ones(len(flat), np.int64), hashes & ((1 << HALF_BITS) - 1), hashes >> HALF_BITS)
    begins = np.searchsorted(event, np.arange(len(lists) + 1))
    count, low, high = (np.diff(np.append(0, np.cumsum(half))[begins]) for half in halves)
    return count, low, high


@lru_cache(NAMES_KEPT)
def _hash_of(name: str) -> int:
    return xxhash64(name.encode())
