"""What an online migration costs, step by step: the same fleet at Kafka itself and at the bridge.

It must not know how either of them assigns.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bridge.demo.services import free_place
from tests.benchmarks.bridge_child import bridge_words
from tests.benchmarks.broker import BenchBroker, hear_often, make_topics
from tests.benchmarks.classic_client import ClassicClient
from tests.benchmarks.figures import Baseline, Figure, Target
from tests.benchmarks.fleet import Fleet, Line
from tests.benchmarks.gaps import Gaps
from tests.benchmarks.native_client import NativeClient
from tests.benchmarks.processes import BenchmarkError, command
from translators.dialects.ids import InstanceId

MEMBERS = 10
PARTITIONS = 40
INTERVAL_S = 0.5
AWAY_S = 1.0
TIMEOUT_S = 120.0
BRIDGE_SETTINGS = (
    "group.initial.rebalance.delay.ms=1000",
    "replacement.grace.ms=5000",
    "group.consumer.min.heartbeat.interval.ms=500",
    "group.consumer.heartbeat.interval.ms=500",
)
UNDISTURBED = Target(bound=0)
BATCHES = 10
"""In so many parts a larger group is rolled."""
UPSTREAM = "upstream-"
PREFIXES: Mapping[str, str] = {"embedded": "bench-", "upstream": UPSTREAM}
"""How groups' names begin, by road."""


def topic_of(partitions: int) -> str:
    """The topic of groups that share so many partitions."""
    return f"bench-migration-{partitions}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a step cost its bystanders: how many joined again or were called, how often they joined, how many of them
    for nothing, for how many partition-seconds a partition had no owner, the longest time that one had none, and how
    long it took until nobody had news any more, of several steps the longest.
    """

    bystanders: int
    rejoined: int
    joins: int
    disturbed: int
    unowned_s: float
    gap_s: float
    converged_s: float

    def plus(self, other: "Cost") -> "Cost":
        """Both together."""
        return Cost(
            bystanders=max(self.bystanders, other.bystanders),
            rejoined=self.rejoined + other.rejoined,
            joins=self.joins + other.joins,
            disturbed=self.disturbed + other.disturbed,
            unowned_s=self.unowned_s + other.unowned_s,
            gap_s=max(self.gap_s, other.gap_s),
            converged_s=max(self.converged_s, other.converged_s),
        )


NOTHING = Cost(bystanders=0, rejoined=0, joins=0, disturbed=0, unowned_s=0.0, gap_s=0.0, converged_s=0.0)


class Stage:
    """One group of a fleet, moved step by step."""

    def __init__(
        self, address: str, group: str, *, cooperative: bool, partitions: int = PARTITIONS, members: int = MEMBERS
    ) -> None:
        host, _, port = address.rpartition(":")
        self.members = members
        self.settled_after_s = 0.0
        """How long the last step took until nobody had news any more."""
        self.quiet_s = 4 * INTERVAL_S
        """How long nobody may have news until that is taken for the end of it."""
        self._partitions = partitions
        self._topic = topic_of(partitions)
        self.fleet = Fleet((host, int(port)), interval_s=INTERVAL_S)
        self._group = group
        self._is_cooperative = cooperative
        self._gaps = Gaps(self.fleet, self._topic, partitions)

    def classic(self, name: str, instance: str | None = None) -> ClassicClient:
        """A classic member of this group."""
        client = ClassicClient(
            self._group, self._topic, name, cooperative=self._is_cooperative, partitions=self._partitions
        )
        client.instance_id = None if instance is None else InstanceId(instance)
        return client

    def native(self, name: str) -> NativeClient:
        """A KIP-848 member of this group."""
        return NativeClient(self._group, self._topic, name)

    def classics(self) -> list[ClassicClient]:
        """As many classic members as this group begins with."""
        return [self.classic(f"m{number}") for number in range(self.members)]

    def form(self, *clients: ClassicClient) -> None:
        """Begin the group."""
        self.fleet.add(clients)
        self.settle()

    def settle(self) -> None:
        """Until every partition has an owner and nobody has news; what is unowned meanwhile is counted."""
        begin = quiet_since = time.monotonic()
        calls = -1

        def is_done() -> bool:
            nonlocal quiet_since, calls
            now = time.monotonic()
            unowned = self._gaps.look(now)
            called = sum(client.times_called + client.joins for client in self.fleet.clients)
            if called != calls or unowned or not self.fleet.is_settled():
                quiet_since, calls = now, called
            return now - quiet_since > self.quiet_s

        self.fleet.run_until(is_done, TIMEOUT_S)
        self.settled_after_s = quiet_since - begin

    @contextmanager
    def step(self, costs: list[Cost], *moved: str) -> Iterator[None]:
        """Carry out a step, let it settle and add its cost; `moved` are no bystanders."""
        before = {
            line.client.name: (line.client, line.client.joins, line.client.times_called, line.client.owned)
            for line in self.fleet.lines
            if line.client.name not in moved
        }
        self._gaps = Gaps(self.fleet, self._topic, self._partitions)
        yield
        self.settle()
        heard = [
            (client.joins - joins, client.times_called - calls, client.owned == owned)
            for client, joins, calls, owned in before.values()
        ]
        costs.append(
            Cost(
                bystanders=len(heard),
                rejoined=sum(joins > 0 for joins, _, _ in heard),
                joins=sum(joins for joins, _, _ in heard),
                disturbed=sum((joins > 0 or calls > 0) and is_same for joins, calls, is_same in heard),
                unowned_s=self._gaps.unowned_s,
                gap_s=self._gaps.longest_s,
                converged_s=self.settled_after_s,
            )
        )

    def restart(self, name: str, successor: ClassicClient, *, says_goodbye: bool = True) -> None:
        """A member goes, is away for a second while the others go on, and its successor comes."""
        self.restart_all({name: successor}, says_goodbye=says_goodbye)

    def restart_all(self, successors: Mapping[str, ClassicClient], *, says_goodbye: bool = True) -> None:
        """Members go, are away for a second while the others go on, and their successors come."""
        for name in successors:
            line = self._line(name)
            self.fleet.dismiss(line, line.client.leave() if says_goodbye else b"")
        end = time.monotonic() + AWAY_S

        def is_over() -> bool:
            now = time.monotonic()
            self._gaps.look(now)
            return now >= end

        self.fleet.run_until(is_over, TIMEOUT_S)
        self.fleet.add(list(successors.values()))

    def _line(self, name: str) -> Line:
        return next(line for line in self.fleet.lines if line.client.name == name)


def _join_classic(stage: Stage) -> Cost:
    costs: list[Cost] = []
    stage.form(*stage.classics())
    with stage.step(costs, "late"):
        stage.fleet.add([stage.classic("late")])
    return costs[0]


def _first_upgrade(stage: Stage) -> Cost:
    costs: list[Cost] = []
    stage.form(*stage.classics())
    with stage.step(costs, "m3"):
        stage.restart("m3", stage.native("m3"))
    return costs[0]


def _join_native(stage: Stage) -> Cost:
    costs: list[Cost] = []
    stage.form(*(stage.native(f"m{number}") for number in range(stage.members)))
    with stage.step(costs, "late"):
        stage.fleet.add([stage.native("late")])
    return costs[0]


def _bounce_static(stage: Stage) -> Cost:
    costs: list[Cost] = []
    stage.form(*(stage.classic(f"m{number}", f"seat-{number}") for number in range(stage.members)))
    with stage.step(costs, "m3"):
        stage.restart("m3", stage.classic("m3", "seat-3"), says_goodbye=False)
    return costs[0]


def _roll(
    stage: Stage, begin: Callable[[str], ClassicClient], end: Callable[[str], ClassicClient], together: int = 1
) -> Cost:
    costs: list[Cost] = []
    stage.form(*(begin(f"m{number}") for number in range(stage.members)))
    for first in range(0, stage.members, together):
        names = [f"m{number}" for number in range(first, min(first + together, stage.members))]
        with stage.step(costs, *names):
            stage.restart_all({name: end(name) for name in names})
    total = NOTHING
    for cost in costs:
        total = total.plus(cost)
    return total


def _roll_up(stage: Stage) -> Cost:
    return _roll(stage, stage.classic, stage.native)


def _roll_down(stage: Stage) -> Cost:
    return _roll(stage, stage.native, stage.classic)


def _batches_up(stage: Stage) -> Cost:
    return _roll(stage, stage.classic, stage.native, stage.members // BATCHES)


def _batches_down(stage: Stage) -> Cost:
    return _roll(stage, stage.native, stage.classic, stage.members // BATCHES)


STEPS: Mapping[str, Callable[[Stage], Cost]] = {
    "one more classic member joins a classic group": _join_classic,
    "first upgrade: one classic member restarts as KIP-848 member": _first_upgrade,
    "one more KIP-848 member joins a consumer group": _join_native,
    "static classic member bounces inside its session": _bounce_static,
    "rolling upgrade, one by one": _roll_up,
    "rolling downgrade, one by one": _roll_down,
}


MANY_STEPS: Mapping[str, Callable[[Stage], Cost]] = {
    "one more classic member joins a classic group": _join_classic,
    "first upgrade: one classic member restarts as KIP-848 member": _first_upgrade,
    f"rolling upgrade, {BATCHES} batches": _batches_up,
    f"rolling downgrade, {BATCHES} batches": _batches_down,
}
"""With more members one by one would take half an hour."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The size of a group, and what is done to one of that size."""

    members: int
    partitions: int
    steps: Mapping[str, Callable[[Stage], Cost]]

    @property
    def plays(self) -> list[tuple[str, str]]:
        """Each step with each kind of classic members."""
        return [(name, kind) for name in self.steps for kind in ("eager", "cooperative")]


GRIDS = (Grid(MEMBERS, PARTITIONS, STEPS), Grid(50, 100, MANY_STEPS), Grid(200, 400, MANY_STEPS))


def measure_migration(broker: BenchBroker, directory: Path) -> list[Figure]:
    """Every step with eager and cooperative classic members, at Kafka and at the bridge's two roads in turn. Raises
    BenchmarkError.
    """
    make_topics(broker, *(topic_of(grid.partitions) for grid in GRIDS))
    # At the bridge they are heard so often by its settings; a partition changes hands at that pace.
    hear_often(
        broker, [_group(prefix, grid, *one) for prefix in ("", UPSTREAM) for grid in GRIDS for one in grid.plays]
    )
    figures: list[Figure] = []
    place = free_place()
    words = [*bridge_words(broker.bootstrap, place, BRIDGE_SETTINGS), "--upstream", f"{UPSTREAM}*"]
    with command(words, directory, {}):
        for grid in GRIDS:
            for name, kind in grid.plays:
                kafka = _play(grid, name, kind, broker.bootstrap, "")
                for road, prefix in PREFIXES.items():
                    ours = _play(grid, name, kind, place.listen, prefix)
                    figures += _figures(f"{grid.members} on {road}: {name} ({kind})", ours, kafka)
    return figures


def _group(prefix: str, grid: Grid, name: str, kind: str) -> str:
    return f"{prefix}migration-{grid.members}-{list(grid.steps).index(name)}-{kind}"


def _play(grid: Grid, name: str, kind: str, address: str, prefix: str) -> Cost:
    group, is_cooperative = _group(prefix, grid, name, kind), kind == "cooperative"
    stage = Stage(address, group, cooperative=is_cooperative, partitions=grid.partitions, members=grid.members)
    try:
        cost = grid.steps[name](stage)
    except OSError as error:
        raise BenchmarkError(f"{name}: {error}") from error
    stage.fleet.close()
    return cost


def _figures(name: str, ours: Cost, kafka: Cost) -> list[Figure]:
    kafkas = "Kafka 4.3"
    return [
        Figure(
            name=f"{name}: disturbed for nothing",
            value=ours.disturbed,
            unit="members",
            target=UNDISTURBED,
            baseline=Baseline(name=kafkas, value=kafka.disturbed),
            note=f"{ours.rejoined} bystanders joined again {ours.joins} times; Kafka: {kafka.rejoined}, {kafka.joins}",
        ),
        Figure(
            name=f"{name}: nobody's partitions",
            value=ours.unowned_s,
            unit="partition-s",
            baseline=Baseline(name=kafkas, value=kafka.unowned_s),
            note=(
                f"longest gap of one {ours.gap_s:.2f} s, Kafka {kafka.gap_s:.2f} s;"
                f" until nobody had news {ours.converged_s:.2f} s, Kafka {kafka.converged_s:.2f} s"
            ),
        ),
    ]
