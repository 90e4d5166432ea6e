"""Real clients that reach two brokers by their hosts at one port, and each gets the broker that it means.

The hosts are another way to write loopback addresses: resolvers take them for those, and libraries of TLS for names.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaConsumer, TopicPartition

from bridge.demo.kafka_properties import DEFAULT_VERSION
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.certificates import Authority
from tests.support.two_brokers import FIRST, SECOND, two_brokers

BOOTSTRAP, HOSTS = "0x7f.0.1.1", {FIRST: "0x7f.0.0.1", SECOND: "0x7f.0.0.2"}
RECORDS = 20
PATIENCE_S = 120.0
PATIENCE_MS = int(PATIENCE_S * 1_000)


@dataclass(frozen=True, slots=True)
class World:
    """A bridge with one port before two brokers, each of which leads a partition of the topic."""

    bootstrap: str
    trust: Path
    topic: str

    @property
    def librdkafka(self) -> dict[str, str | bool]:
        """How confluent-kafka comes in."""
        return {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": "SSL",
            "ssl.ca.location": str(self.trust),
            "ssl.endpoint.identification.algorithm": "https",
        }


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """With records in both partitions, sent through the bridge."""
    folder = tmp_path_factory.mktemp("hosts")
    authority = Authority(folder)
    settings = {
        **QUICK_SETTINGS,
        "listen": "0.0.0.0:0",
        "advertised.host": BOOTSTRAP,
        "listen.sni.pattern": "0x7f.0.0.{id}",
        "listen.tls": "true",
        "listen.tls.certificate.path": str(authority.pair(BOOTSTRAP, *HOSTS.values())),
    }
    topic = f"hosts-{uuid.uuid4().hex[:8]}"
    with two_brokers(DEFAULT_VERSION, folder) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        made = NewTopic(topic, num_partitions=2, replica_assignment=[[FIRST], [SECOND]])
        admin.create_topics([made], operation_timeout=PATIENCE_S)[topic].result(PATIENCE_S)
        with bridge_process(cluster.bootstrap, ("embedded-*",), folder / "bridge", settings) as bridge:
            port = bridge.bootstrap.rpartition(":")[2]
            one = World(f"{BOOTSTRAP}:{port}", authority.trust, topic)
            producer = Producer(one.librdkafka)
            for number in range(RECORDS):
                producer.produce(topic, b"%d" % number, partition=number % 2)
            assert producer.flush(PATIENCE_S) == 0
            yield one


def test_brokers_are_told_by_hosts_and_one_port(world: World) -> None:
    """Whoever asks for metadata, and for the coordinator of a group."""
    port = int(world.bootstrap.rpartition(":")[2])
    seen = AdminClient({**world.librdkafka}).list_topics(timeout=PATIENCE_S).brokers
    assert {f"{node_id}@{broker.host}:{broker.port}" for node_id, broker in seen.items()} == {
        f"{node_id}@{host}:{port}" for node_id, host in HOSTS.items()
    }


@pytest.mark.parametrize("road", ["pass", "embedded", "upstream"])
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_confluent_kafka_consumes_from_both(world: World, protocol: str, road: str) -> None:
    """Leaders and coordinators are asked at their hosts."""
    words = {"group.id": f"{road}-{uuid.uuid4().hex[:8]}", "group.protocol": protocol, "auto.offset.reset": "earliest"}
    consumer = Consumer({**world.librdkafka, **words, "enable.auto.commit": False})
    consumer.subscribe([world.topic])
    try:
        heard = consumer.consume(RECORDS, PATIENCE_S)
        assert [message.error() for message in heard] == [None] * RECORDS
        consumer.commit(asynchronous=False)
        committed = consumer.committed(consumer.assignment(), PATIENCE_S)
        assert sum(partition.offset for partition in committed) == RECORDS
    finally:
        consumer.close()


def test_kafka_python_consumes_from_both(world: World) -> None:
    """Python's own TLS, with the host checked."""
    consumer = KafkaConsumer(
        world.topic,
        bootstrap_servers=world.bootstrap,
        security_protocol="SSL",
        ssl_cafile=str(world.trust),
        group_id=f"embedded-{uuid.uuid4().hex[:8]}",
        auto_offset_reset="earliest",
        consumer_timeout_ms=PATIENCE_MS,
    )
    heard: set[bytes] = set()
    for record in consumer:
        heard.add(record.value)
        if len(heard) == RECORDS:
            break
    assert len(heard) == RECORDS
    consumer.commit()
    assert sum(consumer.committed(TopicPartition(world.topic, number)) or 0 for number in range(2)) == RECORDS
    consumer.close()
