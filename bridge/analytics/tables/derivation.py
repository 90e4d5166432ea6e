"""In which order the tables are made, and of what: of everything, of some groups, or of what is new."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from bridge.analytics.spark.column_types import conform
from bridge.analytics.spark.rows import local_rows
from bridge.analytics.stretches.spans import CHUNK
from bridge.analytics.tables.batch_history import Extent
from bridge.analytics.tables.carrying import begun_of, carried, events_for, with_none
from bridge.analytics.tables.definitions import CARRIED, EVENTS, FLAPS, PHASES, REBALANCES, REJECTED, STALLS, Table
from bridge.analytics.tables.increment import Increment
from bridge.analytics.tables.positions import (
    DERIVED_BATCH,
    chunk_of_number,
    clock_jumps,
    in_chunks,
    positioned,
    run_places,
    runs,
)
from bridge.analytics.tables.rebalances import rebalances
from bridge.analytics.tables.steps import FROM_EVENTS, FROM_TABLES, Stage, Tables, makers
from bridge.analytics.tables.store import EVER, Store
from bridge.analytics.tables.table_log import NOTHING_YET
from bridge.analytics.tables.telling import Telling

FILES_OF_ALL = 8
"""So many files hold what is carried for all groups, each for those between two of them."""
Put = Callable[[Table, DataFrame], None]
"""Writes rows of a table."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """Makes every derived table from the events up to a batch: all of it anew, or what an extent says; but for days
    before `since`, of which events are gone by now.
    """

    store: Store
    last_batch: int
    extent: Extent | None = None
    since: str = EVER
    goes_on: bool = True
    """Whether more events will come, for which some have to be carried."""
    telling: Telling | None = None
    """What stretches tell of tables, if somebody has looked: of all events, or of those that the extent calls new."""

    def stages(self) -> Iterator[Stage]:
        """The steps by the table that each one writes; those of a stage don't need one another, those before it do."""
        if self.extent is None:
            yield from self._everything()
            return
        increment = Increment(self.store, self.last_batch, self.extent, self.since, self.telling)
        yield {REJECTED.name: partial(self._note_clocks, self.extent)}
        late = increment.late()
        if late:
            yield from self._of_groups(self.extent, late)
        if late != self.extent.groups:
            yield from increment.stages(late)

    def _everything(self) -> Iterator[Stage]:
        events = self.store.read_batches(EVENTS, NOTHING_YET, self.last_batch)
        known = None if self.telling is None else self.telling.order(self.store.spark)
        order = runs(events).localCheckpoint() if known is None else known
        ordered = positioned(events, order)
        begun = begun_of(with_none(ordered)) if self.goes_on else None

        def make(table: Table, rows: DataFrame) -> None:
            self.store.replace(table, rows, self.since)

        def note_all() -> None:
            unsteady = None if self.telling is None else self.telling.unsteady()
            if unsteady is None or unsteady:
                seen = events if unsteady is None else events.where(f.col("boot").isin(unsteady))
                self.store.put_batch(REJECTED, clock_jumps(seen), DERIVED_BATCH)

        def carry_all(begun: DataFrame) -> None:
            rows = carried(partial(events_for, with_none(ordered)), order, begun)
            self.store.replace(CARRIED, rows.repartitionByRange(FILES_OF_ALL, "group_id"))

        def finish(table: Table, telling: Telling) -> None:
            files = telling.finished(table)
            if files is not None:
                self.store.replace_by(table, files, self.since)
                return
            rows = telling.rows(self.store, table, ordered, order)
            self.store.replace(table, rows, self.since, telling.staged(table))

        made = {name: partial(_put, make, table, of, ordered) for name, (table, of) in makers(begun).items()}
        if self.telling is not None:
            made |= {table.name: partial(finish, table, self.telling) for table in (PHASES, STALLS, FLAPS)}
            of_rebalances = partial(rebalances, begun=begun, marks=self.telling.marks(self.store))
            made[REBALANCES.name] = partial(_put, make, REBALANCES, of_rebalances, ordered)
        carry = {} if begun is None else {CARRIED.name: partial(carry_all, begun)}
        yield made | {REJECTED.name: note_all} | carry
        for table, join in FROM_TABLES.values():
            yield {table.name: partial(_join, make, table, join, partial(self._tables, events))}

    def _of_groups(self, extent: Extent, groups: frozenset[str]) -> Iterator[Stage]:
        """All rows of some groups, made of all of their events."""
        is_named = f.col("group_id").isin(sorted(groups))
        events = self.store.read_groups(EVENTS, groups, self.last_batch).where(is_named)
        order = run_places(self.store.spark, extent.order)
        ordered = positioned(events, order)
        begun = begun_of(with_none(ordered))

        def amend(table: Table, rows: DataFrame) -> None:
            self.store.amend(table, rows, groups, self.since)

        def carry() -> None:
            rows = carried(partial(events_for, with_none(ordered)), order, begun)
            self.store.put_groups(CARRIED, rows, groups, self.since)

        made = {name: partial(_put, amend, table, of, ordered) for name, (table, of) in makers(begun).items()}
        yield made | {CARRIED.name: carry}
        for table, join in FROM_TABLES.values():
            yield {table.name: partial(_join, amend, table, join, partial(self._tables, events, is_named))}

    def _tables(self, events: DataFrame, is_chosen: Column | None = None) -> Tables:
        names = (table for table, _ in (*FROM_EVENTS.values(), *FROM_TABLES.values()))
        told = {table.name: self.store.read(table) for table in names}
        chosen = told if is_chosen is None else {name: rows.where(is_chosen) for name, rows in told.items()}
        return {**chosen, EVENTS.name: events}

    def _note_clocks(self, extent: Extent) -> None:
        """The jumps that are known, but for those at events of these chunks and behind them, which are found anew.

        An event is compared with the one before it, so the chunks before these are read, too. Where no clock jumped,
        then or now, nothing is written: rows of other reasons that share a file with jumps would be copied each time.
        """
        judged = {(boot, chunk + step) for boot, chunk in extent.chunks for step in (0, 1)}
        read = {(boot, chunk + step) for boot, chunk in extent.chunks for step in (-1, 0, 1)}
        spans: dict[str, list[tuple[int, int]]] = {}
        for boot, chunk in read:
            spans.setdefault(boot, []).append((chunk * CHUNK, (chunk + 1) * CHUNK - 1))
        events = in_chunks(self.store.read_chunks(EVENTS, spans, self.last_batch), self._frame(read))
        found = in_chunks(clock_jumps(events), self._frame(judged)).localCheckpoint()
        known = self.store.read_batches(REJECTED, DERIVED_BATCH - 1, DERIVED_BATCH).select("*", chunk_of_number())
        named = f.broadcast(self._frame(judged))
        if found.isEmpty() and known.join(named, ["boot", "chunk"], "left_semi").isEmpty():
            return
        others = known.join(named, ["boot", "chunk"], "left_anti")
        self.store.put_batch(REJECTED, conform(REJECTED, found.unionByName(others)), DERIVED_BATCH)

    def _frame(self, chunks: set[tuple[str, int]]) -> DataFrame:
        return local_rows(self.store.spark, {"boot": pa.string(), "chunk": pa.int64()}, sorted(chunks))


def _put(put: Put, table: Table, make: Callable[[DataFrame], DataFrame], events: DataFrame) -> None:
    put(table, make(events))


def _join(put: Put, table: Table, join: Callable[[Tables], DataFrame], tables: Callable[[], Tables]) -> None:
    put(table, join(tables()))
