"""Phases that begin and end in one stretch of a run, and those that do in two (`tables/phases.py` says what one is)."""

from collections.abc import Iterable, Mapping, Sequence
from math import prod

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from bridge.analytics.stretches.coding import (
    CODES_MAX,
    NOBODY,
    UNKNOWN,
    Coded,
    Flags,
    Ints,
    Stretches,
    coded,
    keyed,
    numbers_of,
    table_of,
    taken,
)
from bridge.analytics.tables.arrow_types import arrow_schema
from bridge.analytics.tables.definitions import DATE, EPISODE, PHASES
from bridge.telemetry.schema.facts import PhaseBegan, PhaseEnded

KINDS = (PhaseBegan.kind, PhaseEnded.kind)
ROWS = pa.schema([field for field in arrow_schema(PHASES) if field.name != DATE])
FIRST, LAST = "first_of_stretch", "last_of_stretch"
"""The first and the last number of the stretch that an event lies in."""
_TEXTS = ("group_id", "rebalance_id", "member_id", "instance_id", "protocol", "road", "phase", "boot")
LEFT = ("kind", *_TEXTS, "member_epoch", "number", "wall_us", "mono_us", "waits_on", "event_id")
"""What is kept of events that the stretch tells nothing of, beside where their stretch begins and ends."""


def phases_within(events: pa.RecordBatch, stretch: Stretches) -> tuple[pa.Table, pa.Table]:
    """The rows of begins that something follows in their episode within the stretch; and the begins that nothing does,
    with the ends that follow nothing (`LEFT`).

    Between two numbers of a stretch nothing is missing, so what follows there is what follows among all events.
    """
    of_text = {name: coded(events[name]) for name in _TEXTS}
    key = keyed(stretch, *(of_text[name] for name in EPISODE))
    order = np.lexsort((numbers_of(events["number"]), key))
    is_begin = pc.equal(events["kind"], PhaseBegan.kind).to_numpy(zero_copy_only=False)
    goes_on = key[order][1:] == key[order][:-1]
    begins = is_begin[order]
    is_last, is_first = np.append(~goes_on, True)[: len(order)], np.append(True, ~goes_on)[: len(order)]
    left = np.sort(order[(begins & is_last) | (~begins & is_first)])
    is_followed = begins[:-1] & goes_on
    rows = _rows(events, of_text, order[:-1][is_followed], order[1:][is_followed], is_begin)
    told = {name: taken(events[name], left) for name in LEFT}
    lies_in = stretch.places[left]
    return rows, pa.table(told | {FIRST: pa.array(stretch.first[lies_in]), LAST: pa.array(stretch.last[lies_in])})


def phases_between(left: pa.RecordBatch) -> pa.Table | None:
    """The rows of begins that nothing follows in their stretch, by all that stretches have left, in order; None where
    an end is not sure.

    What follows in another stretch is left, too, unless it is a begin, and a begin shows no more than nothing does. But
    between stretches that are not side by side another one may have more of the episode: an end there is of nobody.
    """
    of_text = {name: coded(left[name]) for name in _TEXTS}
    key = keyed(*(of_text[name] for name in EPISODE))
    order = np.lexsort((numbers_of(left["number"]), key))
    is_begin = pc.equal(left["kind"], PhaseBegan.kind).to_numpy(zero_copy_only=False)
    goes_on = np.append(key[order][1:] == key[order][:-1], False)[: len(order)]
    next_one = np.where(goes_on, np.roll(order, -1), order)
    begin, after = order[is_begin[order]], next_one[is_begin[order]]
    boot, first, last = of_text["boot"].places, numbers_of(left[FIRST]), numbers_of(left[LAST])
    is_sure = is_begin[after] | ((boot[begin] == boot[after]) & (last[begin] + 1 == first[after]))
    return _rows(left, of_text, begin, after, is_begin) if is_sure.all() else None


def tells_of(paths: Iterable[str], left: pa.Table) -> bool:
    """Whether files of rows have one of an episode of which something is left (`left` has its columns); or may have,
    where too many names are in what is left to tell.
    """
    known = [coded(left[name].combine_chunks()) for name in EPISODE]
    if prod(one.count for one in known) > CODES_MAX:
        return True
    wanted = np.unique(_keys(known, [one.places for one in known]))
    for path in paths:
        file = pyarrow.parquet.ParquetFile(path, read_dictionary=[*EPISODE])
        for batch in file.iter_batches(columns=[*EPISODE]):
            places = [_places_in(one, batch[name]) for one, name in zip(known, EPISODE, strict=True)]
            if np.isin(_keys(known, places), wanted).any():
                return True
    return False


def _places_in(known: Coded, column: pa.DictionaryArray) -> Ints:
    """The place of each value among those that are known, `UNKNOWN` for another one."""
    of_value = pc.fill_null(pc.index_in(column.dictionary, known.values), UNKNOWN).to_numpy(zero_copy_only=False)
    places = pc.fill_null(column.indices, NOBODY).to_numpy(zero_copy_only=False)
    # The last one is for null, whose place is -1.
    found: Ints = np.append(of_value, NOBODY).astype(np.int64)[places]
    return found


def _keys(known: Sequence[Coded], places: Sequence[Ints]) -> Ints:
    """A number for the values of all columns, `UNKNOWN` where one of them is not known."""
    key, is_known = np.zeros(len(places[0]), np.int64), np.ones(len(places[0]), bool)
    for column, place in zip(known, places, strict=True):
        key, is_known = key * column.count + place + 1, is_known & (place != UNKNOWN)
    return np.where(is_known, key, UNKNOWN)


def _rows(events: pa.RecordBatch, of_text: Mapping[str, Coded], begin: Ints, after: Ints, is_begin: Flags) -> pa.Table:
    by_place = np.argsort(begin)
    begin, after = begin[by_place], after[by_place]
    is_closed = ~is_begin[after]
    wall_us, mono_us = numbers_of(events["wall_us"]), numbers_of(events["mono_us"])
    waits_on, waited_last = taken(events["waits_on"], begin), taken(events["waits_on"], after)
    is_waiting = pc.and_(pc.greater(pc.fill_null(pc.list_value_length(waited_last), 0), 0), pa.array(is_closed))
    columns = {
        **{name: column.at(begin) for name, column in of_text.items()},
        "member_epoch": taken(events["member_epoch"], begin),
        "began_us": pa.array(wall_us[begin]),
        "ended_us": pa.array(wall_us[after], mask=~is_closed),
        "duration_us": pa.array(mono_us[after] - mono_us[begin], mask=~is_closed),
        "is_closed": pa.array(is_closed),
        "waits_on": pc.if_else(is_waiting, waited_last, waits_on),
        "began_event": taken(events["event_id"], begin),
        "ended_event": pc.if_else(pa.array(is_closed), taken(events["event_id"], after), None),
    }
    return table_of(columns.items(), ROWS)
