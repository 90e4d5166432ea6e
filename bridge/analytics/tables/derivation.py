"""Which table is made from which, and in which order."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.tables.batch_history import Extent
from bridge.analytics.tables.daily import daily
from bridge.analytics.tables.definitions import (
    BATCH,
    DAILY,
    EVENTS,
    FLAPS,
    MEMBERS,
    PHASES,
    REBALANCES,
    REJECTED,
    STALLS,
    STORMS,
    Table,
)
from bridge.analytics.tables.flaps import flaps
from bridge.analytics.tables.members import members
from bridge.analytics.tables.phases import phases
from bridge.analytics.tables.positions import DERIVED_BATCH, RUN, clock_jumps, positioned, runs
from bridge.analytics.tables.rebalances import rebalances
from bridge.analytics.tables.stalls import stalls
from bridge.analytics.tables.store import Store
from bridge.analytics.tables.storms import storms

Tables = Mapping[str, DataFrame]
Stage = Mapping[str, Callable[[], None]]
FROM_EVENTS: Mapping[str, tuple[Table, Callable[[DataFrame], DataFrame]]] = {
    table.name: (table, make)
    for table, make in (
        (PHASES, phases),
        (REBALANCES, rebalances),
        (STALLS, stalls),
        (MEMBERS, members),
        (FLAPS, flaps),
    )
}
"""Tables made from the events in order."""
FROM_TABLES: Mapping[str, tuple[Table, Callable[[Tables], DataFrame]]] = {
    STORMS.name: (STORMS, lambda tables: storms(tables[REBALANCES.name])),
    DAILY.name: (DAILY, daily),
}
"""Tables made from what is already written."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """Makes every derived table from the events up to a batch: all of it anew, or what an extent says."""

    store: Store
    last_batch: int
    extent: Extent | None = None

    def stages(self) -> Iterator[Stage]:
        """The steps by the table that each one writes; those of a stage don't need one another, those before it do."""
        events = self._events()
        ordered = positioned(events, self._order(events))
        yield {
            **{table.name: partial(self._make, table, make, ordered) for table, make in FROM_EVENTS.values()},
            REJECTED.name: self._note_clocks,
        }
        for table, join in FROM_TABLES.values():
            yield {table.name: partial(self._join, table, join, events)}

    def _all_events(self) -> DataFrame:
        return self.store.read(EVENTS).where(f.col(BATCH) <= self.last_batch)

    def _events(self) -> DataFrame:
        events = self._all_events()
        return events if self.extent is None else self._chosen(events.where(f.col(BATCH) >= self.extent.first_batch))

    def _chosen(self, rows: DataFrame) -> DataFrame:
        return rows if self.extent is None else rows.where(f.col("group_id").isin(sorted(self.extent.groups)))

    def _order(self, events: DataFrame) -> DataFrame:
        if self.extent is None:
            return runs(events).localCheckpoint()
        placed = [(boot, place) for place, boot in enumerate(self.extent.order, start=1)]
        return self.store.spark.createDataFrame(placed, f"boot string, {RUN} long")

    def _make(self, table: Table, make: Callable[[DataFrame], DataFrame], events: DataFrame) -> None:
        self._put(table, make(events))

    def _join(self, table: Table, join: Callable[[Tables], DataFrame], events: DataFrame) -> None:
        self._put(table, join(self._tables(events)))

    def _put(self, table: Table, rows: DataFrame) -> None:
        if self.extent is None:
            self.store.replace(table, rows)
        else:
            self.store.amend(table, rows, self.extent.groups)

    def _tables(self, events: DataFrame) -> Tables:
        names = (table for table, _ in (*FROM_EVENTS.values(), *FROM_TABLES.values()))
        return {**{table.name: self._chosen(self.store.read(table)) for table in names}, EVENTS.name: events}

    def _note_clocks(self) -> None:
        events, known = self._all_events(), self.store.read(REJECTED).where(f.col(BATCH) == DERIVED_BATCH)
        if self.extent is None:
            jumps = clock_jumps(events)
        else:
            is_touched = f.col("boot").isin(sorted(self.extent.boots))
            others = known.where(~is_touched).localCheckpoint()
            jumps = clock_jumps(events.where(is_touched)).unionByName(others)
        self.store.clear_batch(REJECTED, DERIVED_BATCH)
        self.store.append(REJECTED, jumps)
