"""Phases that begin and end in one stretch of a run (`tables/phases.py` says what a phase is)."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bridge.analytics.stretches.coding import Coded, Flags, Ints, coded, keyed, numbers_of, table_of, taken
from bridge.analytics.tables.arrow_types import arrow_schema
from bridge.analytics.tables.definitions import DATE, EPISODE, PHASES
from bridge.telemetry.schema.facts import PhaseBegan, PhaseEnded

KINDS = (PhaseBegan.kind, PhaseEnded.kind)
ROWS = pa.schema([field for field in arrow_schema(PHASES) if field.name != DATE])
LEFT = ("kind", *EPISODE, "event_id")
"""What is kept of events that the stretch tells nothing of: by that they are found among all."""
_TEXTS = ("group_id", "rebalance_id", "member_id", "instance_id", "protocol", "road", "phase", "boot")


def phases_within(events: pa.RecordBatch, stretch: Coded) -> tuple[pa.Table, pa.Table]:
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
    return rows, pa.table([taken(events[name], left) for name in LEFT], names=LEFT)


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
