"""Stalls that begin and end in one stretch of a run, and the others (`tables/stalls.py` says what a stall is, in the
same words).
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bridge.analytics.stretches.coding import NOBODY, Flags, Ints, last_place, lasts, place_of, table_of
from bridge.analytics.stretches.holdings import ASSIGNED, FETCHED, RELEASED, TOLD, Holdings
from bridge.analytics.tables.arrow_types import arrow_schema
from bridge.analytics.tables.definitions import DATE, STALLS

BEGAN = "began_us"
"""By the day of this moment stalls lie; their table has no such column."""
ROWS = pa.schema([*(field for field in arrow_schema(STALLS) if field.name != DATE), (BEGAN, pa.int64())])


@dataclass(frozen=True, slots=True)
class _Before:
    """For each row the place of the last one of each kind before it, `NOBODY` where the stretch has none."""

    told: Ints
    released: Ints
    assigned: Ints
    fetched: Ints

    @property
    def dealt(self) -> Ints:
        """The last one that was given up or given."""
        return np.maximum(self.released, self.assigned)


def stalls_within(held: Holdings) -> tuple[pa.Table, pa.Table]:
    """The stalls that fetches end of which the stretch knows what came before; and the rows that tell of the others.

    A partition that was given up or given, and then fetched from, is known from there on: what came before can't change
    what comes. So the rows up to the first such fetch are left, and those from the last one on, with what it follows:
    between rows of other stretches they say the same as all of them.
    """
    rows = held.chosen(_is_news(held))
    before = _before(rows)
    is_sure = rows.is_kind(FETCHED) & (before.dealt >= 0)
    is_known = last_place(is_sure, rows.first) >= 0
    return _rows(rows, before, is_known), rows.left(~is_known | _is_tail(rows, is_sure, before), is_known)


def stalls_between(left: Holdings) -> pa.Table:
    """The stalls that no stretch knew, by all that stretches have left."""
    return _rows(left, _before(left), ~left.is_done)


def _before(rows: Holdings) -> _Before:
    return _Before(*(last_place(rows.is_kind(kind), rows.first) for kind in (TOLD, RELEASED, ASSIGNED, FETCHED)))


def _is_news(held: Holdings) -> Flags:
    """Not what a member is given again in its generation, unused: it has had it all along."""
    is_again: Flags = pc.fill_null(held.events["is_again"], False).to_numpy(zero_copy_only=False)
    kind = held.text("kind")
    is_one: Flags = np.isin(kind, [place_of(held.texts["kind"], one) for one in (TOLD, RELEASED, ASSIGNED, FETCHED)])
    return is_one & ~is_again[held.row]


def _is_of_told(rows: Holdings, told: Ints) -> Flags:
    """Whether a row is of the member that was told last; one without a name is told as the one named nothing."""
    member = rows.text("member_id")
    nameless = place_of(rows.texts["member_id"], "")
    told_member = np.where(member[told] == NOBODY, nameless, member[told])
    found: Flags = (told >= 0) & (member != NOBODY) & (told_member == member)
    return found


def _ends(rows: Holdings, assigned: Ints, start: Ints) -> Flags:
    """Whether a fetch ends a stall: one has begun, and the partition was given to somebody since."""
    member = rows.text("member_id")
    is_other: Flags = (member != NOBODY) & (member[start] != NOBODY) & (member != member[start])
    found: Flags = (start >= 0) & ((assigned > start) | is_other)
    return found


def _is_tail(rows: Holdings, is_sure: Flags, before: _Before) -> Flags:
    """Whether a row stands where the last fetch that is sure begins to be, or behind."""
    count = len(rows.key)
    end = lasts(rows.key)
    sure = np.where(is_sure, np.arange(count), NOBODY)
    last_sure = np.where(is_sure[end], end, last_place(is_sure, rows.first)[end]) if count else sure
    since = np.where(last_sure >= 0, before.dealt[last_sure], count)
    return np.arange(count) >= since


def _starts(rows: Holdings, before: _Before) -> Ints:
    """For each row the place of the row that began a stall since the fetch before it, `NOBODY` where none has."""
    is_told, is_released, is_fetched = rows.is_kind(TOLD), rows.is_kind(RELEASED), rows.is_kind(FETCHED)
    is_fresh = before.fetched >= np.maximum(before.told, before.released)
    was_told = (before.told > before.dealt) & _is_of_told(rows, before.told)
    begins = (is_told & is_fresh) | (is_fetched & was_told) | (is_released & is_fresh & ~was_told)
    start = last_place(is_fetched | begins, rows.first)
    return np.where((start >= 0) & begins[start], start, NOBODY)


def _rows(rows: Holdings, before: _Before, is_meant: Flags) -> pa.Table:
    start = _starts(rows, before)
    ended = np.flatnonzero(is_meant & rows.is_kind(FETCHED) & _ends(rows, before.assigned, start))
    begun, kind_told, wall_us = start[ended], rows.is_kind(TOLD), rows.number("wall_us")
    # Who released can't have used it while idle.
    idle_us = np.where(rows.is_kind(RELEASED), rows.number("idle_us"), 0)[begun]
    is_of_told = kind_told[begun] | rows.is_kind(FETCHED)[begun]
    told_us = np.where(kind_told[begun], wall_us[begun], wall_us[before.told[begun]])
    rebalance = rows.text("rebalance_id")
    nameless = place_of(rows.texts["rebalance_id"], "")
    names_one = (rebalance[ended] != NOBODY) & (rebalance[ended] != nameless)
    member = rows.text("member_id")
    is_unsure = (member[begun] == NOBODY) | (member[ended] == NOBODY)
    columns = {
        "group_id": rows.told("group_id", ended),
        "rebalance_id": rows.told("rebalance_id", np.where(names_one, ended, begun)),
        "road": rows.told("road", ended),
        "partition": rows.partition_names(ended),
        "before": rows.told("member_id", begun),
        "after": rows.told("member_id", ended),
        "protocol_before": rows.told("protocol", begun),
        "protocol_after": rows.told("protocol", ended),
        "is_same_owner": pa.array(member[begun] == member[ended], mask=is_unsure),
        "told_us": pa.array(told_us, mask=~is_of_told),
        "released_us": _since(wall_us, before.released[ended], begun),
        "assigned_us": _since(wall_us, before.assigned[ended], begun),
        "fetched_us": pa.array(wall_us[ended]),
        "stall_us": pa.array(rows.elapsed_us(begun, ended, idle_us)),
        "fetched_event": rows.event_ids(ended),
        BEGAN: pa.array(wall_us[begun] - idle_us),
    }
    return table_of(columns.items(), ROWS)


def _since(wall_us: Ints, place: Ints, begun: Ints) -> pa.Array:
    return pa.array(wall_us[place], mask=place < begun)
