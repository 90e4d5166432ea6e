"""What the batches of a stream brought so far: groups, runs and their order, so that only what changed is made anew.

Nothing is kept that grows with the number of events.
"""

from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.tables.definitions import BATCH, EVENTS
from bridge.analytics.tables.positions import chunk_of_number
from bridge.analytics.tables.store import Store
from bridge.analytics.tables.table_log import NOTHING_YET

GROUPS_MAX = 2_000
"""If more groups than these changed, choosing their events costs more than making all tables anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What has to be made anew.

    Attributes:
        groups: these groups, which came with `first_batch` at the earliest.
        chunks: parts of runs (boot, place; see `positions.CHUNK`) whose clocks have to be looked at again.
        order: all runs known, in the order in which they began.
    """

    groups: frozenset[str]
    first_batch: int
    chunks: frozenset[tuple[str, int]]
    order: tuple[str, ...]


@dataclass(slots=True)
class History:
    """What is known of the batches up to `last_batch`.

    Attributes:
        first_batches: group id to the first batch that spoke of it.
        began: boot to its lowest number and the wall clock (microseconds) of that event.
    """

    store: Store
    last_batch: int = NOTHING_YET
    first_batches: dict[str, int] = field(default_factory=dict)
    began: dict[str, tuple[int, int]] = field(default_factory=dict)

    def advance(self, last_batch: int) -> Extent | None:
        """Take note of the batches up to this one; return what they change, None for everything.

        That is so the first time, since what was made before is not known, and if two runs that were there before
        turn out to have begun the other way round: then every group of both is in another order.
        """
        fresh = self.store.read_batches(EVENTS, self.last_batch, last_batch)
        is_first, former = self.last_batch == NOTHING_YET, self.order()
        groups, chunks = self._note_groups(fresh), self._note_runs(fresh)
        self.last_batch = last_batch
        order, known = self.order(), {*former}
        is_turned = tuple(boot for boot in order if boot in known) != former
        if is_first or is_turned or len(groups) > GROUPS_MAX:
            return None
        first_batch = min((self.first_batches[group] for group in groups), default=last_batch)
        return Extent(groups=groups, first_batch=first_batch, chunks=chunks, order=order)

    def order(self) -> tuple[str, ...]:
        """The runs as `positions.runs` orders them."""
        return tuple(sorted(self.began, key=lambda boot: (self.began[boot][1], boot)))

    def _note_groups(self, fresh: DataFrame) -> frozenset[str]:
        named = fresh.where(f.col("group_id").isNotNull()).groupBy("group_id").agg(f.min(BATCH).alias(BATCH))
        found: dict[str, int] = {row["group_id"]: row[BATCH] for row in named.collect()}
        self.first_batches = found | self.first_batches
        return frozenset(found)

    def _note_runs(self, fresh: DataFrame) -> frozenset[tuple[str, int]]:
        lowest = f.min(f.struct("number", "wall_us")).alias("lowest")
        rows = fresh.groupBy("boot", chunk_of_number()).agg(lowest).select("boot", "chunk", "lowest.*").collect()
        for boot, _, number, wall_us in rows:
            self.began[boot] = min((number, wall_us), self.began.get(boot, (number, wall_us)))
        return frozenset((boot, chunk) for boot, chunk, _, _ in rows)
