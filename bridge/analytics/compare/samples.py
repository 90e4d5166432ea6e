"""What a comparison is about: rebalances, or hours of a group, out of the tables, with how long everybody waited."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from bridge.analytics.compare.pairing import Unit
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.tables.definitions import MEMBERS, PHASES, REBALANCES, STALLS
from bridge.analytics.tables.store import Store
from bridge.telemetry.schema.terms import Phase, Road

UNITS_MAX = 20_000
"""The newest so many units are compared; more would not change what is certain long before."""
HOUR_US = 3_600_000_000
TIME, VALUE, UNIT = "at_us", "waited_us", "unit"
HIDDEN_ON_PASS = frozenset({Phase.AWAITING_RELEASE.value})
"""On road `pass` no answer tells what a member still waits for, so nobody can say how long it did."""
_NATURE = ("instance_id", "protocol", "road", "client_id", "client_host", "library", "library_version")
_SIDES = ("control", "treatment")


class Measure(StrEnum):
    """What is compared: how long members did not work, or how long partitions stood still, all of them together."""

    MEMBER = "member-stall"
    PARTITION = "partition-stall"


class UnitKind(StrEnum):
    """What counts as one observation."""

    REBALANCE = "rebalance"
    GROUP_HOUR = "group-hour"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which rows of which measure make the arms: SQL conditions, and what one unit is."""

    control: str
    treatment: str
    measure: Measure = Measure.MEMBER
    unit: UnitKind = UnitKind.REBALANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The units, what had to be left out, and what has to be said of the arms."""

    units: tuple[Unit, ...]
    notes: tuple[str, ...]


def member_waits(store: Store, unit: UnitKind, hidden: Sequence[str]) -> DataFrame:
    """A row per unit and member of its group then: its time in all phases but `stable` and hidden ones, 0 for none."""
    rebalances = _chains(store.read(REBALANCES))
    seen = store.read(PHASES).where(
        ~f.col("phase").isin(Phase.STABLE.value, *hidden) & f.col("duration_us").isNotNull()
    )
    spans = store.read(MEMBERS)
    if unit is UnitKind.GROUP_HOUR:
        present = _hourly(spans)
        waited = seen.withColumn(UNIT, _hour("began_us").cast("string"))
    else:
        present = _present(rebalances, spans)
        waited = seen.join(rebalances.select("group_id", "rebalance_id", UNIT), ["group_id", "rebalance_id"])
    sums = waited.groupBy("group_id", UNIT, "member_id").agg(
        f.sum("duration_us").alias("in_phases"), f.min("began_us").alias("phase_us"), _last_of("protocol", "road")
    )
    rows = present.join(sums, ["group_id", UNIT, "member_id"], "full")
    return rows.select(
        "group_id",
        UNIT,
        "member_id",
        f.coalesce(TIME, "phase_us").alias(TIME),
        f.coalesce("in_phases", f.lit(0)).alias(VALUE),
        *(_nature(name) for name in _NATURE),
    )


def partition_waits(store: Store, unit: UnitKind) -> DataFrame:
    """A row per unit and speaker of the next owners: how long partitions stood still in all, 0 where none did.

    `protocol` is what the client speaks that has the partition afterwards, null where no partition changed hands.
    """
    stalls = store.read(STALLS).where(f.col("stall_us").isNotNull())
    rebalances = _chains(store.read(REBALANCES))
    key = ["group_id", "rebalance_id"]
    rows = rebalances.join(stalls.select(*key, "partition", "stall_us", "protocol_after"), key, "left")
    named = rows.withColumn(UNIT, _hour(TIME).cast("string")) if unit is UnitKind.GROUP_HOUR else rows
    return named.groupBy("group_id", UNIT, "road", f.col("protocol_after").alias("protocol")).agg(
        f.coalesce(f.sum("stall_us"), f.lit(0)).alias(VALUE), f.min(TIME).alias(TIME)
    )


def sample(store: Store, choice: Choice) -> Sample:
    """The units of both arms, oldest first; raise AnalyticsError for a filter that is none, or arms that overlap."""
    rows = _rows(store, choice, ())
    chosen = _chosen(rows, choice)
    roads = {side: _distinct(chosen, side, "road") for side in _SIDES}
    hidden = sorted(HIDDEN_ON_PASS) if len(roads["control"] | roads["treatment"]) > 1 and _is_on_pass(roads) else []
    notes: list[str] = []
    if hidden and choice.measure is Measure.MEMBER:
        chosen = _chosen(_rows(store, choice, hidden), choice)
        notes.append(f"left out on both sides, because road pass does not show it: {', '.join(hidden)}")
    groups = {side: _distinct(chosen, side, "group_id") for side in _SIDES}
    if groups["control"] and groups["treatment"] and not groups["control"] & groups["treatment"]:
        notes.append(
            "the arms have no group in common: a lasting difference between their groups counts as the treatment's"
        )
    return Sample(units=_units(chosen), notes=tuple(notes))


def _rows(store: Store, choice: Choice, hidden: Sequence[str]) -> DataFrame:
    if choice.measure is Measure.PARTITION:
        return partition_waits(store, choice.unit)
    return member_waits(store, choice.unit, hidden)


def _chosen(rows: DataFrame, choice: Choice) -> DataFrame:
    """Rows of either arm, marked with which; refused where a row is of both."""
    marked = rows
    for side, condition in zip(_SIDES, (choice.control, choice.treatment), strict=True):
        try:
            mark = f.coalesce(f.expr(condition).cast("boolean"), f.lit(False))
            marked = marked.withColumn(f"is_{side}", mark)
        except PySparkException as problem:
            names = ", ".join(sorted(rows.columns))
            raise AnalyticsError(
                f"EB-ANALYTICS-020: the filter {condition!r} can't be applied to {choice.measure.value}: "
                f"{str(problem).splitlines()[0]}; it is an SQL condition over {names}, such as protocol = 'classic'"
            ) from problem
    chosen = marked.where("is_control or is_treatment").localCheckpoint()
    shared = chosen.where("is_control and is_treatment").limit(1).collect()
    if shared:
        raise AnalyticsError(
            f"EB-ANALYTICS-022: --control and --treatment both match {shared[0].asDict()}; nobody can be in both arms: "
            "make one filter exclude what the other one chooses"
        )
    return chosen


def _units(chosen: DataFrame) -> tuple[Unit, ...]:
    # The order of members within a unit must say nothing about their times: a hash of who they are does not.
    who = f.struct(*(name for name in ("member_id", "protocol") if name in chosen.columns))
    entry = f.struct(f.xxhash64("group_id", UNIT, who).alias("order"), f.col(VALUE).alias("value"))
    arms = [
        f.transform(f.array_sort(f.collect_list(f.when(f.col(f"is_{side}"), entry))), _value).alias(side)
        for side in _SIDES
    ]
    grouped = chosen.groupBy("group_id", UNIT).agg(f.min(TIME).alias(TIME), *arms)
    newest = grouped.orderBy(f.desc(TIME), f.desc(UNIT)).limit(UNITS_MAX).collect()
    return tuple(
        Unit(at_us=row[TIME], control=_seconds(row["control"]), treatment=_seconds(row["treatment"]))
        for row in reversed(newest)
    )


def _value(entry: Column) -> Column:
    return entry["value"]


def _seconds(times_us: Sequence[int]) -> tuple[float, ...]:
    return tuple(time_us / 1_000_000 for time_us in times_us)


def _chains(rebalances: DataFrame) -> DataFrame:
    """Rebalances with the first of those that superseded one another: what one cuts short is one wait to a member."""
    named = rebalances.withColumn(UNIT, f.coalesce("chain_id", "rebalance_id"))
    whole = named.groupBy("group_id", UNIT).agg(f.min("began_us").alias(TIME), f.max("ended_us").alias("over_us"))
    return named.select("group_id", "rebalance_id", UNIT, "road").join(whole, ["group_id", UNIT])


def _present(rebalances: DataFrame, spans: DataFrame) -> DataFrame:
    """Who was a member of the group when a rebalance was over, or began where it is not: with its latest nature."""
    chains = rebalances.select("group_id", UNIT, TIME, f.coalesce("over_us", TIME).alias("over_us")).distinct()
    joined = chains.join(spans, "group_id").where(
        (f.col("began_us") <= f.col("over_us")) & (f.col("ended_us").isNull() | (f.col("ended_us") > f.col("over_us")))
    )
    return joined.groupBy("group_id", UNIT, "member_id").agg(f.min(TIME).alias(TIME), _last_of(*_NATURE, name="span"))


def _hourly(spans: DataFrame) -> DataFrame:
    """Who was a member of the group in each hour, up to the last hour that the table knows."""
    last_us = spans.select(f.max(f.greatest("began_us", "ended_us"))).collect()[0][0] or 0
    end_us = f.coalesce("ended_us", f.lit(last_us))
    hours = spans.withColumn(TIME, f.explode(f.sequence(_hour("began_us"), _hour_of(end_us), f.lit(HOUR_US))))
    return hours.groupBy("group_id", f.col(TIME).cast("string").alias(UNIT), "member_id").agg(
        f.min(TIME).alias(TIME), _last_of(*_NATURE, name="span")
    )


def _hour(name: str) -> Column:
    return _hour_of(f.col(name))


def _hour_of(time_us: Column) -> Column:
    return (f.floor(time_us / HOUR_US) * HOUR_US).cast("long")


def _last_of(*names: str, name: str = "seen") -> Column:
    return f.max_by(f.struct(*names), f.col("began_us")).alias(name)


def _nature(name: str) -> Column:
    of_span = f.col(f"span.{name}")
    return (f.coalesce(of_span, f.col(f"seen.{name}")) if name in {"protocol", "road"} else of_span).alias(name)


def _distinct(chosen: DataFrame, side: str, name: str) -> set[str]:
    return {row[0] for row in chosen.where(f"is_{side}").select(name).distinct().collect()}


def _is_on_pass(roads: dict[str, set[str]]) -> bool:
    return Road.PASSING.value in roads["control"] | roads["treatment"]
