"""Real Kafka for tests: one broker per version and session, or the cluster that EPOCHBRIDGE_TEST_KAFKA names.

It starts nothing until a test asks, and a missing piece is a failure with a sentence, never a skip.
"""

import itertools
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import KafkaException, NewTopic

from bridge.demo.kafka_broker import KafkaBroker, KafkaTools, find_tools, start_broker
from bridge.demo.kafka_properties import DEFAULT_VERSION, BrokerSettings
from tests.support.kafka_classes import provide_classes
from translators.dialects.errors import ErrorCode

CLUSTER_VARIABLE = "EPOCHBRIDGE_TEST_KAFKA"
OLD_VERSION = "3.9.1"
SCOUTED_VERSION = "4.1.1"
"""It switches no classic group at the first heartbeat of one of its own members, only at a stranger's."""
ADMIN_TIMEOUT_S = 90.0
PAUSE_S = 0.1
NOT_YET = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}

TopicFactory = Callable[[str, int], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaUnderTest:
    """A cluster to test against: its address, Kafka's own tools, and the broker if this session started it."""

    bootstrap: str
    tools: KafkaTools
    broker: KafkaBroker | None

    def own_broker(self) -> KafkaBroker:
        """Return the broker for tests that stop or kill it; fail if the cluster belongs to somebody else."""
        if self.broker is None:
            pytest.fail(
                f"this test stops its broker: unset {CLUSTER_VARIABLE} so that the tests start one of their own"
            )
        return self.broker


def create_topic(bootstrap: str, name: str, partitions: int) -> None:
    """Create a topic with one replica per partition and wait until the cluster has it; raise KafkaException if not."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    futures = admin.create_topics(
        [NewTopic(name, num_partitions=partitions, replication_factor=1)], operation_timeout=ADMIN_TIMEOUT_S
    )
    futures[name].result(ADMIN_TIMEOUT_S)


def make_offsets_topic(clients: Mapping[str, str]) -> None:
    """Let a broker be asked where a group is coordinated, and wait until that is somewhere; `clients` is how to get in.

    A broker makes its offsets topic for the first who asks, which is each client's first request of a group; a test
    that speaks for itself without asking heard NOT_COORDINATOR for ever where no test with a client came before it.
    An AdminClient that lists offsets is no way to ask: at a broker that coordinates nothing yet librdkafka ends the
    process (2.16.0, a segmentation fault).
    """
    consumer = Consumer({**clients, "group.id": "nobody"})
    give_up = time.monotonic() + ADMIN_TIMEOUT_S
    try:
        while True:
            try:
                consumer.committed([TopicPartition("nobody", 0)], ADMIN_TIMEOUT_S)
                return
            except KafkaException as fault:
                if fault.args[0].code() not in NOT_YET or time.monotonic() > give_up:
                    raise
                time.sleep(PAUSE_S)
    finally:
        consumer.close()


def provide_kafka(version: str, directory: Path) -> Iterator[KafkaUnderTest]:
    """Yield the named cluster if there is one, else a fresh broker of this version, stopped afterwards."""
    named = os.environ.get(CLUSTER_VARIABLE)
    if named:
        tools = find_tools(DEFAULT_VERSION, directory=directory)
        yield KafkaUnderTest(bootstrap=named, tools=tools, broker=None)
        return
    provide_classes(version)
    with start_broker(BrokerSettings(version=version), directory=directory) as broker:
        make_offsets_topic({"bootstrap.servers": broker.bootstrap})
        yield KafkaUnderTest(bootstrap=broker.bootstrap, tools=broker.tools, broker=broker)


@pytest.fixture(scope="session")
def kafka_43(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaUnderTest]:
    """Kafka 4.3.1, which speaks KIP-848."""
    yield from provide_kafka(DEFAULT_VERSION, tmp_path_factory.mktemp("kafka-4.3"))


@pytest.fixture(scope="session")
def kafka_39(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaUnderTest]:
    """Kafka 3.9.1 with its new protocol off, as it comes."""
    yield from provide_kafka(OLD_VERSION, tmp_path_factory.mktemp("kafka-3.9"))


@pytest.fixture
def topic_factory() -> TopicFactory:
    """Return a function of bootstrap and partition count that makes a topic and returns its fresh name."""
    prefix = f"topic-{uuid.uuid4().hex[:12]}"
    numbers = itertools.count()

    def make(bootstrap: str, partitions: int) -> str:
        name = f"{prefix}-{next(numbers)}"
        create_topic(bootstrap, name, partitions)
        return name

    return make
