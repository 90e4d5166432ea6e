"""What the tables say of a fleet beside what its clients say themselves: stalls, disturbances, moves."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pyspark.sql import Row
from pyspark.sql import functions as f

from bridge.analytics.tables.definitions import EVENTS, MEMBERS, REBALANCES, STALLS, Table
from bridge.analytics.tables.store import Store
from bridge.demo.judge import disturbances_in
from bridge.demo.judge_evidence import Evidence, Step
from bridge.demo.judge_ownership import Ownership, by_partition, ownerships_of

FOREVER_NS = 10**18
NS_PER_US = 1_000


@dataclass(frozen=True, slots=True, order=True)
class Halt:
    """A partition stood still from `began_us` to `ended_us` (the host's monotonic clock); seats, not processes."""

    began_us: int
    ended_us: int
    partition: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Account:
    """One side: halts in order, and by step which seats were disturbed and how many partitions got another process.

    `cut_short` is how much of that, by step, was moved by targets of rebalances that the next one cut short: what they
    moved its taker may have got, or never.
    """

    halts: Sequence[Halt]
    disturbed: Mapping[str, frozenset[str]]
    moved: Mapping[str, int]
    cut_short: Mapping[str, int] = field(default_factory=dict)

    def by_partition(self) -> dict[str, list[tuple[str, str]]]:
        """Who gave each partition to whom, in order."""
        found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for halt in sorted(self.halts):
            found[halt.partition].append((halt.before, halt.after))
        return dict(found)


@dataclass(frozen=True, slots=True)
class Lag:
    """How much later the client stopped than the tables say, and how much later the tables see it go on."""

    begin_us: int
    end_us: int


def misjudged_moves(tables: Account, clients: Account) -> dict[str, tuple[int, range]]:
    """Steps in which as many partitions changed hands as the tables can't account for, and what they allow.

    A target in force moved each of its partitions for good. One that was cut short moved some that nobody ever got, or
    that the next target moved back or on: each such move is one more or one less that clients saw, and no more.
    """
    allowed: dict[str, range] = {}
    for step, moved in tables.moved.items():
        doubtful = tables.cut_short.get(step, 0)
        allowed[step] = range(max(0, moved - 2 * doubtful), moved + 1)
    return {step: (clients.moved[step], allowed[step]) for step in allowed if clients.moved[step] not in allowed[step]}


def lags(tables: Account, clients: Account) -> list[Lag]:
    """Of accounts that tell the same halts."""
    ours, theirs = _ordered(tables), _ordered(clients)
    return [
        Lag(their.began_us - our.began_us, our.ended_us - their.ended_us)
        for our, their in zip(ours, theirs, strict=True)
    ]


def _ordered(account: Account) -> list[Halt]:
    return sorted(account.halts, key=lambda halt: (halt.partition, halt.began_us, halt.ended_us))


# ---------------------------------------------------------------------------------------------------- the clients'


def told_by_clients(evidence: Evidence) -> Account:
    """From callbacks alone: owned from the end of an assigned one to the start of a revoked one, or to death."""
    ownerships = [ownership for log in evidence.members for ownership in ownerships_of(log, FOREVER_NS)]
    handed = [pair for ordered in by_partition(ownerships).values() for pair in pairwise(ordered)]
    disturbed: defaultdict[str, set[str]] = defaultdict(set)
    for one in disturbances_in(evidence.members, evidence.steps):
        disturbed[one.step].add(_seat(one.who))
    moves = [later.began_ns for earlier, later in handed if _seat(earlier.who) != _seat(later.who)]
    return Account(
        halts=[_halt(*pair) for pair in handed if pair[0].until_ns <= evidence.measured_until_ns],
        disturbed={step.name: frozenset(disturbed[step.name]) for step in evidence.steps},
        moved={step.name: sum(step.began_ns < at_ns <= step.ended_ns for at_ns in moves) for step in evidence.steps},
    )


def _halt(earlier: Ownership, later: Ownership) -> Halt:
    partition = f"{earlier.partition.topic}-{earlier.partition.partition}"
    began_us, ended_us = earlier.until_ns // NS_PER_US, later.began_ns // NS_PER_US
    return Halt(began_us, ended_us, partition, _seat(earlier.who), _seat(later.who))


def _seat(who: str) -> str:
    return who.partition("#")[0]


# ---------------------------------------------------------------------------------------------------- the tables'


def told_by_tables(store: Store, group: str, evidence: Evidence) -> Account:
    """From a group's `stalls` and `rebalances`, by the monotonic clock; what comes after the last step is left out."""
    seats = {row["member_id"]: row["client_id"] for row in _rows(store, MEMBERS, group)}
    clocks = _rows(store, EVENTS, group)
    mono_us = {row["event_id"]: row["mono_us"] for row in clocks}
    offset_us = min(row["wall_us"] - row["mono_us"] for row in clocks)
    halts: list[Halt] = []
    for row in _rows(store, STALLS, group):
        ended_us = mono_us[row["fetched_event"]]
        began_us = ended_us - row["stall_us"]
        if began_us * NS_PER_US <= evidence.measured_until_ns:
            halts.append(Halt(began_us, ended_us, row["partition"], seats[row["before"]], seats[row["after"]]))
    disturbed: defaultdict[str, set[str]] = defaultdict(set)
    moved: defaultdict[str, int] = defaultdict(int)
    cut_short: defaultdict[str, int] = defaultdict(int)
    for row in _rows(store, REBALANCES, group):
        for step in _steps_at(row["began_us"] - offset_us, evidence.steps):
            disturbed[step.name] |= {seats[member] for member in row["disturbed_members"]}
            moved[step.name] += row["moved"] or 0
            cut_short[step.name] += (row["moved"] or 0) if row["outcome"] == "superseded" else 0
    return Account(
        halts=halts,
        disturbed={step.name: frozenset(disturbed[step.name] & _alive(evidence, step)) for step in evidence.steps},
        moved={step.name: moved[step.name] for step in evidence.steps},
        cut_short={step.name: cut_short[step.name] for step in evidence.steps},
    )


def _rows(store: Store, table: Table, group: str) -> list[Row]:
    return store.read(table).where(f.col("group_id") == group).collect()


def _steps_at(at_us: int, steps: Iterable[Step]) -> Iterator[Step]:
    return (step for step in steps if step.began_ns <= at_us * NS_PER_US <= step.ended_ns)


def _alive(evidence: Evidence, step: Step) -> set[str]:
    """Members that were there throughout a step: only they can tell whether it disturbed them."""
    return {log.seat for log in evidence.members if log.alive_throughout(step.began_ns, step.ended_ns)}
