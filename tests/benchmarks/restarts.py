"""What a rolling restart costs bystanders at Kafka and at the bridge, both with default settings.

Members are stopped and started one by one, away for a moment, and the others are watched.

It must not know how either of them assigns, nor what keeps bystanders undisturbed.
"""

import statistics
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.bridge_child import bridge_child
from tests.benchmarks.broker import BenchBroker, make_topics
from tests.benchmarks.classic_client import ClassicClient, Phase
from tests.benchmarks.figures import Baseline, Figure, Target
from tests.benchmarks.fleet import Fleet, Line
from tests.benchmarks.native_client import NativeClient
from translators.dialects.ids import InstanceId

CLASSIC_HEARTBEAT_S, CONSUMER_HEARTBEAT_S = 3.0, 5.0
"""What clients send, or are told to send, unless somebody sets something."""
QUIET_INTERVALS = 2.2
TIMEOUT_S = 180.0
GAPS_S = (0.05, 0.5, 1.0, 3.0)
KINDS = ("eager", "cooperative", "static", "consumer")
QUICK_S = 1.0
"""Nobody may hear of a restart that takes less."""


@dataclass(frozen=True, slots=True)
class Size:
    """A group, how many of its members are restarted, and how many kinds of groups are rolled at a time."""

    members: int
    restarts: int
    partitions: int
    kinds_at_once: int

    @property
    def topic(self) -> str:
        """What they read."""
        return f"bench-roll-{self.partitions}"


SIZES = (
    Size(members=5, restarts=5, partitions=20, kinds_at_once=4),
    Size(members=50, restarts=20, partitions=200, kinds_at_once=4),
    Size(members=200, restarts=20, partitions=400, kinds_at_once=2),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One roll: a kind of members, of a group of some size, each away for so long."""

    size: Size
    kind: str
    gap_s: float

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.size.members} members, {self.kind}, away {self.gap_s:g} s"


@dataclass(frozen=True, slots=True)
class Cost:
    """Bystanders that joined again or lost what they used, those that heard of a restart at all (also by a gain), and
    how long it took until everything was in use again and nobody had news, in the middle; and how long the member was
    away, at the longest: from the answer to its goodbye to the request that brought it in.
    """

    disturbed: int
    heard: int
    settled_s: float
    away_s: float


@dataclass(frozen=True, slots=True)
class Rolled:
    """All restarts of a roll. One that was to be quick and was not, as this process or the machine was late, is told
    apart: what it costs says nothing about quick ones.
    """

    costs: tuple[Cost, ...]
    gap_s: float

    @property
    def late(self) -> list[Cost]:
        """Restarts that were to take less than a second, and took more."""
        return [cost for cost in self.costs if self.gap_s < QUICK_S <= cost.away_s]

    @property
    def disturbed(self) -> int:
        """Of those that were not late."""
        return sum(cost.disturbed for cost in self.costs if cost not in self.late)

    @property
    def heard(self) -> int:
        """Of those that were not late."""
        return sum(cost.heard for cost in self.costs if cost not in self.late)

    @property
    def settled_s(self) -> float:
        """In the middle."""
        return statistics.median(cost.settled_s for cost in self.costs)

    @property
    def away_s(self) -> float:
        """The longest."""
        return max(cost.away_s for cost in self.costs)

    @property
    def lateness(self) -> str:
        """What is left out, for the note."""
        if not self.late:
            return f"away for {self.away_s:.2f} s at most"
        return f"{len(self.late)} restarts were late (up to {self.away_s:.1f} s) and disturbed {_sum(self.late)}"


def _sum(costs: Sequence[Cost]) -> int:
    return sum(cost.disturbed for cost in costs)


class Roll:
    """A fleet that is restarted member by member."""

    def __init__(self, cell: Cell, address: str, group: str) -> None:
        host, _, port = address.rpartition(":")
        self._cell = cell
        self._group = group
        self._interval_s = CONSUMER_HEARTBEAT_S if cell.kind == "consumer" else CLASSIC_HEARTBEAT_S
        self._fleet = Fleet((host, int(port)), interval_s=self._interval_s)

    def play(self) -> Rolled:
        """Form the group, restart its members one after the other, and add up. Raises FleetError."""
        size = self._cell.size
        self._fleet.add([self._client(number, 0) for number in range(size.members)])
        self._settle()
        costs = [self._restart(number) for number in range(size.restarts)]
        self._fleet.close()
        return Rolled(costs=tuple(costs), gap_s=self._cell.gap_s)

    def _client(self, number: int, life: int) -> ClassicClient:
        """A process of its own each time: a restarted member has another id, a static one the same instance."""
        kind, size = self._cell.kind, self._cell.size
        if kind == "consumer":
            return NativeClient(self._group, size.topic, f"m{number}-{life}")
        is_cooperative = kind == "cooperative"
        client = ClassicClient(
            self._group, size.topic, f"m{number}", cooperative=is_cooperative, partitions=size.partitions
        )
        client.instance_id = InstanceId(f"seat-{number}") if kind == "static" else None
        return client

    def _restart(self, number: int) -> Cost:
        line = self._fleet.lines[0]
        before = [_Seen(other) for other in self._fleet.lines if other is not line]
        began = time.monotonic()
        self._fleet.dismiss(line, b"" if self._cell.kind == "static" else line.client.leave())
        gone = time.monotonic()
        self._fleet.run_until(lambda: time.monotonic() >= gone + self._cell.gap_s, TIMEOUT_S)
        client = self._client(number, 1)
        self._fleet.add([client])
        away_s = self._brought_in(client) - gone
        settled_s = self._settle() - began
        return Cost(
            disturbed=sum(seen.is_disturbed() for seen in before),
            heard=sum(seen.has_heard() for seen in before),
            settled_s=settled_s,
            away_s=away_s,
        )

    def _brought_in(self, client: ClassicClient) -> float:
        """When the request left that made it a member: a classic one is told its id first, and asks again."""
        asked, joins = time.monotonic(), client.joins

        def is_in() -> bool:
            nonlocal asked, joins
            if client.joins > joins:
                asked, joins = time.monotonic(), client.joins
            return client.phase is not Phase.JOINING

        self._fleet.run_until(is_in, TIMEOUT_S)
        return asked

    def _settle(self) -> float:
        """Until everything is owned and nobody has had news for two heartbeats; when it began to be so."""
        since, news = time.monotonic(), -1

        def is_done() -> bool:
            nonlocal since, news
            clients = self._fleet.clients
            heard = sum(client.times_called + client.joins for client in clients)
            is_calm = self._fleet.is_settled() and self._fleet.owned() == self._cell.size.partitions
            if heard != news or not is_calm:
                since, news = time.monotonic(), heard
            return time.monotonic() - since > QUIET_INTERVALS * self._interval_s

        self._fleet.run_until(is_done, TIMEOUT_S)
        return since


class _Seen:
    """What a bystander had been through before a restart."""

    def __init__(self, line: Line) -> None:
        client = self._client = line.client
        self._joins, self._calls, self._lost = client.joins, client.times_called, client.partitions_given_up

    def is_disturbed(self) -> bool:
        """Whether it joined again or gave something up since."""
        return self._client.joins > self._joins or self._client.partitions_given_up > self._lost

    def has_heard(self) -> bool:
        """Whether it was called or told of another assignment since."""
        return self.is_disturbed() or self._client.times_called > self._calls


def measure_restarts(broker: BenchBroker, directory: Path) -> list[Figure]:
    """Every roll at Kafka and at the bridge, all gaps of a kind at once. Raises FleetError."""
    make_topics(broker, *(size.topic for size in SIZES))
    figures: list[Figure] = []
    with bridge_child(broker.bootstrap, directory) as (address, _):
        for size in SIZES:
            for place in range(0, len(KINDS), size.kinds_at_once):
                kinds = KINDS[place : place + size.kinds_at_once]
                cells = [Cell(size, kind, gap_s) for kind in kinds for gap_s in GAPS_S]
                figures += _play_all(cells, {"roll": broker.bootstrap, "bench-roll": address})
    return figures


def _play_all(cells: Sequence[Cell], sides: Mapping[str, str]) -> list[Figure]:
    """All these at once, at both sides: a roll mostly waits."""
    with ThreadPoolExecutor(max_workers=len(cells) * len(sides)) as pool:
        playing = [
            [
                pool.submit(Roll(cell, address, f"{side}-{cell.name.replace(' ', '-')}").play)
                for side, address in sides.items()
            ]
            for cell in cells
        ]
        return [
            _figure(cell, *(future.result() for future in futures))
            for cell, futures in zip(cells, playing, strict=True)
        ]


def _figure(cell: Cell, kafka: Rolled, ours: Rolled) -> Figure:
    bystanders = (cell.size.members - 1) * cell.size.restarts
    return Figure(
        name=f"{cell.name}: disturbed of {bystanders} bystanders",
        value=ours.disturbed,
        unit="members",
        target=Target(bound=0 if cell.gap_s < QUICK_S else kafka.disturbed),
        baseline=Baseline(name="Kafka 4.3", value=kafka.disturbed),
        note=f"heard of it: {ours.heard}, Kafka: {kafka.heard}; settled after {ours.settled_s:.1f} s,"
        f" Kafka: {kafka.settled_s:.1f} s; {ours.lateness}; Kafka: {kafka.lateness}",
    )
