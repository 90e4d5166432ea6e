"""Flaps of which all changes of the owner lie in one stretch of a run (`tables/flaps.py` says what a flap is)."""

import numpy as np
import pyarrow as pa

from bridge.analytics.stretches.coding import NOBODY, Ints, lasts, table_of
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
    given = held.chosen(held.is_kind(ASSIGNED))
    owner = given.text(OWNER)
    before = np.arange(len(owner)) - 1
    is_first = given.first == np.arange(len(owner))
    rows = given.chosen(is_first | (owner == NOBODY) | (owner != owner[before]))
    owner, place = rows.text(OWNER), np.arange(len(rows.key))
    is_known = place - rows.first >= KNOWN_FROM
    mono_us = rows.number("mono_us")
    away_us = mono_us - mono_us[place - 1]
    is_back = is_known & (owner != NOBODY) & (owner == owner[np.maximum(place - KNOWN_FROM, 0)]) & (away_us <= FLAP_US)
    is_end = lasts(rows.key) - place < KNOWN_FROM
    return _rows(rows, np.flatnonzero(is_back), away_us), rows.left(~is_known | is_end, is_known)


def _rows(rows: Holdings, back: Ints, away_us: Ints) -> pa.Table:
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
