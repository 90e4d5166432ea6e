"""The real Kafka behind every figure, with a second listener that an outside relay stands in front of.

It must not know what is measured.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType

from bridge.demo.kafka_broker import HOST, KafkaBroker, find_tools, free_ports
from bridge.demo.kafka_properties import BrokerPlace, BrokerSettings
from tests.support.kafka import create_topic

WAKE_TIMEOUT_S = 60.0
WAKE_PAUSE_S = 0.2
SERVED_TIMEOUT_S = 600.0
"""How long a busy machine may take to make a thousand partitions."""
INITIAL_DELAY_MS = 3_000
"""How long a first rebalance waits for more members, at the broker and at the bridge: Kafka's default."""
LEAST_INTERVAL_MS = 500
PARTITIONS_OF_BIG_TOPIC = 4_000
BIG_TOPIC, SMALL_TOPIC, RELAY_TOPIC = "bench-4000", "bench-400", "bench-relay"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchBroker:
    """Where Kafka is reached directly, and where a relay must listen to be told to clients in its place."""

    bootstrap: str
    version: str
    relay_listens: str
    relay_forwards: str


@contextmanager
def bench_broker(directory: Path) -> Iterator[BenchBroker]:
    """Run a broker of the default version until the end of the block, topics made."""
    client, controller, forwarded, advertised = free_ports(4)
    listeners = f"PLAINTEXT://{HOST}:{client},CONTROLLER://{HOST}:{controller},RELAYED://{HOST}:{forwarded}"
    settings = BrokerSettings(
        properties={
            "listeners": listeners,
            "advertised.listeners": f"PLAINTEXT://{HOST}:{client},RELAYED://{HOST}:{advertised}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,RELAYED:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.index.size.max.bytes": "65536",
            "group.initial.rebalance.delay.ms": str(INITIAL_DELAY_MS),
            # For groups of a benchmark that says so of them; all others are heard every 5 s, as Kafka has it.
            "group.consumer.min.heartbeat.interval.ms": str(LEAST_INTERVAL_MS),
        }
    )
    place = BrokerPlace(client_port=client, controller_port=controller, directory=directory)
    with KafkaBroker(settings, place, find_tools(settings.version, directory=directory)) as broker:
        broker.format()
        broker.start()
        _wake_coordinator(broker.bootstrap)
        yield BenchBroker(
            bootstrap=broker.bootstrap,
            version=broker.version,
            relay_listens=f"{HOST}:{advertised}",
            relay_forwards=f"{HOST}:{forwarded}",
        )


def await_partitions(broker: BenchBroker, topic: str, count: int) -> None:
    """Until the broker serves every partition: only then its group coordinator hears of the topic, and of a group that
    it takes over before it drops what members have of a topic that it does not know.
    """
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "await"})
    give_up = time.monotonic() + SERVED_TIMEOUT_S
    try:
        for partition in range(count):
            while True:
                try:
                    consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=WAKE_TIMEOUT_S)
                    break
                except KafkaException:
                    if time.monotonic() > give_up:
                        raise
                    time.sleep(WAKE_PAUSE_S)
    finally:
        consumer.close()


def _wake_coordinator(bootstrap: str) -> None:
    """Kafka makes its offsets topic when somebody first looks for a coordinator; members of a fleet never look."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "wake"})
    give_up = time.monotonic() + WAKE_TIMEOUT_S
    try:
        while True:
            try:
                consumer.committed([TopicPartition("wake", 0)], WAKE_TIMEOUT_S)
            except KafkaException:
                # It says that it is no coordinator while it makes the topic.
                if time.monotonic() > give_up:
                    raise
                time.sleep(WAKE_PAUSE_S)
            else:
                return
    finally:
        consumer.close()


def make_topics(broker: BenchBroker, *names: str) -> None:
    """Create topics that are not there yet; the number in a name says how many partitions, one if there is none."""
    known = AdminClient({"bootstrap.servers": broker.bootstrap}).list_topics(timeout=WAKE_TIMEOUT_S).topics
    for name in (name for name in names if name not in known):
        number = name.rpartition("-")[2]
        create_topic(broker.bootstrap, name, int(number) if number.isdecimal() else 1)


def hear_often(broker: BenchBroker, groups: Sequence[str]) -> None:
    """Have the broker hear of KIP-848 members of these groups every half second, as their classic members are."""
    interval = ConfigEntry(
        "consumer.heartbeat.interval.ms", str(LEAST_INTERVAL_MS), incremental_operation=AlterConfigOpType.SET
    )
    resources = [ConfigResource(ResourceType.GROUP, group, incremental_configs=[interval]) for group in groups]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for done in admin.incremental_alter_configs(resources).values():
        done.result(WAKE_TIMEOUT_S)
