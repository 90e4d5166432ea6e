"""Offsets of a live embedded group outlast the retention of a broker that takes the group for a simple one.

It must not know how the bridge renews them.
"""

import time
from pathlib import Path

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from bridge.demo.kafka_broker import start_broker
from bridge.demo.kafka_properties import BrokerSettings
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.kafka import create_topic

TOPIC = "idle"
GROUP, CONTROL = "embedded-idle", "left-alone"
SHORT_RETENTION = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "2000"}
RENEWING = {**QUICK_SETTINGS, "offsets.recommit.ms": "10000"}
EXPIRY_MAX_S = 120.0
PATIENCE_S = 90.0


def committed_offset(bootstrap: str, group: str) -> int:
    """What the broker has for the group's only partition; negative for nothing."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    asked = [ConsumerGroupTopicPartitions(group, [TopicPartition(TOPIC, 0)])]
    found = admin.list_consumer_group_offsets(asked)[group].result(PATIENCE_S)
    partitions = found.topic_partitions
    assert partitions is not None
    return int(partitions[0].offset)


def commit_from_outside(bootstrap: str) -> None:
    """The control: the same commit in a group that nobody renews."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    asked = [ConsumerGroupTopicPartitions(CONTROL, [TopicPartition(TOPIC, 0, 3)])]
    admin.alter_consumer_group_offsets(asked)[CONTROL].result(PATIENCE_S)


def consumer_at_its_end(bootstrap: str) -> Consumer:
    """A classic member that has read and committed three records and then only heartbeats."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6_000,
        }
    )
    consumer.subscribe([TOPIC])
    seen = 0
    give_up = time.monotonic() + PATIENCE_S
    while seen < 3 and time.monotonic() < give_up:
        seen += len(consumer.consume(3, 0.5))
    assert seen == 3
    consumer.commit(asynchronous=False)
    return consumer


def test_idle_partition_keeps_its_offset_while_the_group_lives(tmp_path: Path) -> None:
    """A simple commit expires a minute later on this broker, the live group's offset does not (decision 1)."""
    with (
        start_broker(BrokerSettings(properties=SHORT_RETENTION), directory=tmp_path / "kafka") as broker,
        bridge_process(broker.bootstrap, ("embedded-*",), tmp_path / "bridge", RENEWING) as bridge,
    ):
        create_topic(broker.bootstrap, TOPIC, 1)
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        for number in range(3):
            producer.produce(TOPIC, b"%d" % number)
        assert producer.flush(PATIENCE_S) == 0
        consumer = consumer_at_its_end(bridge.bootstrap)
        # Committed after the group's own offset, so it is gone later than that one would be.
        commit_from_outside(broker.bootstrap)
        assert (committed_offset(broker.bootstrap, GROUP), committed_offset(broker.bootstrap, CONTROL)) == (3, 3)
        give_up = time.monotonic() + EXPIRY_MAX_S
        while committed_offset(broker.bootstrap, CONTROL) >= 0 and time.monotonic() < give_up:
            assert consumer.poll(2.0) is None
        assert committed_offset(broker.bootstrap, CONTROL) < 0, "the control never expired: the test shows nothing"
        assert committed_offset(broker.bootstrap, GROUP) == 3
        consumer.close()
