"""Tables of what stretches of runs tell by themselves, and of what is left of events: that alone Spark looks at."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bridge.analytics.spark.rows import kept_rows
from bridge.analytics.stretches.between import write_between
from bridge.analytics.stretches.clocks import by_run
from bridge.analytics.stretches.files import SHARES, Account, Told, in_one_account, put_together
from bridge.analytics.stretches.phases import LEFT as OF_PHASES
from bridge.analytics.stretches.phases import tells_of
from bridge.analytics.tables import disturbance
from bridge.analytics.tables.carrying import carried_for
from bridge.analytics.tables.definitions import BATCH, EPISODE, EVENTS, FLAPS, PHASES, REBALANCES, STALLS, Table
from bridge.analytics.tables.disturbance import marked
from bridge.analytics.tables.flaps import flaps
from bridge.analytics.tables.phases import phases
from bridge.analytics.tables.positions import JUMP_MIN_US, SORT_KEY, keyed, positioned, run_places
from bridge.analytics.tables.stalls import stalls
from bridge.analytics.tables.store import Staged, Store
from bridge.telemetry.schema.facts import (
    PartitionsAssigned,
    PartitionsFetched,
    PartitionsReleased,
    PartitionsTold,
    PhaseBegan,
    PhaseEnded,
)

KINDS: Mapping[str, tuple[str, ...]] = {
    PHASES.name: (PhaseBegan.kind, PhaseEnded.kind),
    STALLS.name: (PartitionsTold.kind, PartitionsReleased.kind, PartitionsAssigned.kind, PartitionsFetched.kind),
    FLAPS.name: (PartitionsAssigned.kind,),
}
_MAKE: Mapping[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
    STALLS.name: (stalls, "fetched_event"),
    FLAPS.name: (flaps, "back_event"),
}
"""Tables of the rows of partitions, and the event by which a row of theirs is known."""
_IS_DONE = "is_done"
LEFT_SHARE_MAX = 0.5
"""If stretches leave more rows than these of each event, they tell too little: those of a topic of many partitions that
come far out of order. All events have some one and a half.
"""
SPARED_BATCHES = 16
"""So many batches are not asked behind one that has told too little: each of them takes longer to read for it."""
Choose = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True, slots=True)
class Part:
    """What is left of a table where stretches tell of the rest: the `events` of which its other rows are made and what
    is carried for it, which of those rows are no stretch's (`chosen`), and the files (day, path) with the rows of
    stretches.
    """

    events: DataFrame
    chosen: Choose
    days: Sequence[tuple[str, str]]

    def staged(self) -> list[Staged]:
        """Those rows in one file for each day: what a refresh adds stays there until an upkeep."""
        return [Staged(path, day) for day, path in put_together(self.days)]


@dataclass(frozen=True, slots=True)
class Telling:
    """What stretches tell of tables, and the files of `events` that no stretch is of."""

    told: Account
    untold: Collection[str] = ()

    @property
    def whole(self) -> Account | None:
        """What stretches tell, if that is of all events."""
        return None if self.untold else self.told

    def staged(self, table: Table) -> list[Staged]:
        """The files with rows of a table."""
        return [Staged(path, day) for day, path in self._days(table)]

    def finished(self, table: Table) -> list[Staged] | None:
        """The files with all rows of a table; None where some of them are to be made by Spark (`rows`)."""
        made = None if self.untold else write_between(self.told, table.name, self._runs())
        return None if made is None else [*self.staged(table), *(Staged(path, day) for day, path in made)]

    def rows(self, store: Store, table: Table, events: DataFrame, order: DataFrame) -> DataFrame:
        """The rows of a table that no stretch could tell; `events` are all, in order."""
        left = self._left(store, table)
        if table is PHASES:
            return _of_begins(left, phases(_of_episodes(_episodes(left), events)))
        make, _ = _MAKE[table.name]
        return _without_done(table, left, make(positioned(left, order)))

    def parts(self, store: Store, fresh: DataFrame, kept: DataFrame, order: DataFrame) -> Mapping[str, Part]:
        """What is left of each table that stretches tell of, where new events are `fresh`, and `kept` is carried for
        those before them.

        To what a stretch leaves it is one whatever was left before it: all that there was, or what is carried for it.
        """
        told = dict[str, Part]()
        for table in (PHASES, STALLS, FLAPS):
            own = carried_for(kept, table)
            left = self._left(store, table).unionByName(own, allowMissingColumns=True)
            if table is PHASES and self._tells_more_of(own):
                spanning = _of_episodes(f.broadcast(_episodes(left)), fresh.select(*OF_PHASES))
                whole = positioned(spanning.unionByName(own.select(*OF_PHASES)), order)
                events, chosen = kept_rows(whole), partial(_of_begins, left)
            elif table is PHASES:
                events, chosen = positioned(left, order), partial(_of_begins, left)
            else:
                events, chosen = positioned(left, order), partial(_without_done, table, left)
            told[table.name] = Part(events, chosen, [*self._days(table)])
        return told

    def _tells_more_of(self, own: DataFrame) -> bool:
        """Whether stretches tell of episodes of phases of which something is left, or carried (`own`)."""
        if self.untold:
            return True
        names = pa.schema([(name, pa.string()) for name in EPISODE])
        read = (pyarrow.parquet.ParquetFile(path).read([*EPISODE]) for path in self._paths(PHASES.name))
        left = pa.concat_tables(part.cast(names) for part in (own.select(*EPISODE).toArrow(), *read))
        return tells_of((path for _, path in self._days(PHASES)), left)

    def order(self, spark: SparkSession) -> DataFrame | None:
        """Each run with its place in the order in which they began; None where events of runs are untold."""
        return None if self.untold else run_places(spark, self._runs())

    def unsteady(self) -> list[str] | None:
        """The runs whose wall clock may have jumped; None where nobody knows."""
        if self.untold:
            return None
        clocks = by_run(self.told.clocks).values()
        return [one.boot for one in clocks if one.most_lag_us - one.least_lag_us >= JUMP_MIN_US]

    def marks(self, store: Store, kept: DataFrame | None = None) -> DataFrame:
        """What events say of members in rebalances, added up as far as they were read together; and those that are
        carried from before.
        """
        paths = self._paths(SHARES)
        others = marked(self._others(store, disturbance.KINDS))
        if kept is not None:
            others = others.unionByName(marked(carried_for(kept, REBALANCES)))
        return store.spark.read.schema(others.schema).parquet(*paths).unionByName(others) if paths else others

    def _runs(self) -> list[str]:
        clocks = by_run(self.told.clocks).values()
        return [one.boot for one in sorted(clocks, key=lambda one: (one.wall_us, one.boot))]

    def _of(self, table: Table) -> Iterable[Told]:
        return (one for one in self.told.tables if one.table == table.name)

    def _days(self, table: Table) -> Iterable[tuple[str, str]]:
        return (file for one in self._of(table) for file in one.days)

    def _paths(self, name: str) -> list[str]:
        return [path for one in self.told.tables if one.table == name for path in one.left]

    def _others(self, store: Store, kinds: Collection[str]) -> DataFrame:
        """Events of these kinds that are of no stretch."""
        files = [file for file in store.log(EVENTS).files() if file.path in self.untold]
        return store.read_files(EVENTS, files).where(f.col("kind").isin(*kinds))

    def _left(self, store: Store, table: Table) -> DataFrame:
        """What is left of events of stretches, and the events that are of none."""
        others = self._others(store, KINDS[table.name]).withColumn(_IS_DONE, f.lit(False))
        paths = self._paths(table.name)
        return store.spark.read.schema(others.schema).parquet(*paths).unionByName(others) if paths else others


@dataclass(slots=True)
class Tellings:
    """What stretches of the batches of a stream tell, until tables are made of them."""

    _told: dict[int, tuple[Account, tuple[str, ...]]] = field(default_factory=dict)
    _spared: int = 0

    def ask(self) -> bool:
        """Whether the next batch is to be asked."""
        self._spared -= self._spared > 0
        return not self._spared

    def note(self, batch: int, told: Account | None, files: Sequence[str]) -> None:
        """Keep in mind what stretches of a batch tell, if anything, and the files of `events` that this is of."""
        self._told[batch] = (told or Account(), tuple(files))

    def of(self, store: Store, after: int, last_batch: int) -> Telling | None:
        """What is told of the batches later than `after`, up to this one. None where that is of less than half of them
        or leaves too much, and where what it is of has been put together with other events since.
        """
        parts = [told for batch, told in [*self._told.items()] if after < batch <= last_batch]
        whole, names = in_one_account(told for told, _ in parts), {path for _, paths in parts for path in paths}
        held = [file for file in store.log(EVENTS).files() if file.may_hold_batches(after, last_batch)]
        told, untold = ([file for file in held if (file.path in names) is is_told] for is_told in (True, False))
        sizes_bytes = [sum(file.size_bytes for file in files) for files in (told, untold)]
        is_as_it_was = len(told) == len(names) and all(file.lies_in(BATCH, after + 1, last_batch) for file in untold)
        if not told or whole is None or not is_as_it_was or sizes_bytes[0] < sizes_bytes[1]:
            return None
        if whole.count_left() > LEFT_SHARE_MAX * sum(file.rows or 0 for file in told):
            self._spared = SPARED_BATCHES
            return None
        return Telling(whole, [file.path for file in untold])

    def forget(self, last_batch: int) -> list[int]:
        """Let go of batches up to this one; give those that were noted."""
        gone = [batch for batch in [*self._told] if batch <= last_batch]
        for batch in gone:
            del self._told[batch]
        return gone


def _episodes(left: DataFrame) -> DataFrame:
    """The episodes of which something is left."""
    return keyed(left, *EPISODE).select(*SORT_KEY).distinct()


def _of_episodes(episodes: DataFrame, events: DataFrame) -> DataFrame:
    """All events of these episodes: between two stretches that have left something, another one may have more."""
    of_phases = keyed(events.where(f.col("kind").isin(*KINDS[PHASES.name])), *EPISODE)
    return of_phases.join(episodes, [*SORT_KEY], "left_semi").drop(*SORT_KEY)


def _of_begins(left: DataFrame, rows: DataFrame) -> DataFrame:
    """The rows of phases of which the begin is left."""
    begins = left.where(f.col("kind") == PhaseBegan.kind).select(f.col("event_id").alias("began_event"))
    return rows.join(begins, "began_event", "left_semi").select(*PHASES.column_names)


def _without_done(table: Table, left: DataFrame, rows: DataFrame) -> DataFrame:
    """The rows of partitions that no stretch has told."""
    _, event = _MAKE[table.name]
    done = left.where(f.coalesce(_IS_DONE, f.lit(False))).select(
        f.col("event_id").alias("done_event"), f.col("partitions")[0].alias("done_partition")
    )
    is_done = (f.col(event) == f.col("done_event")) & f.col("partition").eqNullSafe(f.col("done_partition"))
    return rows.join(f.broadcast(done), is_done, "left_anti")
