"""A controller and two brokers, each broker of which may be killed while the other leads everything.

It must not know the bridge, nor who is a client.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bridge.demo.cluster import partitions_of
from bridge.demo.events import Partition
from bridge.demo.kafka_broker import HOST, KafkaBroker, find_tools, free_ports, fresh_cluster_id
from bridge.demo.kafka_properties import DEFAULT_VERSION, BrokerPlace, BrokerSettings

CONTROLLER, FIRST, SECOND = 100, 1, 2
OFFSETS = "__consumer_offsets"
TIMEOUT_S = 180.0
POLL_S = 0.2
DEAD_AFTER_MS = 3_000
"""A broker that says nothing for so long leads nothing any more; Kafka's default is 9 s."""
PROPERTIES = {
    "offsets.topic.replication.factor": "2",
    "min.insync.replicas": "1",
    "broker.session.timeout.ms": str(DEAD_AFTER_MS),
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "5000",
    "unclean.leader.election.enable": "false",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """Two brokers that hold copies of everything."""

    brokers: dict[int, KafkaBroker]

    @property
    def bootstrap(self) -> str:
        """Both."""
        return ",".join(broker.bootstrap for broker in self.brokers.values())

    def create_topic(self, name: str, count: int) -> frozenset[Partition]:
        """Every other partition is led by the first broker; the other has a copy."""
        order = [[FIRST, SECOND] if number % 2 else [SECOND, FIRST] for number in range(count)]
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        topic = NewTopic(name, num_partitions=count, replica_assignment=order)
        admin.create_topics([topic], operation_timeout=TIMEOUT_S)[name].result(TIMEOUT_S)
        self.wait_whole()
        return partitions_of([name], count)

    def leader(self, name: str, number: int) -> int:
        """Who leads a partition now, -1 for nobody."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        return int(admin.list_topics(name, timeout=TIMEOUT_S).topics[name].partitions[number].leader)

    def wait_whole(self) -> None:
        """Until each broker says that every partition has two copies in step: then either may die. May block."""
        give_up = time.monotonic() + TIMEOUT_S
        missing = [""]
        while missing:
            missing = [f"{at}: {name}" for at in self.bootstrap.split(",") for name in _not_whole(at)]
            if missing and time.monotonic() > give_up:
                raise AssertionError(f"not in step after {TIMEOUT_S:.0f} s: {missing}")
            time.sleep(POLL_S if missing else 0)


def _not_whole(bootstrap: str) -> list[str]:
    topics = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=TIMEOUT_S).topics
    return [
        f"{topic}-{number}"
        for topic, told in topics.items()
        for number, partition in told.partitions.items()
        if len(partition.isrs) < len((FIRST, SECOND)) or partition.leader not in {FIRST, SECOND}
    ]


def _broker(settings: BrokerSettings, controller_port: int, directory: Path) -> KafkaBroker:
    directory.mkdir(parents=True)
    is_controller = settings.node_id == CONTROLLER
    port = controller_port if is_controller else free_ports(1)[0]
    role = {
        "process.roles": "controller" if is_controller else "broker",
        "controller.quorum.voters": f"{CONTROLLER}@{HOST}:{controller_port}",
        "listeners": f"{'CONTROLLER' if is_controller else 'PLAINTEXT'}://{HOST}:{port}",
        "advertised.listeners": f"{'CONTROLLER' if is_controller else 'PLAINTEXT'}://{HOST}:{port}",
    }
    place = BrokerPlace(client_port=port, controller_port=controller_port, directory=directory)
    tools = find_tools(settings.version, directory=directory)
    return KafkaBroker(replace(settings, properties={**PROPERTIES, **role}), place, tools)


@contextmanager
def killable_cluster(directory: Path, version: str = DEFAULT_VERSION) -> Iterator[Cluster]:
    """Start all three, and stop them at the end."""
    cluster_id, controller_port = fresh_cluster_id(), free_ports(60)[-1]
    with ExitStack() as running:
        started: dict[int, KafkaBroker] = {}
        for node_id in (CONTROLLER, FIRST, SECOND):
            settings = BrokerSettings(version=version, node_id=node_id)
            broker = running.enter_context(_broker(settings, controller_port, directory / f"node-{node_id}"))
            broker.format(cluster_id)
            broker.start()
            started[node_id] = broker
        yield Cluster({node_id: started[node_id] for node_id in (FIRST, SECOND)})
