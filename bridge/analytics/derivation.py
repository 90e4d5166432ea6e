"""Which table is made from which, and in which order.

It must not know how a row comes about, nor whether the events came from files or from a stream.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.daily import daily
from bridge.analytics.flaps import flaps
from bridge.analytics.members import members
from bridge.analytics.phases import phases
from bridge.analytics.positions import DERIVED_BATCH, clock_jumps, positioned, runs
from bridge.analytics.rebalances import rebalances
from bridge.analytics.stalls import stalls
from bridge.analytics.store import Store
from bridge.analytics.storms import storms
from bridge.analytics.tables import (
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

Tables = Mapping[str, DataFrame]
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
    """Makes every derived table anew from the events up to a batch."""

    store: Store
    last_batch: int

    def steps(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """The steps by the table that each one writes, to be done in this order."""
        events = self.store.read(EVENTS).where(f.col(BATCH) <= self.last_batch)
        ordered = positioned(events, runs(events).localCheckpoint())
        for table, make in FROM_EVENTS.values():
            yield table.name, partial(self._make, table, make, ordered)
        for table, join in FROM_TABLES.values():
            yield table.name, partial(self._join, table, join, events)
        yield REJECTED.name, partial(self._note_clocks, events)

    def _make(self, table: Table, make: Callable[[DataFrame], DataFrame], events: DataFrame) -> None:
        self.store.replace(table, make(events))

    def _join(self, table: Table, join: Callable[[Tables], DataFrame], events: DataFrame) -> None:
        self.store.replace(table, join(self._tables(events)))

    def _tables(self, events: DataFrame) -> Tables:
        made = {table.name: self.store.read(table) for table, _ in (*FROM_EVENTS.values(), *FROM_TABLES.values())}
        return {**made, EVENTS.name: events}

    def _note_clocks(self, events: DataFrame) -> None:
        self.store.clear_batch(REJECTED, DERIVED_BATCH)
        self.store.append(REJECTED, clock_jumps(events))
