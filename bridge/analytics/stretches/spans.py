"""Where events lie in their runs: between which numbers those of a group do, and in which chunks of numbers some do."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bridge.analytics.stretches.coding import NOBODY, coded, keyed, numbers_of

CHUNK = 4096
"""So many numbers of a run are one chunk."""
MORE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class GroupSpan:
    """Of the events of a group in a run the least and the greatest number."""

    group_id: str
    boot: str
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Spans:
    """Where events lie: those of groups, and the chunks (boot, place among the chunks of its run)."""

    groups: tuple[GroupSpan, ...] = ()
    chunks: frozenset[tuple[str, int]] = frozenset()


def in_all(parts: Iterable[Spans]) -> Spans:
    """Where the events of all parts lie; a group may be there more than once."""
    known = list(parts)
    groups = tuple(one for part in known for one in part.groups)
    return Spans(groups, frozenset[tuple[str, int]]().union(*(part.chunks for part in known)))


def spans_of(events: pa.RecordBatch) -> Spans:
    """Those of events of which no two are the same; what is of no group lies in a chunk all the same."""
    return Spans(tuple(_of_groups(events)), frozenset(_chunks(events)))


def _of_groups(events: pa.RecordBatch) -> Iterator[GroupSpan]:
    groups, boots, number = coded(events["group_id"]), coded(events["boot"]), numbers_of(events["number"])
    key, count = keyed(boots, groups), boots.count * groups.count
    least, most = np.full(count, MORE), np.full(count, NOBODY)
    np.minimum.at(least, key, number)
    np.maximum.at(most, key, number)
    names, runs = groups.values.to_pylist(), boots.values.to_pylist()
    for place in np.flatnonzero(most != NOBODY).tolist():
        boot, group = divmod(place, groups.count)
        if group:
            yield GroupSpan(names[group - 1], runs[boot - 1], int(least[place]), int(most[place]))


def _chunks(events: pa.RecordBatch) -> Iterator[tuple[str, int]]:
    boots, number = coded(events["boot"]), numbers_of(events["number"])
    for place, boot in enumerate(boots.values.to_pylist()):
        for chunk in np.unique(number[boots.places == place] // CHUNK).tolist():
            yield boot, chunk
