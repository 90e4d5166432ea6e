"""The bridge is killed while a group of real clients changes its kind: it is one or the other, and nobody notices.

It must not know how a conversion is written down.
"""

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import trio

from bridge.admin.client import NoAnswer, ask_group, give_order, parse
from bridge.demo.cluster import create_topics, read_committed
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import ProducerSpec, Target
from bridge.demo.judge import judge
from bridge.demo.screen import verdict_lines
from tests.support.bridge_process import QUICK_SETTINGS
from tests.support.casts import Wardrobe
from tests.support.kafka import KafkaUnderTest
from tests.support.restarted_bridge import RestartedBridge
from tests.support.story_run import require_safety

PARTITIONS = 6
SESSION_MS, NATIVE_SESSION_MS = 45_000, 20_000
"""Longer than clients stay away after a few refused connections: kafka-python up to 30 s, librdkafka 10 s."""
SETTINGS = {
    **QUICK_SETTINGS,
    "group.consumer.session.timeout.ms": str(NATIVE_SESSION_MS),
    "embedded.initial.group.type": "classic",
}
SEATS = {"m1": "confluent-range", "m2": "aiokafka", "m3": "kafka-python-range"}
NATIVE = "confluent-consumer"
SEEDS = ("848",)
MORE_SEEDS = ("341", "345", "394", "1251")
ORDERS = 2
ORDER_TAKES_S = 0.06
"""About as long as an order is on its way and carried out: deaths fall before, into and after it."""
COMING_TAKES_S, GOING_TAKES_S = 3.0, 1.0
LIFE_S = 1.5
LOOKS_MAX = 40


@dataclass(slots=True)
class Trial:
    """A group whose bridge dies at the moments of a seed."""

    fleet: Fleet
    bridge: RestartedBridge
    wardrobe: Wardrobe
    moments: random.Random

    async def die_during(self, name: str, act: Callable[[], Awaitable[object]], takes_s: float) -> None:
        """Begin something, kill the bridge at some moment of it, start it again, and wait until all is well."""
        async with self.fleet.step(name):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(act)
                await trio.sleep(self.moments.uniform(0, takes_s))
                await trio.to_thread.run_sync(self.bridge.kill)
                await trio.to_thread.run_sync(self.bridge.start)
            await trio.sleep(LIFE_S)
            await self.fleet.wait_settled()

    async def order(self, to: str) -> None:
        """Order a conversion; a bridge that dies over it gives no answer."""
        wanted = {"group": self.fleet.target.group, "to": to, "dry_run": False}
        with suppress(NoAnswer):
            await trio.to_thread.run_sync(give_order, self.bridge.admin, "/convert", wanted)

    async def insist(self, to: str) -> None:
        """Whatever became of an order: the group is one or the other, and the next order is carried out."""
        seen = await self.group_type()
        assert seen in {"CLASSIC", "CONSUMER"}
        if seen.lower() != to:
            await self.order(to)
        assert (await self.group_type()).lower() == to

    async def group_type(self) -> str:
        """What the group is at this moment; Kafka's own tools are shown classic members alone as a classic group."""
        answer = await trio.to_thread.run_sync(ask_group, self.bridge.admin, self.fleet.target.group)
        return str(parse(answer, self.bridge.admin)["type"]).upper()

    async def wait_for_type(self, wanted: str) -> None:
        """Wait until admins see this type of group."""
        seen = ""
        for _ in range(LOOKS_MAX):
            seen = await self.group_type()
            if seen == wanted:
                return
            await trio.sleep(LIFE_S)
        pytest.fail(f"the group is {seen} and does not become {wanted}")


@asynccontextmanager
async def trial(kafka: KafkaUnderTest, wardrobe: Wardrobe, directory: Path, seed: str) -> AsyncIterator[Trial]:
    """A settled classic group while records flow; at the end nothing may be lost, owned twice, or disturbed."""
    bridge = RestartedBridge(kafka.bootstrap, "embedded-*", directory, SETTINGS)
    group = f"embedded-killed-{seed}-{random.randrange(2**24):06x}"
    target = Target(bootstrap=bridge.bootstrap, group=group, topics=(f"{group}-topic",))
    partitions = await trio.to_thread.run_sync(create_topics, kafka.bootstrap, target.topics, PARTITIONS)
    await trio.to_thread.run_sync(bridge.start)
    try:
        async with trio.open_nursery() as nursery:
            fleet = Fleet(nursery, target, partitions, directory)
            await fleet.start_producer(ProducerSpec(partitions=PARTITIONS, rate=200))
            for seat, kind in SEATS.items():
                await fleet.start(wardrobe.spec(seat, kind, SESSION_MS))
            await fleet.wait_settled()
            played = Trial(fleet, bridge, wardrobe, random.Random(seed))
            yield played
            await fleet.stop_producers()
            await fleet.wait_read()
            await fleet.stop_all()
    finally:
        status = await trio.to_thread.run_sync(bridge.stop)
    offsets = await trio.to_thread.run_sync(read_committed, kafka.bootstrap, group, fleet.partitions)
    verdict = judge(fleet.evidence(offsets))
    print("\n".join([f"moments of seed {seed!r}", *verdict_lines(verdict)]))
    require_safety(verdict)
    assert verdict.disturbances == ()
    assert (status, "Traceback" in bridge.tail()) == (0, False)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A few moments by default, more with --matrix=all."""
    seeds = SEEDS + MORE_SEEDS if metafunc.config.getoption("--matrix") == "all" else SEEDS
    metafunc.parametrize("seed", seeds)


async def test_death_during_a_conversion_leaves_one_kind_or_the_other_and_disturbs_nobody(
    seed: str, kafka_43: KafkaUnderTest, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """A conversion is one append to the journal, so half of one is never seen: of those that members cause by coming
    and going, where only whose partitions change hears of it, and of those by order, up and down in turn.
    """
    async with trial(kafka_43, wardrobe, tmp_path, seed) as played:
        spec = played.wardrobe.spec("n1", NATIVE, SESSION_MS)
        await played.die_during("comes", partial(played.fleet.start, spec), COMING_TAKES_S)
        await played.wait_for_type("CONSUMER")
        await played.die_during("goes", partial(played.fleet.stop, "n1"), GOING_TAKES_S)
        async with played.fleet.step("at rest"):
            await played.wait_for_type("CLASSIC")
            await played.fleet.wait_settled()
        for number in range(ORDERS):
            to = ("consumer", "classic")[number % 2]
            await played.die_during(f"{number}: to {to}", partial(played.order, to), ORDER_TAKES_S)
            async with played.fleet.step(f"{number}: {to} at last"):
                await played.insist(to)
                await played.fleet.wait_settled()
