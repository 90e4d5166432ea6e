"""Kafka's own tool resets and deletes the offsets of a live embedded group at the broker: it is noticed and told.

It must not know how the bridge compares offsets.
"""

import time
from collections.abc import Callable
from pathlib import Path

import httpx
from confluent_kafka import Consumer, Producer, TopicPartition

from bridge.admin.client import ask_group
from tests.support.bridge_process import QUICK_SETTINGS, BridgeProcess, bridge_process
from tests.support.kafka import KafkaUnderTest, TopicFactory

GROUP = "embedded-reset"
CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
INTERVAL_S = 1.0
PATIENCE_S = 60.0
RECORDS = 5
SETTINGS = {**QUICK_SETTINGS, "embedded.topics.refresh.ms": str(int(INTERVAL_S * 1000))}


def poll_until(consumer: Consumer, done: Callable[[], bool]) -> None:
    """Go on as a live member until something is so."""
    give_up = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < give_up, "it did not come about"
        consumer.poll(0.2)


def said(bridge: BridgeProcess, code: str) -> int:
    """How often the bridge has logged it."""
    return bridge.log.read_text(encoding="utf-8", errors="replace").count(code)


def counted(bridge: BridgeProcess) -> int:
    """How many changes `/metrics` tells of."""
    name = "epochbridge_offsets_changed_elsewhere_total "
    lines = httpx.get(f"http://{bridge.admin}/metrics", trust_env=False, timeout=PATIENCE_S).text.splitlines()
    return sum(int(float(line.removeprefix(name))) for line in lines if line.startswith(name))


def test_reset_and_delete_under_a_live_member_are_told(
    kafka_43: KafkaUnderTest, topic_factory: TopicFactory, tmp_path: Path
) -> None:
    """In the log, a metric and `describe`; the member stays, and its next commit over it is told too."""
    topic = topic_factory(kafka_43.bootstrap, 1)
    producer = Producer({"bootstrap.servers": kafka_43.bootstrap})
    for number in range(RECORDS):
        producer.produce(topic, str(number))
    producer.flush(PATIENCE_S)
    place = ["--bootstrap-server", kafka_43.bootstrap, "--group", GROUP]
    reset = [*place, "--topic", topic, "--reset-offsets", "--to-offset", "2", "--execute"]
    with bridge_process(kafka_43.bootstrap, [GROUP], tmp_path, SETTINGS, has_admin=True) as bridge:
        consumer = Consumer(
            {
                "bootstrap.servers": bridge.bootstrap,
                "group.id": GROUP,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        try:
            consumer.subscribe([topic])
            assert len(consumer.consume(RECORDS, PATIENCE_S)) == RECORDS
            consumer.commit(asynchronous=False)
            poll_until(consumer, lambda: committed(kafka_43.bootstrap, topic) == RECORDS)
            assert counted(bridge) == 0
            assert kafka_43.tools.run(CONSUMER_GROUPS, *reset).returncode == 0, "the broker takes the group for empty"
            poll_until(consumer, lambda: said(bridge, "EB-OFFSETS-007") == 1)
            assert counted(bridge) == 1
            assert f"{topic}[0] 5 -> 2" in ask_group(bridge.admin, GROUP).decode()
            assert committed(kafka_43.bootstrap, topic) == 2, "nobody undoes it"
            consumer.commit(offsets=[TopicPartition(topic, 0, RECORDS)], asynchronous=False)
            poll_until(consumer, lambda: said(bridge, "EB-OFFSETS-008") == 1)
            assert kafka_43.tools.run(CONSUMER_GROUPS, *place, "--delete").returncode == 0
            poll_until(consumer, lambda: said(bridge, "EB-OFFSETS-007") == 2)
            assert counted(bridge) == 2
        finally:
            consumer.close()


def committed(bootstrap: str, topic: str) -> int:
    """What the broker has."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP})
    try:
        return int(consumer.committed([TopicPartition(topic, 0)], PATIENCE_S)[0].offset)
    finally:
        consumer.close()
