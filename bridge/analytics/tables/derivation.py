"""Which table is made from which, and in which order."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.spark.column_types import conform
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
from bridge.analytics.tables.positions import (
    CHUNK,
    DERIVED_BATCH,
    RUN,
    chunk_of_number,
    clock_jumps,
    in_chunks,
    positioned,
    runs,
)
from bridge.analytics.tables.rebalances import rebalances
from bridge.analytics.tables.stalls import stalls
from bridge.analytics.tables.store import EVER, Store
from bridge.analytics.tables.storms import storms
from bridge.analytics.tables.table_log import NOTHING_YET

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
    """Makes every derived table from the events up to a batch: all of it anew, or what an extent says; but for days
    before `since`, of which events are gone by now.
    """

    store: Store
    last_batch: int
    extent: Extent | None = None
    since: str = EVER

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

    def _events(self) -> DataFrame:
        after = NOTHING_YET if self.extent is None else self.extent.first_batch - 1
        return self._chosen(self.store.read_batches(EVENTS, after, self.last_batch))

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
            self.store.replace(table, rows, self.since)
        else:
            self.store.amend(table, rows, self.extent.groups, self.since)

    def _tables(self, events: DataFrame) -> Tables:
        names = (table for table, _ in (*FROM_EVENTS.values(), *FROM_TABLES.values()))
        return {**{table.name: self._chosen(self.store.read(table)) for table in names}, EVENTS.name: events}

    def _note_clocks(self) -> None:
        if self.extent is None:
            jumps = clock_jumps(self.store.read_batches(EVENTS, NOTHING_YET, self.last_batch))
        else:
            jumps = self._jumps_of(self.extent.chunks)
        self.store.put_batch(REJECTED, jumps, DERIVED_BATCH)

    def _jumps_of(self, chunks: frozenset[tuple[str, int]]) -> DataFrame:
        """The jumps that are known, but for those at events of these chunks and behind them, which are found anew.

        An event is compared with the one before it, so the chunks before these are read, too.
        """
        judged = {(boot, chunk + step) for boot, chunk in chunks for step in (0, 1)}
        read = {(boot, chunk + step) for boot, chunk in chunks for step in (-1, 0, 1)}
        spans = [(chunk * CHUNK, (chunk + 1) * CHUNK - 1) for chunk in sorted({chunk for _, chunk in read})]
        events = in_chunks(self.store.read_spans(EVENTS, "number", spans), self._frame(read))
        found = in_chunks(clock_jumps(events.where(f.col(BATCH) <= self.last_batch)), self._frame(judged))
        known = self.store.read_batches(REJECTED, DERIVED_BATCH - 1, DERIVED_BATCH).select("*", chunk_of_number())
        others = known.join(f.broadcast(self._frame(judged)), ["boot", "chunk"], "left_anti")
        return conform(REJECTED, found.unionByName(others))

    def _frame(self, chunks: set[tuple[str, int]]) -> DataFrame:
        return self.store.spark.createDataFrame(sorted(chunks), "boot string, chunk long")
