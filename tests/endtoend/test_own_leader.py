"""Groups that nobody can translate: an assignor of the clients' own, computed by their own leader.

It must not know how the bridge runs a classic group.
"""

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaError

from bridge.demo.cluster import create_topics, read_committed
from bridge.demo.events import Partition
from tests.support.bridge_process import BridgeProcess
from tests.support.kafka import KafkaUnderTest

PARTITIONS = 4
GIVE_UP_S = 60.0
POLL_MS = 100


ACME = type("AcmeAssignor", (RangePartitionAssignor,), {"name": "acme"})
"""The same as range, under a name that no server knows."""


class Worker:
    """A consumer that polls and commits in its own thread until it is told to leave."""

    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        self.assigned: frozenset[int] = frozenset()
        self.problem: Exception | None = None
        self._consumer = KafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            client_id=f"worker-{uuid.uuid4().hex[:4]}",
            partition_assignment_strategy=[ACME],
            session_timeout_ms=6_000,
            heartbeat_interval_ms=300,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        """Leave the group."""
        self._is_stopped.set()
        self._thread.join(GIVE_UP_S)

    def _run(self) -> None:
        try:
            while not self._is_stopped.is_set():
                if self._consumer.poll(timeout_ms=POLL_MS):
                    self._consumer.commit()
                self.assigned = frozenset(partition.partition for partition in self._consumer.assignment())
        except KafkaError as problem:
            self.problem = problem
        finally:
            self._consumer.close()


def wait_for(is_reached: Callable[[], bool]) -> None:
    """Wait until something is so."""
    give_up_s = time.monotonic() + GIVE_UP_S
    while not is_reached():
        assert time.monotonic() < give_up_s
        time.sleep(POLL_MS / 1000)


def share(workers: Sequence[Worker], shares: Sequence[int]) -> bool:
    """Whether everybody has its share, and nobody another's."""
    assert [worker.problem for worker in workers] == [None] * len(workers)
    owned = [worker.assigned for worker in workers]
    return sorted(map(len, owned)) == shares and len(frozenset[int]().union(*owned)) == PARTITIONS


def described(bootstrap: str, group: str) -> tuple[str, str, int]:
    """A group's type, assignor and number of members, as an admin client sees them."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    found = admin.describe_consumer_groups([group])[group].result(GIVE_UP_S)
    return found.type.name, found.partition_assignor, len(found.members)


def produce(bootstrap: str, topic: str) -> None:
    """One record into every partition."""
    producer = Producer({"bootstrap.servers": bootstrap})
    for partition in range(PARTITIONS):
        producer.produce(topic, b"record", partition=partition)
    producer.flush(GIVE_UP_S)


def committed(bootstrap: str, group: str, topic: str) -> int:
    """How many records the group has committed, as the broker knows it."""
    wanted = [Partition(topic, index) for index in range(PARTITIONS)]
    return sum(read_committed(bootstrap, group, wanted).values())


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """What is closed at the end."""
    with ExitStack() as held:
        yield held


def test_group_with_an_assignor_of_its_own_runs_as_a_classic_group(
    kafka_43: KafkaUnderTest, bridge_43: BridgeProcess, stack: ExitStack
) -> None:
    """It forms, shares and shrinks; admins see a classic group; commits are the broker's (decision 21)."""
    group = f"embedded-acme-{uuid.uuid4().hex[:6]}"
    topic = f"{group}-topic"
    create_topics(kafka_43.bootstrap, (topic,), PARTITIONS)
    first = stack.enter_context(closing(Worker(bridge_43.bootstrap, group, topic)))
    wait_for(lambda: share([first], [4]))
    second = stack.enter_context(closing(Worker(bridge_43.bootstrap, group, topic)))
    wait_for(lambda: share([first, second], [2, 2]))
    assert described(bridge_43.bootstrap, group) == ("CLASSIC", "acme", 2)
    produce(kafka_43.bootstrap, topic)
    wait_for(lambda: committed(kafka_43.bootstrap, group, topic) == PARTITIONS)
    second.close()
    wait_for(lambda: share([first], [4]))
