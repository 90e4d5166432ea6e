"""Topics and committed offsets, asked of librdkafka's mock cluster where it can answer. It must not know the fleet.

Creating and growing topics, which that cluster lacks, run end to end.
"""

from collections.abc import Iterator

import confluent_kafka
import pytest

from bridge.demo.cluster import partitions_of, read_committed
from bridge.demo.events import Partition

P0, P1 = Partition("t", 0), Partition("t", 1)


@pytest.fixture
def mock_bootstrap() -> Iterator[str]:
    """librdkafka's mock cluster, alive as long as its producer is."""
    host = confluent_kafka.Producer({"test.mock.num.brokers": 1})
    brokers = host.list_topics("t", timeout=60).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    host.flush(1)


def test_partitions_of_two_topics_are_all_pairs() -> None:
    """Each topic has the same count."""
    assert partitions_of(["t"], 2) == {P0, P1}
    assert len(partitions_of(["a", "b"], 3)) == 6


def test_committed_offsets_are_read_without_joining(mock_bootstrap: str) -> None:
    """What the broker has; a partition without a commit is left out."""
    settings: dict[str, str | bool] = {
        "bootstrap.servers": mock_bootstrap,
        "group.id": "g",
        "enable.auto.commit": False,
    }
    consumer = confluent_kafka.Consumer(settings)
    consumer.commit(offsets=[confluent_kafka.TopicPartition("t", 1, 7)], asynchronous=False)
    consumer.close()
    assert read_committed(mock_bootstrap, "g", {P0, P1}) == {P1: 7}
