"""The bridge is killed while real clients work, and comes back with its journal: nobody notices.

It must not know how the journal is kept.
"""

import random
import uuid
from pathlib import Path

import pytest
import trio

from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import ProducerSpec, Target
from bridge.demo.fleet_topics import create_topics, read_committed
from bridge.demo.judge import Verdict, judge
from bridge.demo.report import verdict_lines
from tests.support.bridge_process import QUICK_SETTINGS
from tests.support.casts import Wardrobe
from tests.support.kafka import KafkaUnderTest
from tests.support.mortal_bridge import MortalBridge
from tests.support.story_run import require_safety

PARTITIONS = 6
SESSION_MS = 20_000
"""Longer than librdkafka stays away after a few refused connections (reconnect.backoff.max.ms, 10 s)."""
SETTINGS = {**QUICK_SETTINGS, "group.consumer.session.timeout.ms": str(SESSION_MS)}
KILLS = 4
SEATS = {"m1": "confluent-range", "m2": "confluent-cooperative", "m3": "confluent-consumer"}


async def kill_and_start(bridge: MortalBridge) -> None:
    """A death without a word, and the next life."""
    await trio.to_thread.run_sync(bridge.kill)
    await trio.to_thread.run_sync(bridge.start)


async def tell(kafka: KafkaUnderTest, bridge: MortalBridge, wardrobe: Wardrobe, directory: Path) -> Verdict:
    """Three members settle; then the bridge dies again and again at random moments while records flow."""
    group = f"embedded-journal-{uuid.uuid4().hex[:6]}"
    moments = random.Random(group)
    target = Target(bootstrap=bridge.bootstrap, group=group, topics=(f"{group}-topic",))
    partitions = await trio.to_thread.run_sync(create_topics, kafka.bootstrap, target.topics, PARTITIONS)
    async with trio.open_nursery() as nursery:
        fleet = Fleet(nursery, target, partitions, directory)
        await fleet.start_producer(ProducerSpec(partitions=PARTITIONS, rate=200))
        for seat, kind in SEATS.items():
            await fleet.start(wardrobe.spec(seat, kind, SESSION_MS))
        await fleet.wait_settled()
        async with fleet.step("restarts"):
            for _ in range(KILLS):
                await trio.sleep(moments.uniform(0.2, 3))
                await kill_and_start(bridge)
            await trio.sleep(SESSION_MS / 1000 / 2)
        await fleet.stop_producers()
        await fleet.wait_read()
        await fleet.stop_all()
    offsets = await trio.to_thread.run_sync(read_committed, kafka.bootstrap, group, fleet.partitions)
    verdict = judge(fleet.evidence(offsets))
    print("\n".join(verdict_lines(verdict)))
    return verdict


@pytest.mark.parametrize("version", ["39", "43"])
async def test_killed_bridge_goes_on_and_nobody_notices(
    version: str, request: pytest.FixtureRequest, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """Members go on with ids, generations and assignments: no rebalance, nothing lost, nothing owned twice (K7.32)."""
    kafka: KafkaUnderTest = request.getfixturevalue(f"kafka_{version}")
    bridge = MortalBridge(kafka.bootstrap, "embedded-*", tmp_path, SETTINGS)
    await trio.to_thread.run_sync(bridge.start)
    try:
        verdict = await tell(kafka, bridge, wardrobe, tmp_path)
    finally:
        status = await trio.to_thread.run_sync(bridge.stop)
    require_safety(verdict)
    assert verdict.disturbances == ()
    assert status == 0
    assert "Traceback" not in bridge.tail()
