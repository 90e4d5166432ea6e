"""The fleet and the judge on a real Kafka without the bridge: what they measure there is Kafka's own behaviour.

It must not assert what only the bridge promises, such as that nobody is disturbed.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from bridge.demo.events import Protocol
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import CONFLUENT, KAFKA_PYTHON, MemberSpec, ProducerSpec, Target
from bridge.demo.fleet_topics import create_topics, partitions_of, read_committed
from bridge.demo.judge import judge
from bridge.demo.kafka_broker import KafkaBroker, start_broker
from bridge.demo.kafka_properties import BrokerSettings
from bridge.demo.report import verdict_report

PARTITIONS = 6
QUICK_GROUPS = {
    "group.initial.rebalance.delay.ms": "500",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.heartbeat.interval.ms": "400",
}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A Kafka 4.3.1 of this module's own."""
    directory = tmp_path_factory.mktemp("kafka")
    with start_broker(BrokerSettings(version="4.3.1", properties=QUICK_GROUPS), directory=directory) as broker:
        yield broker


async def tell_story(fleet: Fleet) -> None:
    """Form, add one, kill one, roll one to the consumer protocol, while records flow."""
    await fleet.start_producer(ProducerSpec(partitions=PARTITIONS, rate=300))
    async with fleet.step("form"):
        for seat, program in (("k1", KAFKA_PYTHON), ("k2", KAFKA_PYTHON), ("c1", CONFLUENT)):
            await fleet.start(MemberSpec(seat=seat, program=program))
        await fleet.wait_settled()
    async with fleet.step("add c2"):
        await fleet.start(MemberSpec(seat="c2"))
        await fleet.wait_settled()
    async with fleet.step("kill k2"):
        await fleet.kill("k2")
        await fleet.wait_settled()
    async with fleet.step("roll c1"):
        await fleet.roll(MemberSpec(seat="c1", protocol=Protocol.CONSUMER))
        await fleet.wait_settled()
    await fleet.stop_producers()
    await fleet.wait_read()
    await fleet.stop_all()


async def test_fleet_direct_nothing_lost_nothing_owned_twice(kafka: KafkaBroker, tmp_path: Path) -> None:
    """Kafka's own migration (K4) loses nothing and gives no partition to two members, as the clients see it."""
    target = Target(bootstrap=kafka.bootstrap, group="direct", topics=("direct",))
    await trio.to_thread.run_sync(create_topics, kafka.bootstrap, target.topics, PARTITIONS)
    partitions = partitions_of(target.topics, PARTITIONS)
    async with trio.open_nursery() as nursery:
        fleet = Fleet(nursery, target, partitions, tmp_path)
        await tell_story(fleet)
    offsets = await trio.to_thread.run_sync(read_committed, kafka.bootstrap, target.group, partitions)
    verdict = judge(fleet.evidence(offsets))
    print(json.dumps(verdict_report(verdict), indent=1))
    assert verdict.ok, verdict
    assert verdict.committed_equals_processed, verdict.commit_mismatches
    assert (verdict.records_lost, verdict.double_ownership) == (0, ())
    assert [(roll.seat, roll.after) for roll in verdict.rolls] == [("c1", "confluent-kafka consumer")]
    assert verdict.protocols_seen == ("classic", "consumer")
    assert verdict.records_produced > 1000
    assert verdict.max_stall_ms > 0
