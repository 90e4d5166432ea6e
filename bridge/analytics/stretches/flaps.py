"""Flaps of which all changes of the owner lie in one stretch of a run, and the others (`tables/flaps.py` says what a
flap is).
"""

import numpy as np
import pyarrow as pa

from bridge.analytics.stretches.coding import NOBODY, Flags, lasts, table_of
from bridge.analytics.stretches.holdings import ASSIGNED, OWNER, Holdings
from bridge.analytics.tables.arrow_types import arrow_schema
from bridge.analytics.tables.definitions import DATE, FLAP_US, FLAPS

ROWS = pa.schema([field for field in arrow_schema(FLAPS) if field.name != DATE])
KNOWN_FROM = 2
"""Of the changes of a stretch the first may be none, and of the second nobody knows who had it before the first."""


def flaps_within(held: Holdings) -> tuple[pa.Table, pa.Table]:
    """The flaps of which the stretch knows two owners before; and the first and last two changes of each partition.

    Those say the same between rows of other stretches as all of them: who had it last, and who before.
    """
    rows = _changes(held)
    place = np.arange(len(rows.key))
    is_known = place - rows.first >= KNOWN_FROM
    is_end = lasts(rows.key) - place < KNOWN_FROM
    return _rows(rows, is_known), rows.left(~is_known | is_end, is_known)


def flaps_between(left: Holdings) -> pa.Table:
    """The flaps that no stretch knew, by all that stretches have left."""
    rows = _changes(left)
    return _rows(rows, ~rows.is_done)


def _changes(held: Holdings) -> Holdings:
    """The rows by which a partition came to another owner."""
    given = held.chosen(held.is_kind(ASSIGNED))
    owner = given.text(OWNER)
    before = np.arange(len(owner)) - 1
    is_first = given.first == np.arange(len(owner))
    return given.chosen(is_first | (owner == NOBODY) | (owner != owner[before]))


def _rows(rows: Holdings, is_meant: Flags) -> pa.Table:
    owner, place = rows.text(OWNER), np.arange(len(rows.key))
    has_two = place - rows.first >= KNOWN_FROM
    away_us = rows.elapsed_us(np.maximum(place - 1, 0), place)
    is_again = (owner != NOBODY) & (owner == owner[np.maximum(place - KNOWN_FROM, 0)])
    back = np.flatnonzero(is_meant & has_two & is_again & (away_us <= FLAP_US))
    left, wall_us = back - 1, rows.number("wall_us")
    columns = {
        "group_id": rows.told("group_id", back),
        "rebalance_id": rows.told("rebalance_id", back),
        "partition": rows.partition_names(back),
        "owner": rows.told(OWNER, back),
        "via": rows.told(OWNER, left),
        "left_us": pa.array(wall_us[left]),
        "back_us": pa.array(wall_us[back]),
        "away_us": pa.array(away_us[back]),
        "back_event": rows.event_ids(back),
    }
    return table_of(columns.items(), ROWS)
