"""One script for a fleet, told to a classic group that passes and to one of the new protocol at the same time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import trio

from bridge.demo.cluster import create_topics
from bridge.demo.events import Partition
from bridge.demo.events import Protocol as Speaks
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import MemberSpec, Target
from bridge.demo.kafka_broker import start_broker
from bridge.demo.kafka_properties import BrokerSettings
from bridge.telemetry.schema.facts import Event
from bridge.whatif.event_lines import read_event
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.grown_topic import grow_topic

RECORDED, REAL = "pass-fleet", "embedded-fleet"
"""The classic group whose record is replayed, and the one that shows what then happens."""
HEARTBEAT_MS, SESSION_MS = 500, 8_000
SETTINGS = (
    f"group.consumer.heartbeat.interval.ms={HEARTBEAT_MS}",
    f"group.consumer.session.timeout.ms={SESSION_MS}",
)
"""Of the real group, for the replay of the recorded one."""
QUICK_GROUPS = {"group.initial.rebalance.delay.ms": "500", "group.min.session.timeout.ms": "1000"}
FEW, MORE, OTHER = 6, 12, 2
"""Partitions of the fleet's topic at first and later, and of the topic that only one member wants."""


@dataclass(frozen=True, slots=True)
class Troupe:
    """A fleet with what it takes to script it."""

    fleet: Fleet
    bootstrap: str
    member: MemberSpec
    topic: str
    other: str

    async def settle(self) -> None:
        """Nothing moves any more, and everybody has heartbeated since."""
        await self.fleet.wait_settled(stable_ms=1500)

    async def start(self, seat: str) -> None:
        """A member comes."""
        await self.fleet.start(replace(self.member, seat=seat))
        await self.settle()

    async def stop(self, seat: str) -> None:
        """A member leaves."""
        await self.fleet.stop(seat)
        await self.settle()

    async def kill(self, seat: str) -> None:
        """A member dies; its session has to run out."""
        await self.fleet.kill(seat)
        await self.settle()

    async def grow(self) -> None:
        """The topic gets more partitions."""
        grown = await trio.to_thread.run_sync(grow_topic, self.bootstrap, self.topic, MORE)
        self.fleet.partitions = frozenset(grown)
        await self.settle()

    async def start_stranger(self, seat: str) -> None:
        """A member comes that wants another topic, of which the others want nothing."""
        made = partial(create_topics, self.bootstrap, (self.other,), OTHER)
        self.fleet.partitions |= await trio.to_thread.run_sync(made)
        everybody, self.fleet.target = self.fleet.target, replace(self.fleet.target, topics=(self.other,))
        await self.start(seat)
        self.fleet.target = everybody
        await self.let_hear()

    async def stop_stranger(self, seat: str) -> None:
        """It leaves again, and its topic is nobody's."""
        self.fleet.partitions = frozenset(one for one in self.fleet.partitions if one.topic == self.topic)
        await self.stop(seat)
        await self.let_hear()

    @staticmethod
    async def let_hear() -> None:
        """What moves nothing can't be seen to settle: everybody heartbeats twice."""
        await trio.sleep(2 * HEARTBEAT_MS / 1_000)


async def perform(troupe: Troupe) -> None:
    """Join, leave, a death, new partitions, a stranger's visit, and a rolling restart, each until nothing moves."""
    for seat in "abc":
        await troupe.start(seat)
    await troupe.stop("c")
    await troupe.start("d")
    await troupe.kill("d")
    await troupe.grow()
    await troupe.start_stranger("s")
    await troupe.stop_stranger("s")
    for seat in "ab":
        await troupe.stop(seat)
        await troupe.start(seat)


def cast_of(protocol: Speaks) -> MemberSpec:
    """Any member of a protocol; the new one has its timeouts from the coordinator."""
    if protocol is Speaks.CONSUMER:
        return MemberSpec(seat="", protocol=protocol, session_timeout_ms=None, heartbeat_interval_ms=None)
    return MemberSpec(seat="", protocol=protocol, session_timeout_ms=SESSION_MS, heartbeat_interval_ms=HEARTBEAT_MS)


def troupe_of(nursery: trio.Nursery, group: str, protocol: Speaks, bootstraps: tuple[str, str], folder: Path) -> Troupe:
    """A troupe for a group; `bootstraps` are the bridge's and the broker's."""
    topic, other = f"{group}-topic", f"{group}-other"
    partitions: frozenset[Partition] = create_topics(bootstraps[1], (topic,), FEW)
    target = Target(bootstrap=bootstraps[0], group=group, topics=(topic,))
    fleet = Fleet(nursery, target, partitions, folder)
    return Troupe(fleet, bootstraps[1], cast_of(protocol), topic, other)


async def perform_both(bootstraps: tuple[str, str], folder: Path, events: Path) -> list[Event]:
    """Tell both groups the script; the events of the log up to its end, before the fleets are dismissed."""
    async with trio.open_nursery() as nursery:
        troupes = [
            troupe_of(nursery, RECORDED, Speaks.CLASSIC, bootstraps, folder),
            troupe_of(nursery, REAL, Speaks.CONSUMER, bootstraps, folder),
        ]
        async with trio.open_nursery() as group:
            for troupe in troupes:
                group.start_soon(perform, troupe)
        found = read_log(events)
        for troupe in troupes:
            await troupe.fleet.stop_all()
    return found


@contextmanager
def theatre(folder: Path) -> Iterator[tuple[tuple[str, str], Path]]:
    """A Kafka with a bridge before it: their bootstrap addresses (bridge first), and the folder of the event log."""
    events, kafka_folder = folder / "events", folder / "kafka"
    for one in (events, kafka_folder):
        one.mkdir()
    settings = {**QUICK_SETTINGS, "events.path": str(events)}
    broker = BrokerSettings(version="4.3.1", properties=QUICK_GROUPS)
    with (
        start_broker(broker, directory=kafka_folder) as kafka,
        bridge_process(kafka.bootstrap, ["embedded-*"], folder / "bridge", settings) as bridge,
    ):
        yield (bridge.bootstrap, kafka.bootstrap), events


def read_log(events: Path) -> list[Event]:
    """All events of the log so far."""
    lines = [line for path in sorted(events.glob("events-*.jsonl")) for line in path.read_text().splitlines()]
    return [event for line in lines if (event := read_event(line)) is not None]
