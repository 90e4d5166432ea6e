"""The table `stalls`: how long each partition stood still between two owners, and the exploded rows others share."""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f
from pyspark.sql.window import WindowSpec

from bridge.analytics.intake.reading import utc_day
from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables.definitions import STALLS
from bridge.analytics.tables.positions import MOMENT, SEQ, SORT_KEY, elapsed_us, keyed, moment
from bridge.telemetry.schema.facts import PartitionsAssigned, PartitionsFetched, PartitionsReleased, PartitionsTold

TOLD, RELEASED = PartitionsTold.kind, PartitionsReleased.kind
PARTITION = ("group_id", "partition")
ASSIGNED, FETCHED = PartitionsAssigned.kind, PartitionsFetched.kind
_CODES = {TOLD: 0, RELEASED: 1, ASSIGNED: 2, FETCHED: 3}
"""Kinds as the sorted rows have them, in `what`."""
_LAST_SEQS = ("told_seq", "released_seq", "assigned_seq", "fetched_seq")
"""The columns of a row that say where the last of each kind stands before it."""
_NEVER = -1
WHOLE = (Window.unboundedPreceding, Window.unboundedFollowing)
_BEGIN = {
    "start_seq": "begin_seq",
    "start_wall_us": "begin_wall_us",
    "start_mono_us": "begin_mono_us",
    "start_told_us": "begin_told_us",
    "start_rebalance": "rebalance_id",
    "before": "member_id",
    "protocol_before": "protocol",
}
"""What a fetch has to know of the row that began its stall, and the columns in which that row says it."""


def partition_rows(events: DataFrame, *kinds: str) -> DataFrame:
    """Events of these kinds, a row per partition they name."""
    rows = events.where(f.col("kind").isin(*kinds))
    slim = ("group_id", "rebalance_id", "road", "member_id", "instance_id", "protocol", "kind", "idle_us", "event_id")
    each = rows.select(*slim, moment().alias("at"), SEQ, f.explode("partitions").alias("partition"))
    return keyed(each, *PARTITION)


def stalls(events: DataFrame) -> DataFrame:
    """A row per fetch that ends a stall: from the first event that took the partition since the fetch before.

    Everything runs over one order of the rows of each partition, so Spark moves and sorts them once. Between two
    fetches at most one row begins a stall; without the rows that neither begin one nor fetch it is the one before.
    """
    order = Window.partitionBy(*SORT_KEY).orderBy(SEQ)
    named = {name: f.when(_is(FETCHED), f.col(name)) for name in PARTITION}
    begun = _known_rows(_slim_rows(events).withColumns(named)).where(_is_kept()).withColumns(_begin())
    followed = begun.withColumns({name: f.lag(source).over(order) for name, source in _BEGIN.items()})
    return conform(STALLS, followed.where(_is(FETCHED) & _ends()).withColumns(_columns()))


def last_held(events: DataFrame) -> DataFrame:
    """Of each partition the rows that tell what comes of later events, at most ten of all that there were.

    They are the last of each kind; the last that begins a stall or fetches, with those that were the last of each kind
    before it; and the last that began none because its owner had been told (behind it, none begins before a fetch).
    """
    known = _known_rows(_slim_rows(events))
    all_of_it = Window.partitionBy(*SORT_KEY).orderBy(SEQ).rowsBetween(*WHOLE)
    lasts = [f.max(f.when(_is(kind), f.col(SEQ))).over(all_of_it) for kind in _CODES]
    kept = f.struct(SEQ, *_LAST_SEQS)
    last_kept = f.max_by(kept, f.when(_is_kept(), f.col(SEQ))).over(all_of_it)
    passed_over = f.max(f.when(_is(RELEASED) & _is_fresh() & ~_is_kept(), f.col(SEQ))).over(all_of_it)
    told = known.withColumns({"lasts": f.array(*lasts, passed_over), "last_kept": last_kept})
    wanted = (*(f.col("lasts")[place] for place in range(len(_CODES) + 1)), *_fields("last_kept", SEQ, *_LAST_SEQS))
    is_wanted = reduce(Column.__or__, [f.coalesce(f.col(SEQ) == seq, f.lit(False)) for seq in wanted])
    kind = f.coalesce(*(f.when(_is(name), name) for name in _CODES)).alias("kind")
    of_use = ("rebalance_id", "member_id", "protocol", "road", "event_id", "wall_us", "mono_us", "idle_us", SEQ)
    return told.where(is_wanted).select(kind, "group_id", f.array("partition").alias("partitions"), *of_use)


def _fields(struct: str, *names: str) -> list[Column]:
    return [f.col(f"{struct}.{name}") for name in names]


def _known_rows(rows: DataFrame) -> DataFrame:
    """Rows with what came before them, and `begin_seq` where they begin a stall."""
    before = Window.partitionBy(*SORT_KEY).orderBy(SEQ).rowsBetween(Window.unboundedPreceding, -1)
    return rows.withColumns(_known(before)).withColumn("begin_seq", _begin_seq())


def _is_kept() -> Column:
    return _is(FETCHED) | f.col("begin_seq").isNotNull()


def _slim_rows(events: DataFrame) -> DataFrame:
    """A row per partition that an event names, without what nobody asks its kind for: it is moved and sorted.

    What a member is given again in its generation, unused, it has had all along: such an answer is none.
    """
    kind = f.col("kind")
    what = f.coalesce(*(f.when(kind == name, code) for name, code in _CODES.items()))
    of_use = [f.when(kind != ASSIGNED, f.col(name)).alias(name) for name in ("rebalance_id", "member_id", "protocol")]
    of_fetch = [f.when(kind == FETCHED, f.col(name)).alias(name) for name in ("road", "event_id")]
    always = ("group_id", SEQ, "wall_us", "mono_us", "idle_us")
    each = f.explode("partitions").alias("partition")
    is_news = kind.isin(*_CODES) & ~f.coalesce("is_again", f.lit(False))
    rows = events.where(is_news).select(*always, what.alias("what"), *of_use, *of_fetch, each)
    return keyed(rows, *PARTITION)


def _is(kind: str) -> Column:
    return f.col("what") == _CODES[kind]


def _known(before: WindowSpec) -> dict[str, Column]:
    """What came last of each kind. Numbers of their own: Spark copies texts and structs for every row it passes."""

    def last(kind: str, value: Column) -> Column:
        return f.last(f.when(_is(kind), value), ignorenulls=True).over(before)

    def last_seq(kind: str) -> Column:
        return f.max(f.when(_is(kind), f.col(SEQ))).over(before)

    return {
        "told_seq": last_seq(TOLD),
        "released_seq": last_seq(RELEASED),
        "assigned_seq": last_seq(ASSIGNED),
        "fetched_seq": last_seq(FETCHED),
        "told_wall_us": last(TOLD, f.col("wall_us")),
        "released_wall_us": last(RELEASED, f.col("wall_us")),
        "assigned_wall_us": last(ASSIGNED, f.col("wall_us")),
        # One without a name must not let the one before it stand.
        "told_member": last(TOLD, f.coalesce("member_id", f.lit(""))),
    }


def _begin_seq() -> Column:
    """Whether a stall may begin here: who is told may fetch until it hears, who is gone has not."""
    is_fresh = _is_fresh()
    is_of_told = f.coalesce(f.col("told_member") == f.col("member_id"), f.lit(False))
    was_told = is_of_told & (_latest("told_seq") > _latest("released_seq", "assigned_seq"))
    begins = (_is(TOLD) & is_fresh) | (_is(FETCHED) & was_told) | (_is(RELEASED) & is_fresh & ~was_told)
    return f.when(begins, f.col(SEQ))


def _is_fresh() -> Column:
    return _latest("fetched_seq") >= _latest("told_seq", "released_seq")


def _latest(*names: str) -> Column:
    return f.greatest(*(f.coalesce(name, f.lit(_NEVER)) for name in names), f.lit(_NEVER))


def _begin() -> dict[str, Column]:
    """Since when: one that released can't have used it while idle; logs of schema version 1 don't tell."""
    idle_us = f.when(_is(RELEASED), f.coalesce("idle_us", f.lit(0))).otherwise(0)
    return {
        "begin_wall_us": f.col("wall_us") - idle_us,
        "begin_mono_us": f.col("mono_us") - idle_us,
        "begin_told_us": f.when(_is(TOLD), f.col("wall_us")).when(_is(FETCHED), f.col("told_wall_us")),
    }


def _ends() -> Column:
    """Whether a fetch ends a stall: one has begun, and the partition was given to somebody since."""
    is_given = f.coalesce(f.col("assigned_seq") > f.col("start_seq"), f.lit(False))
    return f.col("start_seq").isNotNull() & (is_given | (f.col("member_id") != f.col("before")))


def _columns() -> dict[str, Column]:
    start = f.struct(*(f.col(f"start_{name}").alias(name) for name in MOMENT))
    return {
        # The one that dealt it anew; a member that gives something up or goes does so before, or outside of any.
        "rebalance_id": f.coalesce(f.when(f.col("rebalance_id") != "", f.col("rebalance_id")), "start_rebalance"),
        "after": f.col("member_id"),
        "protocol_after": f.col("protocol"),
        "is_same_owner": f.col("before") == f.col("member_id"),
        "told_us": f.col("start_told_us"),
        "released_us": _since("released"),
        "assigned_us": _since("assigned"),
        "fetched_us": f.col("wall_us"),
        "fetched_event": f.col("event_id"),
        "stall_us": elapsed_us(start, moment()),
        "date": utc_day(f.col("start_wall_us")),
    }


def _since(name: str) -> Column:
    return f.when(f.col(f"{name}_seq") >= f.col("start_seq"), f.col(f"{name}_wall_us"))
