"""Bridge and brokers are killed at a seed's moments while fourteen clients of all libraries work in one group.

It must not know how anything survives. Judged are the clients' own diaries, and what the brokers have committed.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import trio

from bridge.demo.cluster import read_committed
from bridge.demo.events import Committed, Partition, now_ns
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import ProducerSpec, Target
from bridge.demo.judge import Verdict, judge
from bridge.demo.judge_evidence import ClientLog
from tests.kills.cluster import FIRST, OFFSETS, SECOND, Cluster
from tests.support.bridge_process import QUICK_SETTINGS
from tests.support.casts import Wardrobe
from tests.support.restarted_bridge import RestartedBridge
from tests.support.two_brokers import java_hash

GROUP = "embedded-kills"
PARTITIONS = 28
RATE = 200
SESSION_MS = 60_000
"""Longer than a client stays away after refused connections: kafka-python 30 s and a fifth."""
SETTINGS = {**QUICK_SETTINGS, "group.consumer.session.timeout.ms": str(SESSION_MS)}
KINDS = (
    *("confluent-range", "confluent-cooperative", "confluent-consumer", "kafka-python-range", "aiokafka"),
    *("java-default", "confluent-consumer", "kafka-python-cooperative", "confluent-range", "java-consumer"),
    *("aiokafka", "confluent-cooperative", "confluent-consumer", "kafka-python-range"),
)
"""Who sits in seats 1 to 14: classic members of four libraries, eager and cooperative, and KIP-848 members of two."""
LIFE_S = (0.2, 3.0)
"""How long a bridge lives after clients may come."""
DEAD_S = (0.0, 6.0)
"""How long a broker is dead: shorter and longer than it takes the other one to lead."""
QUIET_S = 6.0
SETTLE_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How many deaths, at which moments, of how many clients."""

    bridge: int
    brokers: int
    seed: str
    members: int = len(KINDS)

    def deaths(self, moments: random.Random) -> list[str]:
        """Who dies in which order; each broker as often as the other."""
        deaths = ["bridge"] * self.bridge + ["broker"] * self.brokers
        moments.shuffle(deaths)
        return deaths


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of it; times in seconds since all were settled."""

    plan: Plan
    verdict: Verdict
    rebalances: tuple[str, ...]
    """Callbacks after all were settled and before the first was stopped: nobody came or went, so each is too many."""
    commits_back: tuple[str, ...]
    coordinator_moves: int
    bridge_deaths_without_a_broker: int
    took_s: float
    bridge_log: str

    def faults(self) -> Mapping[str, int]:
        """What has to be nothing."""
        return {
            "rebalances without a reason": len(self.rebalances),
            "records lost": self.verdict.records_lost,
            "partitions owned twice": len(self.verdict.double_ownership),
            "commits that went back": len(self.commits_back),
            "commits that are not what was processed": len(self.verdict.commit_mismatches),
            "tracebacks of the bridge": self.bridge_log.count("Traceback"),
        }


@dataclass(slots=True)
class Trial:
    """A settled group whose bridge and brokers die."""

    cluster: Cluster
    bridge: RestartedBridge
    fleet: Fleet
    moments: random.Random
    committed: list[Mapping[Partition, int]] = field(default_factory=list)
    coordinators: list[int] = field(default_factory=list)
    together: int = 0
    _next_broker: int = FIRST

    async def kill_all(self, deaths: Sequence[str]) -> None:
        """One death after the other; where a broker's is followed by the bridge's, the bridge dies meanwhile."""
        waiting = list(deaths)
        while waiting:
            await trio.sleep(self.moments.uniform(*LIFE_S))
            if waiting.pop(0) == "bridge":
                await self._kill_bridge()
                continue
            has_both = bool(waiting) and waiting[0] == "bridge"
            if has_both:
                waiting.pop(0)
                self.together += 1
            await self._kill_broker(and_bridge=has_both)

    async def look(self) -> None:
        """What the broker has committed, and who coordinates."""
        bootstrap = self.cluster.bootstrap
        told = await trio.to_thread.run_sync(read_committed, bootstrap, GROUP, self.fleet.partitions)
        self.committed.append(told)
        number = java_hash(GROUP) % OFFSETS_PARTITIONS
        self.coordinators.append(await trio.to_thread.run_sync(self.cluster.leader, OFFSETS, number))

    async def _kill_bridge(self) -> None:
        await trio.to_thread.run_sync(self.bridge.kill)
        await trio.to_thread.run_sync(self.bridge.start)

    async def _kill_broker(self, *, and_bridge: bool) -> None:
        broker = self.cluster.brokers[self._next_broker]
        self._next_broker = SECOND if self._next_broker == FIRST else FIRST
        await trio.to_thread.run_sync(broker.kill)
        await trio.sleep(self.moments.uniform(*DEAD_S))
        if and_bridge:
            await self._kill_bridge()
        await trio.to_thread.run_sync(broker.start)
        await trio.to_thread.run_sync(self.cluster.wait_whole)
        await self.look()


OFFSETS_PARTITIONS = 5
"""As the brokers of tests are set up."""


async def play(cluster: Cluster, directory: Path, plan: Plan) -> Outcome:
    """All settle, some die, all is read, and everybody stops."""
    moments, wardrobe = random.Random(plan.seed), Wardrobe(directory)
    bridge = RestartedBridge(cluster.bootstrap, "embedded-*", directory, SETTINGS)
    target = Target(bootstrap=bridge.bootstrap, group=GROUP, topics=("kills",))
    partitions = await trio.to_thread.run_sync(cluster.create_topic, "kills", PARTITIONS)
    await trio.to_thread.run_sync(bridge.start)
    try:
        async with trio.open_nursery() as nursery:
            fleet = Fleet(nursery, target, partitions, directory)
            await fleet.start_producer(ProducerSpec(partitions=PARTITIONS, rate=RATE))
            for seat, kind in enumerate(KINDS[: plan.members], 1):
                await fleet.start(await trio.to_thread.run_sync(wardrobe.spec, f"m{seat}", kind, SESSION_MS))
            await fleet.wait_settled(timeout_s=SETTLE_S)
            await fleet.wait_confirmed(timeout_s=SETTLE_S)
            await trio.to_thread.run_sync(cluster.wait_whole)
            trial = Trial(cluster, bridge, fleet, moments)
            await trial.look()
            began_ns = now_ns()
            async with fleet.step("deaths"):
                await trial.kill_all(plan.deaths(moments))
                await fleet.wait_confirmed(timeout_s=SETTLE_S)
                await trio.sleep(QUIET_S)
            ended_ns = now_ns()
            await trial.look()
            await fleet.stop_producers()
            await fleet.wait_read(timeout_s=SETTLE_S)
            await fleet.stop_all()
    finally:
        await trio.to_thread.run_sync(bridge.stop)
    await trial.look()
    return Outcome(
        plan=plan,
        verdict=judge(fleet.evidence(trial.committed[-1])),
        rebalances=tuple(rebalances_between(fleet.logs(), began_ns, ended_ns)),
        commits_back=(*commits_back(trial.committed), *diaries_back(fleet.logs())),
        coordinator_moves=sum(before != after for before, after in pairwise(trial.coordinators)),
        bridge_deaths_without_a_broker=trial.together,
        took_s=(ended_ns - began_ns) / 1e9,
        bridge_log=bridge.log.read_text(encoding="utf-8", errors="replace"),
    )


def rebalances_between(logs: Sequence[ClientLog], began_ns: int, ended_ns: int) -> list[str]:
    """Each callback of that time, by who had it and when."""
    return [
        f"{log.who}: {type(event).__name__} of {len(event.partitions)} after {(event.at_ns - began_ns) / 1e9:.1f} s"
        for log in logs
        for event in log.rebalances()
        if began_ns < event.at_ns <= ended_ns
    ]


def commits_back(looks: Sequence[Mapping[Partition, int]]) -> list[str]:
    """Where a later look at the broker found less than an earlier one, or nothing at all."""
    return [
        f"{partition.topic}-{partition.partition} at the broker: {before[partition]} -> {after.get(partition)}"
        for before, after in pairwise(looks)
        for partition in before
        if after.get(partition, -1) < before[partition]
    ]


def diaries_back(logs: Sequence[ClientLog]) -> list[str]:
    """Where a member was told that less is committed than another, or itself, had been told before."""
    told = [(event.at_ns, log.who, event) for log in logs for event in log.events if isinstance(event, Committed)]
    last: dict[Partition, int] = {}
    back: list[str] = []
    for _, who, commit in sorted(told, key=lambda one: one[:2]):
        for partition, offset in commit.offsets:
            if offset < last.get(partition, 0):
                back.append(f"{partition.topic}-{partition.partition} by {who}: {last[partition]} -> {offset}")
            last[partition] = offset
    return back
