"""Two real brokers as one cluster, and a topic whose leadership can be moved from one to the other."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaAdminClient
from kafka.structs import TopicPartition as PlainTopicPartition

from bridge.demo.kafka_broker import HOST, KafkaBroker, find_tools, free_ports, fresh_cluster_id
from bridge.demo.kafka_properties import BrokerPlace, BrokerSettings

ADMIN_TIMEOUT_S = 180.0
POLL_S = 0.1
FIRST, SECOND = 1, 2
OFFSETS = "__consumer_offsets"
NO_PROPERTIES: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class TwoBrokers:
    """A running cluster of broker 1, which is the controller too, and broker 2."""

    bootstrap: str

    def create_topic(self, name: str) -> None:
        """A topic of one partition, led by broker 1, with a copy on broker 2."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        topic = NewTopic(name, num_partitions=1, replica_assignment=[[FIRST, SECOND]])
        admin.create_topics([topic], operation_timeout=ADMIN_TIMEOUT_S)[name].result(ADMIN_TIMEOUT_S)
        self._wait_led(name, FIRST)

    def move_leader(self, name: str) -> None:
        """Let broker 2 lead the topic's partition."""
        plain = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        plain.alter_partition_reassignments({PlainTopicPartition(name, 0): [SECOND, FIRST]})
        plain.close()
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition(name, 0)]).result(ADMIN_TIMEOUT_S)
        self._wait_led(name, SECOND)

    def move_coordinator(self, group: str) -> None:
        """Let the other broker coordinate this group, and all others of its partition of the offsets topic."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        partitions = admin.list_topics(OFFSETS, timeout=ADMIN_TIMEOUT_S).topics[OFFSETS].partitions
        number = java_hash(group) % len(partitions)
        other = SECOND if partitions[number].leader == FIRST else FIRST
        plain = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        plain.alter_partition_reassignments({PlainTopicPartition(OFFSETS, number): [other]})
        plain.close()
        for bootstrap in self.bootstrap.split(","):
            _wait_told(AdminClient({"bootstrap.servers": bootstrap}), OFFSETS, other, number)

    def _wait_led(self, name: str, broker_id: int) -> None:
        """Both brokers have to know: clients in these tests ask once."""
        for bootstrap in self.bootstrap.split(","):
            _wait_told(AdminClient({"bootstrap.servers": bootstrap}), name, broker_id)


def java_hash(text: str) -> int:
    """Java's String.hashCode as Kafka's Utils.abs makes it positive, which finds a group's coordinator; for ASCII."""
    value = 0
    for char in text:
        value = (value * 31 + ord(char)) & 0xFFFFFFFF
    return 0 if value == 1 << 31 else min(value, (1 << 32) - value)


def _wait_told(admin: AdminClient, name: str, broker_id: int, number: int = 0) -> None:
    give_up = time.monotonic() + ADMIN_TIMEOUT_S
    leader = None
    while time.monotonic() < give_up:
        partitions = admin.list_topics(name, timeout=ADMIN_TIMEOUT_S).topics[name].partitions
        leader = partitions[number].leader if partitions else None
        if leader == broker_id:
            return
        time.sleep(POLL_S)
    raise AssertionError(f"broker {leader} leads {name}-{number} after {ADMIN_TIMEOUT_S:.0f} s, not broker {broker_id}")


def _node(settings: BrokerSettings, controller_port: int, directory: Path) -> KafkaBroker:
    place = BrokerPlace(client_port=free_ports(1)[0], controller_port=controller_port, directory=directory)
    properties = {
        **settings.properties,
        "controller.quorum.voters": f"{FIRST}@{HOST}:{controller_port}",
        "min.insync.replicas": "1",
    }
    if settings.node_id != FIRST:
        properties |= {"process.roles": "broker", "listeners": f"PLAINTEXT://{HOST}:{place.client_port}"}
    return KafkaBroker(
        replace(settings, properties=properties), place, find_tools(settings.version, directory=directory)
    )


@contextmanager
def two_brokers(version: str, directory: Path, properties: Mapping[str, str] = NO_PROPERTIES) -> Iterator[TwoBrokers]:
    """Start both, one after the other, and stop them at the end."""
    cluster_id = fresh_cluster_id()
    controller_port = free_ports(40)[-1]
    with ExitStack() as running:
        bootstrap: list[str] = []
        for node_id in (FIRST, SECOND):
            place = directory / f"node-{node_id}"
            place.mkdir(parents=True)
            settings = BrokerSettings(version=version, node_id=node_id, properties=properties)
            broker = running.enter_context(_node(settings, controller_port, place))
            broker.format(cluster_id)
            broker.start()
            bootstrap.append(broker.bootstrap)
        yield TwoBrokers(",".join(bootstrap))
