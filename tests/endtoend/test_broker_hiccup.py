"""A broker that stands still for a moment, as under a long garbage collection, with KIP-848 and classic members.

It must not know how commits wait.
"""

import os
import signal
import uuid
from collections.abc import Mapping
from pathlib import Path

import trio

from bridge.demo.cluster import create_topics, read_committed
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import ProducerSpec, Target
from bridge.demo.judge import judge
from tests.support.bridge_process import BridgeProcess
from tests.support.casts import Wardrobe
from tests.support.kafka import KafkaUnderTest
from tests.support.story_run import require_safety

PARTITIONS = 6
SEATS = {"n1": "confluent-consumer", "n2": "confluent-consumer", "k1": "kafka-python-range"}
SESSION_MS = 10_000
"""Nobody is put out here, also where the machine stands still besides."""
HICCUP_S = 1.5
AFTERMATH_S = 6.0
"""Longer than a drain, within which a member used to lose its connection again and again."""
LOST_AT_MOST = 2
"""The moment itself is longer than librdkafka waits for a heartbeat here, 1 s."""
HEARTBEAT_TIMED_OUT = "Timed out ConsumerGroupHeartbeatRequest"


async def test_moment_without_broker_is_over_for_every_member_when_the_broker_is_back(
    kafka_43: KafkaUnderTest, bridge_43: BridgeProcess, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """A commit of unknown outcome drains, and holds neither heartbeats nor members up meanwhile (decision 2)."""
    broker_pid = kafka_43.own_broker().pid
    assert broker_pid is not None
    group = f"embedded-hiccup-{uuid.uuid4().hex[:6]}"
    target = Target(bootstrap=bridge_43.bootstrap, group=group, topics=(f"{group}-topic",))
    partitions = await trio.to_thread.run_sync(create_topics, kafka_43.bootstrap, target.topics, PARTITIONS)
    async with trio.open_nursery() as nursery:
        fleet = Fleet(nursery, target, partitions, tmp_path)
        await fleet.start_producer(ProducerSpec(partitions=PARTITIONS))
        async with fleet.step("form"):
            for seat, kind in SEATS.items():
                await fleet.start(wardrobe.spec(seat, kind, SESSION_MS))
            await fleet.wait_settled()
        async with fleet.step("hiccup"):
            os.kill(broker_pid, signal.SIGSTOP)
            try:
                await trio.sleep(HICCUP_S)
            finally:
                os.kill(broker_pid, signal.SIGCONT)
            await trio.sleep(AFTERMATH_S)
            await fleet.wait_settled()
        await fleet.stop_producers()
        await fleet.wait_read()
        await fleet.stop_all()
    offsets = await trio.to_thread.run_sync(read_committed, kafka_43.bootstrap, group, fleet.partitions)
    verdict = judge(fleet.evidence(offsets))
    require_safety(verdict)
    assert verdict.disturbances == ()
    assert max(lost_connections(tmp_path).values()) <= LOST_AT_MOST, lost_connections(tmp_path)


def lost_connections(directory: Path) -> Mapping[str, int]:
    """How often each client gave up a connection because a heartbeat was not answered in time."""
    return {path.stem: path.read_text().count(HEARTBEAT_TIMED_OUT) for path in directory.glob("*.stderr")}
