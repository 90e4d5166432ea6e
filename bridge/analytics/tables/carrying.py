"""What is carried from one refresh of a stream to the next, so that later events can be taken without the earlier ones.

A few events of each group stand for all that it had: those of what is still open, and the last ones of each partition.
Tables that are made of them and of later events have the same rows for those as tables made of everything. What is
carried after that is made of the same.
"""

from collections.abc import Callable, Mapping
from functools import partial, reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables.definitions import CARRIED, CARRIED_FOR, FLAPS, MEMBERS, PHASES, REBALANCES, STALLS, Table
from bridge.analytics.tables.flaps import last_owners
from bridge.analytics.tables.members import living
from bridge.analytics.tables.open_rebalances import may_change
from bridge.analytics.tables.phases import open_phases
from bridge.analytics.tables.positions import RUN, RUN_BITS, SEQ
from bridge.analytics.tables.rebalances import BESIDE, kept_begun
from bridge.analytics.tables.stalls import last_held

CARRIES: Mapping[str, Callable[[DataFrame], DataFrame]] = {
    PHASES.name: open_phases,
    REBALANCES.name: may_change,
    STALLS.name: last_held,
    MEMBERS.name: living,
    FLAPS.name: last_owners,
}
"""What each table that is made of events needs of all earlier ones; every one also takes what it has carried itself."""


def carried(events_of: Callable[[str], DataFrame], order: DataFrame, begun: DataFrame) -> DataFrame:
    """Rows of `CARRIED` after these events: those of each table by its name, in order, which may begin with such rows;
    `begun` is theirs.
    """
    wanted: dict[str, Callable[[DataFrame], DataFrame]] = {**CARRIES, REBALANCES.name: partial(may_change, begun=begun)}
    parts = (_named(make(events_of(name)), name).drop("boot", "number", RUN) for name, make in wanted.items())
    rows = reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), parts)
    number = f.col(SEQ).bitwiseAND(f.lit((1 << RUN_BITS) - 1))
    placed = rows.withColumns({RUN: f.shiftright(SEQ, RUN_BITS), "number": number}).drop("date")
    return conform(CARRIED, placed.join(f.broadcast(order), RUN))


def begun_of(events: DataFrame) -> DataFrame:
    """What the own facts of the rebalances say: it is needed for their table and for what is carried of them."""
    return kept_begun(events_for(events, REBALANCES.name))


def with_none(events: DataFrame) -> DataFrame:
    """Events of which none is carried."""
    return events.withColumn(CARRIED_FOR, f.lit(None).cast("string"))


def events_for(events: DataFrame, name: str) -> DataFrame:
    """All events that a table is made of: new ones, and what is carried for it."""
    names = (name, BESIDE) if name == REBALANCES.name else (name,)
    return events.where(f.col(CARRIED_FOR).isNull() | f.col(CARRIED_FOR).isin(*names))


def carried_for(rows: DataFrame, table: Table) -> DataFrame:
    """What is carried for a table, by its own rows that may change."""
    return rows.where(f.col(CARRIED_FOR) == table.name)


def _named(rows: DataFrame, name: str) -> DataFrame:
    return rows if CARRIED_FOR in rows.columns else rows.withColumn(CARRIED_FOR, f.lit(name))
