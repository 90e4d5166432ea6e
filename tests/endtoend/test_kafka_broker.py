"""Real Apache Kafka, old and new: it starts, keeps a record, forgets nothing over a kill, and runs its own tools."""

import pytest
from confluent_kafka import Consumer, Producer

from tests.support.kafka import KafkaUnderTest, TopicFactory

WAIT_S = 90.0
GROUP_TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.fixture(params=["kafka_39", "kafka_43"])
def kafka(request: pytest.FixtureRequest) -> KafkaUnderTest:
    """Each version in turn."""
    cluster: object = request.getfixturevalue(request.param)
    assert isinstance(cluster, KafkaUnderTest)
    return cluster


def produce(bootstrap: str, topic: str, value: bytes) -> None:
    """Produce one record and wait for its acknowledgement."""
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, value)
    assert producer.flush(WAIT_S) == 0


def consume_one(bootstrap: str, topic: str, group: str) -> bytes | None:
    """Read the first record of a topic as the only member of a fresh classic group, and commit it."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([topic])
        message = consumer.poll(WAIT_S)
        assert message is not None
        assert message.error() is None
        consumer.commit(message=message, asynchronous=False)
        return message.value()
    finally:
        consumer.close()


def test_started_broker_keeps_a_record(kafka: KafkaUnderTest, topic_factory: TopicFactory) -> None:
    """One record in, the same record out, by a real client; the group is then known to Kafka's own tool."""
    topic = topic_factory(kafka.bootstrap, 1)
    produce(kafka.bootstrap, topic, b"one")
    assert consume_one(kafka.bootstrap, topic, f"group-{topic}") == b"one"
    listing = kafka.tools.run(GROUP_TOOL, "--bootstrap-server", kafka.bootstrap, "--list")
    assert listing.returncode == 0, listing.stderr
    assert f"group-{topic}" in listing.stdout.splitlines()


def test_killed_broker_comes_back_with_its_data(kafka: KafkaUnderTest, topic_factory: TopicFactory) -> None:
    """Same port, same data after kill -9."""
    broker = kafka.own_broker()
    topic = topic_factory(kafka.bootstrap, 1)
    produce(kafka.bootstrap, topic, b"kept")
    pid = broker.pid
    broker.kill()
    broker.start()
    assert broker.pid not in {None, pid}
    assert consume_one(kafka.bootstrap, topic, f"group-{topic}") == b"kept"
