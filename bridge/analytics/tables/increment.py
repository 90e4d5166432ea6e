"""Brings the derived tables on by what new events change, whatever history there is.

Each table is made of the new events and of what is carried for it; rows that this makes otherwise take the place of
what there was. Groups for which that would not be all of the truth are named by `late`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from bridge.analytics.intake.reading import utc_day
from bridge.analytics.spark.rows import kept_rows, local_rows
from bridge.analytics.tables.batch_history import Extent
from bridge.analytics.tables.carrying import begun_of, carried, carried_for, events_for, with_none
from bridge.analytics.tables.daily import daily
from bridge.analytics.tables.definitions import (
    CARRIED,
    DAILY,
    DATE,
    EVENTS,
    FLAPS,
    MEMBERS,
    PHASES,
    REBALANCES,
    STALLS,
    STORMS,
    Table,
)
from bridge.analytics.tables.open_rebalances import strays
from bridge.analytics.tables.positions import positioned, run_places
from bridge.analytics.tables.rebalances import KEY
from bridge.analytics.tables.steps import FROM_EVENTS, Make, Stage, makers
from bridge.analytics.tables.store import EVER, FIRST_DAY, Store, is_since
from bridge.analytics.tables.storms import SPAN_US, storms
from bridge.analytics.tables.telling import Part, Telling

BEGAN = "began_event"


@dataclass(frozen=True, slots=True)
class Increment:
    """Brings tables to a batch, from the one behind which an extent begins; but for days before `since`."""

    store: Store
    last_batch: int
    extent: Extent
    since: str = EVER
    telling: Telling | None = None
    """What stretches of the new events tell of tables, if somebody has looked."""
    days: set[str] = field(default_factory=set)
    """The days of which rows have changed so far."""

    def late(self) -> frozenset[str]:
        """The groups that have to be made of all their events: what came belongs before something else that is known,
        or to a rebalance that is not carried any more.
        """
        astray = strays(self._fresh(self.extent.late), self._carried())
        return self.extent.late | {str(group) for (group,) in astray.collect()}

    def stages(self, late: frozenset[str]) -> Iterator[Stage]:
        """The steps by the table that each one writes, for all groups but those that are late."""
        order = run_places(self.store.spark, self.extent.order)
        fresh = self._fresh(late)
        named = f.broadcast(self._groups(late))
        kept = self._carried().join(named, "group_id", "left_semi").localCheckpoint()
        events = positioned(with_none(fresh).unionByName(kept, allowMissingColumns=True), order)
        is_small = self.store.is_small(EVENTS, self.extent.after, self.last_batch)
        if is_small:
            # Twelve queries begin with them: each would plan how to read and to place them, which takes longer. What is
            # new and what is carried are a piece each, and each order and each group would put them together anew.
            is_one = self.store.is_small(CARRIED, self.extent.after, self.last_batch)
            events = kept_rows(events.coalesce(1) if is_one else events)
        # A file of a stretch has rows of all groups, and what is put together already costs less than another look.
        telling = None if late or is_small else self.telling
        parts = {} if telling is None else telling.parts(self.store, fresh, kept, order)
        marks = None if telling is None else telling.marks(self.store, kept)
        changed, begun = list[str](), begun_of(events)

        def events_of(name: str) -> DataFrame:
            return parts[name].events if name in parts else events_for(events, name)

        def carry() -> None:
            rows = carried(events_of, order, begun)
            # They become one file; made as one piece as well, a single task would look through all that is new.
            each = rows if is_small else rows.repartition(1)
            self.store.put_groups(CARRIED, each, self.extent.groups - late, self.since)

        made = {
            name: partial(self._make, table, make, events, kept, changed)
            for name, (table, make) in makers(begun, marks).items()
            if name not in parts
        }
        made |= {name: partial(self._make_rest, FROM_EVENTS[name], part, kept) for name, part in parts.items()}
        yield made | {CARRIED.name: carry}
        self.days.update(self._fresh_days())
        if changed:
            yield {STORMS.name: partial(self._storms, changed)}
        yield {DAILY.name: partial(self._daily, late)}

    def _fresh(self, late: frozenset[str]) -> DataFrame:
        rows = self.store.read_batches(EVENTS, self.extent.after, self.last_batch)
        return rows.where(f.col("group_id").isNotNull() & ~f.col("group_id").isin(sorted(late)))

    def _fresh_days(self) -> Iterator[str]:
        """The days of new events, by the log of the table, which reads nothing; a day too many comes out as it was."""
        for file in self.store.log(EVENTS).files():
            if file.day is not None and file.may_hold_batches(self.extent.after, self.last_batch):
                yield file.day

    def _carried(self) -> DataFrame:
        """What is carried, without what is of days of which events are gone by now."""
        return self.store.read(CARRIED).where(is_live(self.since))

    def _groups(self, late: frozenset[str]) -> DataFrame:
        on_time = sorted((group,) for group in self.extent.groups - late)
        return local_rows(self.store.spark, {"group_id": pa.string()}, on_time)

    def _make(self, table: Table, make: Make, events: DataFrame, kept: DataFrame, changed: list[str]) -> None:
        paths = self._merge(table, make(events_for(events, table.name)), kept)
        if table is REBALANCES:
            changed.extend(paths)

    def _make_rest(self, made: tuple[Table, Make], part: Part, kept: DataFrame) -> None:
        """What stretches tell is of new events only: there is nothing whose place it takes."""
        table, make = made
        live = [one for one in part.staged() if is_since(one.day, self.since)]
        if live:
            self._note(self.store.commit(table, live))
        self._merge(table, part.chosen(make(part.events)), kept)

    def _merge(self, table: Table, rows: DataFrame, kept: DataFrame) -> list[str]:
        """Let rows become part of a table, but for those that are what they were; give the paths of what changed."""
        own = f.broadcast(carried_for(kept, table))
        known: DataFrame | None = None
        if table in {PHASES, MEMBERS}:
            # What is carried is open; where it still is, its row is what it was.
            is_as_it_was = rows["ended_us"].isNull() & f.col("was").isNotNull()
            was = own.select(f.col("event_id").alias(BEGAN), f.lit(True).alias("was"))
            known = own.select(*(name for name in table.key if name != BEGAN), f.col("event_id").alias(BEGAN))
            rows = rows.join(f.broadcast(was), BEGAN, "left").where(~is_as_it_was).select(*table.column_names)
        elif table is REBALANCES:
            known = own.select(*KEY).distinct()
        elif table is STALLS:
            ended = own.select(f.col("event_id").alias("fetched_event")).distinct()
            rows = rows.join(f.broadcast(ended), "fetched_event", "left_anti").select(*table.column_names)
        paths = self.store.merge(table, rows, known, self.since)
        self._note(paths)
        return paths

    def _storms(self, changed: list[str]) -> None:
        """The storms that a rebalance which changed may be in, and all later ones."""
        store = self.store
        files = [file for file in store.log(REBALANCES).files() if file.path in changed]
        firsts = store.read_files(REBALANCES, files).groupBy("group_id").agg(f.min("began_us")).collect()
        since = {str(group): int(first) for group, first in firsts if first is not None}
        near = self._storms_of(since, SPAN_US)
        for group, began in near.groupBy("group_id").agg(f.min("began_us")).collect():
            since[group] = min(since[group], began)
        # A storm that was none so far begins with rebalances from before the one that makes it one.
        each = self._near(store.read_since(REBALANCES, "began_us", _least(since) - SPAN_US), since)
        found = storms(each.where(f.col("began_us") >= f.col("since_us") - SPAN_US).drop("since_us"))
        made = self._near(found, since).where(f.col("ended_us") >= f.col("since_us")).drop("since_us")
        known = self._storms_of(since, 0).select(*STORMS.key, DATE).collect()
        self.days.update(str(row[DATE]) for row in known)
        key = {"group_id": pa.string(), "began_us": pa.int64(), DATE: pa.date32()}
        old = local_rows(store.spark, key, known) if known else None
        self._note(store.merge(STORMS, made.select(*STORMS.column_names), old, self.since, is_all=True))

    def _storms_of(self, since: Mapping[str, int], spared_us: int) -> DataFrame:
        """The storms of groups that ended at their moment or later, or not so long before it."""
        rows = self._near(self.store.read_since(STORMS, "ended_us", _least(since) - spared_us), since)
        return rows.where(f.col("ended_us") >= f.col("since_us") - spared_us)

    def _near(self, rows: DataFrame, since: Mapping[str, int]) -> DataFrame:
        """Rows of groups, each with the moment of its group (`since_us`)."""
        moments = local_rows(self.store.spark, {"group_id": pa.string(), "since_us": pa.int64()}, [*since.items()])
        return rows.join(f.broadcast(moments), "group_id")

    def _daily(self, late: frozenset[str]) -> None:
        groups = f.broadcast(self._groups(late))
        of_daily = (DAILY, REBALANCES, STALLS, FLAPS, STORMS)
        read = {
            table.name: self.store.read_days(table, self.days).join(groups, "group_id", "left_semi")
            for table in of_daily
        }
        rows = daily({**read, EVENTS.name: self._fresh(late)}, read[DAILY.name])
        self.store.merge(DAILY, rows, read[DAILY.name].select(*DAILY.key), self.since)

    def _note(self, paths: list[str]) -> None:
        self.days.update(path.partition("/")[0].partition("=")[2] for path in paths)


def is_live(since: str) -> Column:
    """Whether what is carried is of a day of which events are still there: from `since` on."""
    return utc_day(f.col("wall_us")) >= (since or FIRST_DAY)


def _least(since: Mapping[str, int]) -> int:
    return min(since.values(), default=0)
