"""Rows of events by the partition that they name, in the order of each partition within a stretch."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bridge.analytics.stretches.coding import (
    Coded,
    Flags,
    Ints,
    coded,
    firsts,
    keyed,
    numbers_of,
    place_of,
    table_of,
    taken,
)
from bridge.analytics.tables.arrow_types import arrow_schema
from bridge.analytics.tables.definitions import EVENTS
from bridge.telemetry.schema.facts import PartitionsAssigned, PartitionsFetched, PartitionsReleased, PartitionsTold

TOLD, RELEASED = PartitionsTold.kind, PartitionsReleased.kind
ASSIGNED, FETCHED = PartitionsAssigned.kind, PartitionsFetched.kind
KINDS = (TOLD, RELEASED, ASSIGNED, FETCHED)
IS_DONE, OWNER = "is_done", "owner"
_TEXTS = ("kind", "group_id", "rebalance_id", "member_id", "instance_id", "protocol", "road", "boot")
_OF_EVENT = (*_TEXTS, "event_id", "number", "wall_us", "mono_us", "idle_us")
LEFT = pa.schema(
    [
        *(field for field in arrow_schema(EVENTS) if field.name in {*_OF_EVENT, "partitions", "is_again"}),
        pa.field(IS_DONE, pa.bool_()),
    ]
)
"""What is kept of rows that Spark has to look at: as of an event of one partition, and whether its own row is made."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """Rows of `events`, one for each partition that one names: `row` is the event's, `key` the partition's within its
    group and stretch, `first` the place of the first row of the same key.
    """

    events: pa.RecordBatch
    texts: dict[str, Coded]
    partitions: Coded
    row: Ints
    partition: Ints
    key: Ints
    first: Ints

    def text(self, name: str) -> Ints:
        """A text of the event of each row, as a number."""
        return self.texts[name].places[self.row]

    def number(self, name: str) -> Ints:
        """A number of the event of each row, 0 for null."""
        return numbers_of(self.events[name])[self.row]

    def is_kind(self, kind: str) -> Flags:
        """Whether the event of each row is of a kind."""
        found: Flags = self.text("kind") == place_of(self.texts["kind"], kind)
        return found

    @property
    def is_done(self) -> Flags:
        """Of rows that were left, whether their own row is made."""
        found: Flags = self.events[IS_DONE].to_numpy(zero_copy_only=False)[self.row]
        return found

    def elapsed_us(self, begin: Ints, end: Ints, before_us: Ints | int = 0) -> Ints:
        """Microseconds from some time before the rows at these places to others: monotonic in one run, by the wall
        clock across runs, and none where that went back.
        """
        run, mono_us, wall_us = self.text("boot"), self.number("mono_us"), self.number("wall_us")
        by_wall = np.maximum(wall_us[end] - wall_us[begin] + before_us, 0)
        return np.where(run[begin] == run[end], mono_us[end] - mono_us[begin] + before_us, by_wall)

    def told(self, name: str, places: Ints) -> pa.Array:
        """A text of the events of the rows at these places."""
        return self.texts[name].at(self.row[places])

    def event_ids(self, places: Ints) -> pa.Array:
        """The ids of the events of the rows at these places."""
        return taken(self.events["event_id"], self.row[places])

    def partition_names(self, places: Ints) -> pa.Array:
        """The partitions of the rows at these places."""
        return Coded(self.partition, self.partitions.values).at(places)

    def chosen(self, is_wanted: Flags) -> "Holdings":
        """Only some rows."""
        key = self.key[is_wanted]
        return Holdings(
            events=self.events,
            texts=self.texts,
            partitions=self.partitions,
            row=self.row[is_wanted],
            partition=self.partition[is_wanted],
            key=key,
            first=firsts(key),
        )

    def left(self, is_left: Flags, is_done: Flags) -> pa.Table:
        """Rows that are left (`LEFT`)."""
        places = np.flatnonzero(is_left)
        rows, names = self.row[places], self.partition_names(places).cast(pa.string())
        told = {name: taken(self.events[name], rows) for name in _OF_EVENT}
        told["partitions"] = pa.ListArray.from_arrays(pa.array(np.arange(len(places) + 1, dtype=np.int32)), names)
        told[IS_DONE] = pa.array(is_done[places])
        return table_of(told.items(), LEFT)


def holdings(events: pa.RecordBatch, stretch: Coded) -> Holdings:
    """The rows of events of `KINDS`, each partition's in order."""
    lists = events["partitions"]
    event = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    partitions = coded(pc.list_flatten(lists))
    texts = {name: coded(events[name]) for name in _TEXTS}
    # A static member that comes back has another member id.
    texts[OWNER] = coded(pc.coalesce(events["instance_id"], events["member_id"]))
    group, numbers = texts["group_id"], numbers_of(events["number"])
    key = keyed(Coded(stretch.places[event], stretch.values), Coded(group.places[event], group.values), partitions)
    order = np.lexsort((numbers[event], key))
    in_order = key[order]
    return Holdings(
        events=events,
        texts=texts,
        partitions=partitions,
        row=event[order],
        partition=partitions.places[order],
        key=in_order,
        first=firsts(in_order),
    )
