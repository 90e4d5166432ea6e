"""The bridge is killed while real clients work, and comes back with its journal: nobody notices.

It must not know how the journal is kept.
"""

import random
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio

from bridge.demo.cluster import create_topics, read_committed
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import ProducerSpec, Target
from bridge.demo.judge import Verdict, judge
from bridge.demo.screen import verdict_lines
from tests.support.bridge_process import QUICK_SETTINGS
from tests.support.casts import Wardrobe
from tests.support.kafka import KafkaUnderTest
from tests.support.restarted_bridge import RestartedBridge
from tests.support.story_run import require_safety

PARTITIONS = 6
SESSION_MS = 45_000
"""Longer than a client stays away after a few refused connections: librdkafka 10 s, kafka-python 30 s and a fifth."""
SETTINGS = {**QUICK_SETTINGS, "group.consumer.session.timeout.ms": str(SESSION_MS)}
KILLS = {"39": 4, "43": 20}
"""How often the bridge dies, by broker: the journal does not know which one it is."""
QUIET_S = 5
"""A heartbeat interval and more (3 s): who was to be told something has been told."""
LIFE_S = (0.1, 2.5)
"""How long a life lasts after clients may come: also shorter than librdkafka takes to come back."""
SEATS = {
    "m1": "confluent-range",
    "m2": "confluent-cooperative",
    "m3": "confluent-consumer",
    "m4": "kafka-python-range",
    "m5": "aiokafka",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where it happens."""

    kafka: KafkaUnderTest
    bridge: RestartedBridge
    wardrobe: Wardrobe
    directory: Path


async def kill_and_start(bridge: RestartedBridge) -> None:
    """A death without a word, and the next life."""
    await trio.to_thread.run_sync(bridge.kill)
    await trio.to_thread.run_sync(bridge.start)


async def tell(stage: Stage, kills: int, seed: str) -> Verdict:
    """All members settle; then the bridge dies again and again at the seed's moments while records flow."""
    kafka, bridge, wardrobe, directory = stage.kafka, stage.bridge, stage.wardrobe, stage.directory
    group = f"embedded-journal-{seed}"
    moments = random.Random(seed)
    target = Target(bootstrap=bridge.bootstrap, group=group, topics=(f"{group}-topic",))
    partitions = await trio.to_thread.run_sync(create_topics, kafka.bootstrap, target.topics, PARTITIONS)
    async with trio.open_nursery() as nursery:
        fleet = Fleet(nursery, target, partitions, directory)
        await fleet.start_producer(ProducerSpec(partitions=PARTITIONS, rate=200))
        for seat, kind in SEATS.items():
            await fleet.start(wardrobe.spec(seat, kind, SESSION_MS))
        await fleet.wait_settled()
        async with fleet.step("restarts"):
            for _ in range(kills):
                await trio.sleep(moments.uniform(*LIFE_S))
                await kill_and_start(bridge)
            await fleet.wait_confirmed()
            await trio.sleep(QUIET_S)
        await fleet.stop_producers()
        await fleet.wait_read()
        await fleet.stop_all()
    offsets = await trio.to_thread.run_sync(read_committed, kafka.bootstrap, group, fleet.partitions)
    verdict = judge(fleet.evidence(offsets))
    print("\n".join([f"{kills} kills at the moments of seed {seed!r}", *verdict_lines(verdict)]))
    return verdict


@pytest.mark.parametrize("version", KILLS)
async def test_killed_bridge_goes_on_and_nobody_notices(
    version: str, request: pytest.FixtureRequest, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """Members go on with ids, generations and assignments: no rebalance, nothing lost, nothing owned twice (K7.32)."""
    kafka: KafkaUnderTest = request.getfixturevalue(f"kafka_{version}")
    bridge = RestartedBridge(kafka.bootstrap, "embedded-*", tmp_path, SETTINGS)
    await trio.to_thread.run_sync(bridge.start)
    try:
        stage = Stage(kafka=kafka, bridge=bridge, wardrobe=wardrobe, directory=tmp_path)
        verdict = await tell(stage, KILLS[version], uuid.uuid4().hex[:6])
    finally:
        status = await trio.to_thread.run_sync(bridge.stop)
    require_safety(verdict)
    assert verdict.disturbances == ()
    assert status == 0
    assert "Traceback" not in bridge.tail()
