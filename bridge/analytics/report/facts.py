"""What a report says, asked of the tables: a few hundred values, whatever the size of the log."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as f

from bridge.analytics.tables.definitions import MEMBERS, PHASES, REBALANCES, STALLS
from bridge.analytics.tables.store import Store
from bridge.telemetry.schema.terms import Departure

SLOWEST, HEAT_ROWS = 15, 24
HOUR_US = 3_600_000_000
QUIET_PHASE = "stable"
SAME_US = 1_000_000
"""What a member had is free in the moment in which it is put out; each event has read the wall clock for itself."""
PUT_OUT = tuple(
    departure.value
    for departure in (
        Departure.SESSION_EXPIRED,
        Departure.CONNECTION_LOST,
        Departure.POLL_TIMED_OUT,
        Departure.REBALANCE_TIMED_OUT,
        Departure.SYNC_TIMED_OUT,
    )
)
"""How members go that are frozen, killed or too late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How durations are spread, in microseconds."""

    count: int
    p50_us: int
    p95_us: int
    max_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseFacts:
    """A phase under one protocol, over all members."""

    protocol: str
    phase: str
    spread: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberFacts:
    """A slow member: its time in phases in all, and its slowest phase."""

    group_id: str
    member_id: str
    library: str
    total_us: int
    phase: str
    spread: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class CulpritFacts:
    """A member that others waited for, or that was put out while it held partitions, with its client.

    In how many rebalances it was the one that everybody waited for, for how long in all and at most, and in which phase
    that was; how it went last, "" if nobody had to put it out, and how long its partitions stood still for that.
    """

    group_id: str
    member_id: str
    client_id: str
    library: str
    rebalances: int
    waited_us: int
    most_us: int
    phase: str
    departure: str
    stall_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseFacts:
    """A cause: how often, what it cost."""

    cause: str
    rebalances: int
    moved: int
    forced_minimum: int
    told: int
    disturbed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFacts:
    """A group before or after its members began to speak another protocol."""

    group_id: str
    protocol: str
    rebalances: int
    disturbed: int
    duration: Spread | None
    stall: Spread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatFacts:
    """Sums of stalls: a row per group, the worst first, a column per hour since the first."""

    groups: Sequence[str]
    first_hour: int
    stall_us: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """Everything."""

    group: str | None
    rebalances: int
    stall: Spread | None
    phases: Sequence[PhaseFacts]
    members: Sequence[MemberFacts]
    culprits: Sequence[CulpritFacts]
    causes: Sequence[CauseFacts]
    changes: Sequence[ChangeFacts]
    heat: HeatFacts


def report_facts(store: Store, group: str | None) -> ReportFacts:
    """Ask the tables, of one group or of all."""

    def of(frame: DataFrame) -> DataFrame:
        return frame if group is None else frame.where(f.col("group_id") == group)

    phases, rebalances = of(store.read(PHASES)), of(store.read(REBALANCES))
    stalls, members = of(store.read(STALLS)), of(store.read(MEMBERS))
    felt = phases.where(f.col("is_closed") & (f.col("phase") != QUIET_PHASE))
    stall = stalls.agg(*spread_of("stall_us")).first()
    return ReportFacts(
        group=group,
        rebalances=rebalances.count(),
        stall=_spread(stall),
        phases=phase_facts(felt),
        members=member_facts(felt, members),
        culprits=culprit_facts(rebalances, stalls, members),
        causes=cause_facts(rebalances),
        changes=change_facts(members, rebalances, stalls),
        heat=heat_facts(stalls),
    )


def spread_of(column: str) -> list[Column]:
    """The measures of a spread."""
    shares = [f.percentile(column, f.lit(share)).cast("long") for share in (0.5, 0.95)]
    return [f.count(column).alias("n"), shares[0].alias("p50"), shares[1].alias("p95"), f.max(column).alias("most")]


def _spread(row: Row | None) -> Spread | None:
    if row is None or not row["n"]:
        return None
    return Spread(count=row["n"], p50_us=row["p50"], p95_us=row["p95"], max_us=row["most"])


def _sure(row: Row) -> Spread:
    return Spread(count=row["n"], p50_us=row["p50"], p95_us=row["p95"], max_us=row["most"])


def phase_facts(felt: DataFrame) -> list[PhaseFacts]:
    """Latency per phase and protocol."""
    rows = felt.groupBy("protocol", "phase").agg(*spread_of("duration_us")).sort("phase", "protocol").collect()
    return [PhaseFacts(protocol=row["protocol"], phase=row["phase"], spread=_sure(row)) for row in rows]


def member_facts(felt: DataFrame, members: DataFrame) -> list[MemberFacts]:
    """The members that spent the most time in phases, with the phase that took most of it."""
    key = ("group_id", "member_id")
    per_phase = felt.groupBy(*key, "phase").agg(*spread_of("duration_us"), f.sum("duration_us").alias("us"))
    worst = per_phase.groupBy(*key).agg(
        f.sum("us").alias("total"), f.max_by(f.struct("phase", "n", "p50", "p95", "most"), "us").alias("worst")
    )
    slowest = worst.sort(f.desc("total"), *key).limit(SLOWEST)
    library = members.groupBy(*key).agg(
        f.max_by(f.concat_ws(" ", "library", "library_version"), "began_us").alias("library")
    )
    rows = slowest.join(library, [*key], "left").sort(f.desc("total"), *key).collect()
    return [
        MemberFacts(
            group_id=row["group_id"],
            member_id=row["member_id"],
            library=(row["library"] or "").strip(),
            total_us=row["total"],
            phase=row["worst"]["phase"],
            spread=_sure(row["worst"]),
        )
        for row in rows
    ]


def culprit_facts(rebalances: DataFrame, stalls: DataFrame, members: DataFrame) -> list[CulpritFacts]:
    """Those who held others up the longest: how long they were waited for, and what stood still when they were put out.

    A process that is frozen is waited for until its session is over, and the group rebalances without it: it is the
    critical member of nothing, and what it had stood still all the same.
    """
    key = ("group_id", "member_id")
    named = rebalances.where((f.col("critical_member") != "") & (f.col("waited_us") > 0))
    waited = named.groupBy("group_id", f.col("critical_member").alias("member_id")).agg(
        f.count("*").alias("n"),
        f.sum("waited_us").alias("waited"),
        f.max("waited_us").alias("most"),
        f.max_by("critical_phase", "waited_us").alias("phase"),
    )
    out = members.where(f.col("departure").isin(*PUT_OUT))
    freed = stalls.select("group_id", f.col("before").alias("member_id"), "released_us", "stall_us")
    is_then = f.abs(f.col("released_us") - f.col("ended_us")) < f.lit(SAME_US)
    still = (
        out.join(freed, [*key], "left")
        .groupBy(*key)
        .agg(
            f.max_by("departure", "ended_us").alias("departure"),
            f.sum(f.when(is_then, f.col("stall_us"))).alias("still"),
        )
    )
    each = waited.join(still, [*key], "full")
    worst = each.withColumn("all", f.coalesce("waited", f.lit(0)) + f.coalesce("still", f.lit(0)))
    slowest = worst.where(f.col("all") > 0).sort(f.desc("all"), *key).limit(SLOWEST)
    client = members.groupBy(*key).agg(
        f.max_by("client_id", "began_us").alias("client_id"),
        f.max_by(f.concat_ws(" ", "library", "library_version"), "began_us").alias("library"),
    )
    rows = slowest.join(client, [*key], "left").sort(f.desc("all"), *key).collect()
    return [
        CulpritFacts(
            group_id=row["group_id"],
            member_id=row["member_id"],
            client_id=row["client_id"] or "",
            library=(row["library"] or "").strip(),
            rebalances=row["n"] or 0,
            waited_us=row["waited"] or 0,
            most_us=row["most"] or 0,
            phase=row["phase"] or "",
            departure=row["departure"] or "",
            stall_us=row["still"] or 0,
        )
        for row in rows
    ]


def cause_facts(rebalances: DataFrame) -> list[CauseFacts]:
    """Causes by how often they came; one that the log does not tell is `not told`."""
    cause = f.coalesce("cause", f.lit("not told")).alias("cause")
    sums = ("moved", "forced_minimum", "told", "disturbed")
    totals = [f.coalesce(f.sum(name), f.lit(0)).alias(name) for name in sums]
    rows = rebalances.groupBy(cause).agg(f.count("*").alias("n"), *totals).sort(f.desc("n"), "cause").collect()
    return [CauseFacts(cause=row["cause"], rebalances=row["n"], **{name: row[name] for name in sums}) for row in rows]


def change_facts(members: DataFrame, rebalances: DataFrame, stalls: DataFrame) -> list[ChangeFacts]:
    """Groups whose members changed their protocol: everything until the first member with another one, and after."""
    first = members.groupBy("group_id").agg(f.min_by("protocol", "began_us").alias("old"))
    other = members.join(first, "group_id").where(f.col("protocol") != f.col("old"))
    changes = other.groupBy("group_id").agg(
        f.first("old").alias("old"),
        f.min("began_us").alias("changed_us"),
        f.min_by("protocol", "began_us").alias("new"),
    )
    is_after = f.when(f.col("began_us") < f.col("changed_us"), f.col("old")).otherwise(f.col("new")).alias("side")
    counted = (
        rebalances.join(changes, "group_id")
        .groupBy("group_id", is_after)
        .agg(f.sum("disturbed").alias("disturbed"), f.count("*").alias("all"), *spread_of("duration_us"))
    )
    began = f.coalesce("told_us", "released_us").alias("began_us")
    stood = stalls.select("group_id", "stall_us", began).join(changes, "group_id").groupBy("group_id", is_after)
    spreads = {(row["group_id"], row["side"]): row for row in stood.agg(*spread_of("stall_us")).collect()}
    order = counted.join(changes.select("group_id", "old"), "group_id").sort("group_id", f.col("side") != f.col("old"))
    return [
        ChangeFacts(
            group_id=row["group_id"],
            protocol=row["side"],
            rebalances=row["all"],
            disturbed=row["disturbed"],
            duration=_spread(row),
            stall=_spread(spreads.get((row["group_id"], row["side"]))),
        )
        for row in order.collect()
    ]


def heat_facts(stalls: DataFrame) -> HeatFacts:
    """When which groups stood still, the worst `HEAT_ROWS` of them."""
    hour = f.floor(f.col("fetched_us") / f.lit(HOUR_US)).alias("hour")
    worst = (
        stalls.groupBy("group_id").agg(f.sum("stall_us").alias("all")).sort(f.desc("all"), "group_id").limit(HEAT_ROWS)
    )
    groups = [row["group_id"] for row in worst.collect()]
    cells = stalls.join(f.broadcast(worst.select("group_id")), "group_id").groupBy("group_id", hour)
    sums = {(row["group_id"], row["hour"]): row["us"] for row in cells.agg(f.sum("stall_us").alias("us")).collect()}
    hours = [known for _, known in sums]
    first, last = (min(hours), max(hours)) if hours else (0, -1)
    return HeatFacts(
        groups=groups,
        first_hour=first,
        stall_us=[[sums.get((name, at), 0) for at in range(first, last + 1)] for name in groups],
    )
