"""What the batches of a stream brought so far: groups, runs and their order, so that only what changed is made anew.

Nothing is kept that grows with the number of events, or of groups that come and go.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.stretches.files import Account
from bridge.analytics.stretches.spans import GroupSpan, Spans
from bridge.analytics.tables.definitions import EVENTS
from bridge.analytics.tables.positions import RUN_BITS, chunk_of_number
from bridge.analytics.tables.store import Store
from bridge.analytics.tables.table_log import NOTHING_YET

GROUPS_MAX = 2_000
"""If more groups than these have to be made of all their events, choosing those costs more than making all anew."""
GROUPS_KEPT_MAX = 50_000
"""Of so many groups is known where they end. Groups that are named for one run would be more each day, and all of them
are written down with every refresh.
"""
LAST_NUMBER = (1 << RUN_BITS) - 1
"""Behind all events of a run."""
Place = tuple[str, int]
"""An event: its boot and its number."""
Begin = tuple[str, tuple[int, int]]
"""A boot, and the lowest number that is known of it with the wall clock (microseconds) of that event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What has to be made anew.

    Attributes:
        after: the last batch that was known before; what came later is new.
        groups: the groups of which new events speak.
        late: those of them that have a new event from before another one that was known: what is carried for them is
            that of a later time, so they are made of all their events.
        chunks: parts of runs (boot, place; see `positions.CHUNK`) whose clocks have to be looked at again.
        order: all runs known, in the order in which they began.
    """

    after: int
    groups: frozenset[str]
    late: frozenset[str]
    chunks: frozenset[Place]
    order: tuple[str, ...]


@dataclass(slots=True)
class History:
    """What is known of the batches up to `last_batch`.

    Attributes:
        began: boot to its lowest number and the wall clock (microseconds) of that event.
        ends: group id to the last of its events.
        forgotten: an event behind which no group ends whose end is not known, None as long as all are.
    """

    store: Store
    last_batch: int = NOTHING_YET
    began: dict[str, tuple[int, int]] = field(default_factory=dict)
    ends: dict[str, Place] = field(default_factory=dict)
    forgotten: Place | None = None

    def advance(self, last_batch: int, told: Account | None = None) -> Extent | None:
        """Take note of the batches up to this one; return what they change, None for everything. `told` is what their
        readers tell, if that is of all their events.

        That is so the first time, since what was made before is not known, and if two runs that were there before
        turn out to have begun the other way round: then every group of both is in another order.
        """
        after, former = self.last_batch, self.order()
        spans, begins = (
            _looked_up(self.store.read_batches(EVENTS, after, last_batch))
            if told is None
            else (told.spans, [(one.boot, (one.number, one.wall_us)) for one in told.clocks])
        )
        self._note_runs(begins)
        groups, late = self._note_groups(spans.groups)
        self.last_batch = last_batch
        order, known = self.order(), {*former}
        is_turned = tuple(boot for boot in order if boot in known) != former
        self._forget(is_turned=is_turned)
        if after == NOTHING_YET or is_turned or len(late) > GROUPS_MAX:
            return None
        return Extent(after=after, groups=groups, late=late, chunks=spans.chunks, order=order)

    def order(self) -> tuple[str, ...]:
        """The runs as `positions.runs` orders them."""
        return tuple(sorted(self.began, key=lambda boot: (self.began[boot][1], boot)))

    def _note_groups(self, told: Iterable[GroupSpan]) -> tuple[frozenset[str], frozenset[str]]:
        """The groups of which new events speak, and those of them that are late.

        Put in order here: Spark would need the order of all runs for it, which is a job more.
        """
        seq = partial(_seq, _places(self.order()))
        spans: dict[str, list[Place]] = {}
        for one in told:
            spans.setdefault(one.group_id, []).extend(((one.boot, one.least), (one.boot, one.most)))
        late: set[str] = set()
        for group, places in spans.items():
            end, last = seq(self.ends.get(group, self.forgotten)), max(places, key=seq)
            if seq(min(places, key=seq)) <= end:
                late.add(group)
            if seq(last) > end:
                self.ends[group] = last
        return frozenset(spans), frozenset(late)

    def _forget(self, *, is_turned: bool) -> None:
        """Let the ends go that are longest ago, if they are too many.

        A group that comes back before where the last of those is counts as late: made of all its events it is right,
        whenever it ended.
        """
        order = self.order()
        if is_turned and self.forgotten is not None:
            # Which of them was the last is not known in another order; it was in one of these runs.
            self.forgotten = (order[-1], LAST_NUMBER)
        places = _places(order)
        by_age = sorted(self.ends, key=lambda group: _seq(places, self.ends[group]))
        for group in by_age[: max(0, len(by_age) - GROUPS_KEPT_MAX)]:
            self.forgotten = max(self.forgotten or self.ends[group], self.ends.pop(group), key=partial(_seq, places))

    def _note_runs(self, begins: Iterable[Begin]) -> None:
        for boot, lowest in begins:
            self.began[boot] = min(lowest, self.began.get(boot, lowest))


def _looked_up(fresh: DataFrame) -> tuple[Spans, list[Begin]]:
    """Where new events lie, and with what their runs begin, in one look at them: the `least` number with its `wall_us`,
    and the `most`, of each group and run, without a `chunk`, and of each chunk of a run, without a group.
    """
    rows = fresh.select("group_id", "boot", "number", "wall_us", chunk_of_number())
    least = f.min(f.struct("number", "wall_us")).alias("lowest")
    sets = [["group_id", "boot"], ["boot", "chunk"]]
    told = rows.groupingSets(sets, "group_id", "boot", "chunk").agg(least, f.max("number").alias("most"))
    lowest = (f.col("lowest.number").alias("least"), f.col("lowest.wall_us"))
    found = told.select("group_id", "boot", "chunk", "most", *lowest).collect()
    of_chunks = [row for row in found if row["chunk"] is not None]
    of_groups = [row for row in found if row["chunk"] is None and row["group_id"] is not None]
    groups = tuple(GroupSpan(row["group_id"], row["boot"], row["least"], row["most"]) for row in of_groups)
    chunks = frozenset((row["boot"], row["chunk"]) for row in of_chunks)
    return Spans(groups, chunks), [(row["boot"], (row["least"], row["wall_us"])) for row in of_chunks]


def _places(order: Sequence[str]) -> Mapping[str, int]:
    return {boot: run for run, boot in enumerate(order, start=1)}


def _seq(places: Mapping[str, int], event: Place | None) -> int:
    """Where an event is among all (`positions.SEQ`); before all others if there is none."""
    return NOTHING_YET if event is None else places[event[0]] << RUN_BITS | event[1]
