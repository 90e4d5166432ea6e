"""What can stand behind the bridge: librdkafka's mock cluster, a Kafka of the demo's own, or one that was named; its
topics and what was committed there, asked for with confluent-kafka.
"""

import contextlib
import sys
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import trio
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bridge.demo.errors import DemoError
from bridge.demo.events import Partition
from bridge.demo.kafka_broker import ask_api_versions, start_broker
from bridge.demo.kafka_properties import BrokerSettings
from bridge.demo.services import Service, run_service

TIMEOUT_S = 20.0
LOG_LEVEL = 0
"""librdkafka writes to standard error, which is no place for it; what fails is raised."""


def partitions_of(topics: Collection[str], count: int) -> frozenset[Partition]:
    """The partitions of topics that have `count` each."""
    return frozenset(Partition(topic, index) for topic in topics for index in range(count))


def create_topics(bootstrap: str, topics: Collection[str], partitions: int) -> frozenset[Partition]:
    """Create topics with one replica and wait for it; raises KafkaException with the broker's refusal."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": LOG_LEVEL})
    wanted = [NewTopic(topic, num_partitions=partitions, replication_factor=1) for topic in topics]
    for created in admin.create_topics(wanted, operation_timeout=TIMEOUT_S).values():
        created.result(TIMEOUT_S)
    return partitions_of(topics, partitions)


def read_committed(bootstrap: str, group: str, partitions: Collection[Partition]) -> Mapping[Partition, int]:
    """What the group has committed according to the broker; partitions without a commit are left out. Joins nothing."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False, "log_level": LOG_LEVEL}
    )
    try:
        answers = consumer.committed([TopicPartition(*partition) for partition in sorted(partitions)], TIMEOUT_S)
    finally:
        consumer.close()
    return {Partition(answer.topic, answer.partition): answer.offset for answer in answers if answer.offset >= 0}


MOCK_BROKERS = 3
TIDY_TIMEOUT_S = 10.0
KAFKA_VERSIONS = {"4.3": "4.3.1", "3.9": "3.9.1"}
KAFKA_PROPERTIES = {
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "1000",
}
"""With Kafka's 5 s between two heartbeats of a KIP-848 member every change would be long to look at."""


@asynccontextmanager
async def run_mock(topic: str, partitions: int, directory: Path) -> AsyncIterator[str]:
    """Run the mock cluster with one topic in a child process; give its bootstrap addresses."""
    program = (sys.executable, "-m", "bridge.demo.mock_cluster")
    service = Service(
        name="librdkafka's mock cluster",
        command=(*program, "--brokers", str(MOCK_BROKERS), "--topic", topic, "--partitions", str(partitions)),
        log=directory / "mock-cluster.stderr",
    )
    async with run_service(service) as line:
        yield line


@contextmanager
def run_kafka(series: str, directory: Path) -> Iterator[str]:
    """Run a Kafka of this series ("4.3", "3.9") in a child process, fetched if need be; give its address. Blocks.

    Raises KafkaLaunchError. Whatever interrupts the start ends the process too.
    """
    settings = BrokerSettings(version=KAFKA_VERSIONS[series], properties=KAFKA_PROPERTIES)
    with start_broker(settings, directory=directory) as broker:
        yield broker.bootstrap


@asynccontextmanager
async def borrow_topic(bootstrap: str, topic: str, partitions: int) -> AsyncIterator[None]:
    """Create a topic on a real cluster and delete it at the end; raises DemoError (EB-DEMO-006) if it can't be."""
    await trio.to_thread.run_sync(_check_broker, bootstrap, abandon_on_cancel=True)
    try:
        await trio.to_thread.run_sync(create_topics, bootstrap, [topic], partitions, abandon_on_cancel=True)
    except (KafkaException, TimeoutError) as error:
        raise DemoError(
            f"EB-DEMO-006: topic {topic!r} could not be created on {bootstrap}: {error!r}. "
            f"May anonymous clients create topics there?"
        ) from error
    try:
        yield
    finally:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + TIDY_TIMEOUT_S):
            await trio.to_thread.run_sync(_delete_topics, bootstrap, [topic], abandon_on_cancel=True)


def _check_broker(bootstrap: str) -> None:
    host, _, port = bootstrap.partition(",")[0].rpartition(":")
    try:
        ask_api_versions(host, int(port))
    except (OSError, ValueError) as error:
        raise DemoError(
            f"EB-DEMO-006: no Kafka answers at {host}:{port}: {error}. Is a broker listening there, without TLS? "
            f"Without --bootstrap the demo brings its own."
        ) from error


def _delete_topics(bootstrap: str, topics: Collection[str]) -> None:
    # The cluster may be what failed; what can't be tidied up must not hide why.
    with contextlib.suppress(KafkaException, TimeoutError):
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": LOG_LEVEL})
        for deleted in admin.delete_topics(list(topics), operation_timeout=TIDY_TIMEOUT_S).values():
            deleted.result(TIDY_TIMEOUT_S)
