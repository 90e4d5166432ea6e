"""Tables of what stretches of runs tell by themselves, and of what is left of events: that alone Spark looks at."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bridge.analytics.stretches.between import write_between
from bridge.analytics.stretches.clocks import by_run
from bridge.analytics.stretches.files import SHARES, Account, Told
from bridge.analytics.tables import disturbance
from bridge.analytics.tables.definitions import EPISODE, EVENTS, FLAPS, PHASES, STALLS, Table
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


@dataclass(frozen=True, slots=True)
class Telling:
    """What stretches tell of tables, and the files of `events` that no stretch is of."""

    told: Account
    untold: Collection[str] = ()

    def staged(self, table: Table) -> list[Staged]:
        """The files with rows of a table."""
        return [Staged(path, day) for one in self._of(table) for day, path in one.days]

    def finished(self, table: Table) -> list[Staged] | None:
        """The files with all rows of a table; None where some of them are to be made by Spark (`rows`)."""
        made = None if self.untold else write_between(self.told, table.name, self._runs())
        return None if made is None else [*self.staged(table), *(Staged(path, day) for day, path in made)]

    def rows(self, store: Store, table: Table, events: DataFrame, order: DataFrame) -> DataFrame:
        """The rows of a table that no stretch could tell; `events` are all, in order."""
        left = self._left(store, table)
        if table is PHASES:
            return _open_phases(left, events)
        make, event = _MAKE[table.name]
        done = left.where(f.coalesce(_IS_DONE, f.lit(False))).select(
            f.col("event_id").alias("done_event"), f.col("partitions")[0].alias("done_partition")
        )
        rows = make(positioned(left, order))
        is_done = (f.col(event) == f.col("done_event")) & f.col("partition").eqNullSafe(f.col("done_partition"))
        return rows.join(done, is_done, "left_anti")

    def order(self, spark: SparkSession) -> DataFrame | None:
        """Each run with its place in the order in which they began; None where events of runs are untold."""
        return None if self.untold else run_places(spark, self._runs())

    def unsteady(self) -> list[str] | None:
        """The runs whose wall clock may have jumped; None where nobody knows."""
        if self.untold:
            return None
        clocks = by_run(self.told.clocks).values()
        return [one.boot for one in clocks if one.most_lag_us - one.least_lag_us >= JUMP_MIN_US]

    def marks(self, store: Store) -> DataFrame:
        """What events say of members in rebalances, added up as far as they were read together."""
        paths = self._paths(SHARES)
        others = marked(self._others(store, disturbance.KINDS))
        return store.spark.read.schema(others.schema).parquet(*paths).unionByName(others) if paths else others

    def _runs(self) -> list[str]:
        clocks = by_run(self.told.clocks).values()
        return [one.boot for one in sorted(clocks, key=lambda one: (one.wall_us, one.boot))]

    def _of(self, table: Table) -> Iterable[Told]:
        return (one for one in self.told.tables if one.table == table.name)

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


def _open_phases(left: DataFrame, events: DataFrame) -> DataFrame:
    """The begins that nothing follows in their stretch, with what does elsewhere: of all events of their episodes."""
    of_phases = keyed(events.where(f.col("kind").isin(*KINDS[PHASES.name])), *EPISODE)
    spanning = of_phases.join(keyed(left, *EPISODE).select(*SORT_KEY).distinct(), [*SORT_KEY], "left_semi")
    begins = left.where(f.col("kind") == PhaseBegan.kind).select(f.col("event_id").alias("began_event"))
    return phases(spanning).join(begins, "began_event", "left_semi").select(*PHASES.column_names)
