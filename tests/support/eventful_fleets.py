"""Fleets that live through everything that rebalances a group, with the bridge's event log beside the clients' own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import trio

from bridge.demo.cluster import create_topics
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import MemberSpec, ProducerSpec, Target
from bridge.demo.judge_evidence import Evidence
from bridge.demo.kafka_broker import KafkaBroker
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.casts import KINDS, Wardrobe
from tests.support.grown_topic import grow_topic

PARTITIONS = 7
RATE = 300
STABLE_MS = 1200
SESSION_MS = 4000
OLD, NEW = "3.9.1", "4.3.1"
EMBEDDED, PASSING = "embedded", "pass"
QUICK_GROUPS: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "500",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "5000",
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.heartbeat.interval.ms": "400",
}
"""Settings of the brokers: Kafka's defaults make a killed member a matter of minutes."""

CASTS: Mapping[str, tuple[str, ...]] = {
    "kafka-python": ("kafka-python-range", "kafka-python-range"),
    "aiokafka": ("aiokafka",),
    "confluent-range": ("confluent-range",),
    "confluent-cooperative": ("confluent-cooperative",),
    "confluent-consumer": ("confluent-consumer",),
    "java": ("java-default",),
    "java-consumer": ("java-consumer",),
    "mixed-range": ("aiokafka", "kafka-python-range", "confluent-range"),
    "mixed-cooperative": ("kafka-python-cooperative", "confluent-cooperative", "java-cooperative"),
    "mixed-consumer": ("confluent-consumer", "java-consumer"),
    "mixed-all": ("kafka-python-range", "confluent-cooperative", "java-default", "confluent-consumer"),
}
"""Who plays seats 1, 2, 3, … over and over.

Seat 4 leads when the topic grows, where a client leads: one of kafka-python may stop for good then (two-accounts.md).
"""


class Life(NamedTuple):
    """One fleet: the broker's version, the road of its group, and who plays."""

    version: str
    road: str
    cast: str

    def __str__(self) -> str:
        return "-".join(self)

    @property
    def can_change(self) -> bool:
        """Whether a seat can change its protocol: who coordinates the group must speak both."""
        return self.road == EMBEDDED or self.version == NEW

    @property
    def can_bounce(self) -> bool:
        """Whether a static member can be among them: Kafka lets leaders of different libraries get into a muddle."""
        return self.road == EMBEDDED or len(set(CASTS[self.cast])) == 1


LIVES: Sequence[Life] = (
    *(Life(version, EMBEDDED, "mixed-all") for version in (OLD, NEW)),
    *(Life((OLD, NEW)[place % 2], EMBEDDED, cast) for place, cast in enumerate(CASTS) if cast != "mixed-all"),
    *(Life(version, PASSING, cast) for cast in ("mixed-range", "mixed-cooperative", "java") for version in (OLD, NEW)),
    *(
        Life(NEW, PASSING, cast)
        for cast in ("confluent-range", "confluent-consumer", "java-consumer", "mixed-consumer")
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a fleet lives: its broker, the programs, and a directory of its own."""

    kafka: KafkaBroker
    wardrobe: Wardrobe
    directory: Path

    @property
    def events(self) -> Path:
        """Where the bridge writes its event log."""
        return self.directory / "events"


def group_of(life: Life) -> str:
    """The group of a fleet, which is its topic's name but for the end."""
    return f"{life.road}-{life.cast}-{life.version}"


async def live(life: Life, place: Place) -> Evidence:
    """Let a fleet live through a bridge that writes its event log; gives the clients' own account."""
    group = group_of(life)
    topics = (f"{group}-topic",)
    partitions = await trio.to_thread.run_sync(create_topics, place.kafka.bootstrap, topics, PARTITIONS)
    settings = {**QUICK_SETTINGS, "events.path": str(place.events)}
    with bridge_process(place.kafka.bootstrap, ["embedded-*"], place.directory, settings) as bridge:
        async with trio.open_nursery() as nursery:
            target = Target(bootstrap=bridge.bootstrap, group=group, topics=topics)
            fleet = Fleet(nursery, target, partitions, place.directory)
            await fleet.start_producer(ProducerSpec(partitions=PARTITIONS, rate=RATE))
            await _Course(life, fleet, place).run()
            await fleet.stop_producers()
            await fleet.stop_all()
    return fleet.evidence()


class _Course:
    """What happens, in this order; the fleet settles after each step."""

    def __init__(self, life: Life, fleet: Fleet, place: Place) -> None:
        self._life = life
        self._fleet = fleet
        self._place = place

    async def run(self) -> None:
        fleet = self._fleet
        async with fleet.step("form"):
            for number in (1, 2, 3):
                await fleet.start(await self._spec(number))
            await self._settle()
        async with fleet.step("scale up"):
            await fleet.start(await self._spec(4))
            await self._settle()
        async with fleet.step("scale down"):
            await fleet.stop("m2")
            await self._settle()
        async with fleet.step("kill"):
            await fleet.kill("m1")
            await self._settle()
        await self._replace("upgrade", await self._spec(3, is_upgraded=self._life.can_change))
        await self._replace("downgrade", await self._spec(3))
        if self._life.can_bounce:
            await self._bounce(await self._spec(5, is_static=True))
        async with fleet.step("grow"):
            (topic,) = fleet.target.topics
            grow = partial(grow_topic, self._place.kafka.bootstrap, topic, PARTITIONS + 1)
            fleet.partitions = await trio.to_thread.run_sync(grow)
            await self._settle()

    async def _replace(self, name: str, spec: MemberSpec) -> None:
        """A seat's process goes, and when the others have settled another one comes."""
        async with self._fleet.step(f"{name}: leave"):
            await self._fleet.stop(spec.seat)
            await self._settle()
        async with self._fleet.step(f"{name}: join"):
            await self._fleet.start(spec)
            await self._settle()

    async def _bounce(self, static: MemberSpec) -> None:
        """A static member comes, and is started anew inside its session."""
        async with self._fleet.step("static"):
            await self._fleet.start(static)
            await self._settle()
        async with self._fleet.step("bounce"):
            await self._fleet.roll(static)
            await self._settle()

    async def _spec(self, number: int, *, is_upgraded: bool = False, is_static: bool = False) -> MemberSpec:
        kinds = CASTS[self._life.cast]
        kind = kinds[(number - 1) % len(kinds)]
        chosen = KINDS[kind].upgraded if is_upgraded else kind
        spec = partial(self._place.wardrobe.spec, f"m{number}", chosen, SESSION_MS, static=is_static)
        return await trio.to_thread.run_sync(spec)

    async def _settle(self) -> None:
        await self._fleet.wait_settled(stable_ms=STABLE_MS, timeout_s=90.0)
