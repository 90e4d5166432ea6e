"""Groups that no rule names, with real clients through a real proxy in front of a real Kafka.

It must not know how the proxy moves bytes.
"""

import json
import socket
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer

from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import encode_request
from tests.support.kafka import KafkaUnderTest, TopicFactory
from tests.support.proxy import ProxyInThread, proxy_in_thread, settings_for
from tests.support.scripted_broker import request as frame_of
from translators.dialects.classic import Heartbeat
from translators.dialects.ids import GroupId, MemberId

RECORDS = 500
PATIENCE_S = 120.0
SHARED = ("records_consumed", "offsets_acknowledged")


@pytest.fixture
def front_43(kafka_43: KafkaUnderTest) -> Iterator[ProxyInThread]:
    """A proxy in front of Kafka 4.3.1."""
    with proxy_in_thread(settings_for(kafka_43.bootstrap)) as proxy:
        yield proxy


@pytest.fixture
def front_39(kafka_39: KafkaUnderTest) -> Iterator[ProxyInThread]:
    """A proxy in front of Kafka 3.9.1."""
    with proxy_in_thread(settings_for(kafka_39.bootstrap)) as proxy:
        yield proxy


def produce(bootstrap: str, topic: str) -> set[bytes]:
    """Produce records and return their values once all are acknowledged."""
    producer = Producer({"bootstrap.servers": bootstrap})
    values = {b"%d" % number for number in range(RECORDS)}
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(PATIENCE_S) == 0
    return values


def consume(bootstrap: str, topic: str, protocol: str) -> set[bytes]:
    """Consume with confluent-kafka until all records came, commit and leave."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"{topic}-{protocol}",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    seen: set[bytes] = set()
    give_up = time.monotonic() + PATIENCE_S
    while len(seen) < RECORDS and time.monotonic() < give_up:
        for message in consumer.consume(RECORDS, 0.5):
            assert message.error() is None
            seen.add(message.value() or b"")
    consumer.commit(asynchronous=False)
    committed = consumer.committed(consumer.assignment(), timeout=PATIENCE_S)
    consumer.close()
    # A partition that got no record has no offset; a quick producer may fill one alone.
    assert sum(max(partition.offset, 0) for partition in committed) == RECORDS
    return seen


def test_classic_and_consumer_group_on_43(front_43: ProxyInThread, topic_factory: TopicFactory) -> None:
    """Both protocols pass to a broker that speaks both, and the bridge saw them pass."""
    topic = topic_factory(front_43.bootstrap, 3)
    values = produce(front_43.bootstrap, topic)
    assert consume(front_43.bootstrap, topic, "classic") == values
    assert consume(front_43.bootstrap, topic, "consumer") == values
    assert {(ApiKey.JOIN_GROUP, f"{topic}-classic"), (ApiKey.CONSUMER_GROUP_HEARTBEAT, f"{topic}-consumer")} <= (
        front_43.groups.seen
    )


def test_classic_group_on_39(front_39: ProxyInThread, topic_factory: TopicFactory) -> None:
    """A broker of the 3 line is relayed to as well."""
    topic = topic_factory(front_39.bootstrap, 3)
    values = produce(front_39.bootstrap, topic)
    assert consume(front_39.bootstrap, topic, "classic") == values


@pytest.mark.parametrize("front", ["front_43", "front_39"])
def test_kafka_python(front: str, request: pytest.FixtureRequest, topic_factory: TopicFactory) -> None:
    """A second library, pure Python, both as producer and in a group."""
    proxy: ProxyInThread = request.getfixturevalue(front)
    topic = topic_factory(proxy.bootstrap, 3)
    producer = KafkaProducer(bootstrap_servers=proxy.bootstrap)
    values = {b"%d" % number for number in range(RECORDS)}
    for value in values:
        producer.send(topic, value)
    producer.flush(PATIENCE_S)
    producer.close()
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=proxy.bootstrap,
        group_id=topic,
        auto_offset_reset="earliest",
        consumer_timeout_ms=PATIENCE_S * 1000,
    )
    seen: set[bytes] = set()
    for message in consumer:
        seen.add(message.value)
        if len(seen) == RECORDS:
            break
    consumer.close()
    assert seen == values


def test_pipelined_requests_are_answered_in_order_by_a_real_broker(front_43: ProxyInThread) -> None:
    """Requests answered here, relayed, rewritten and never answered (acks=0), all sent at once."""
    acks_0 = b"\xff\xff\x00\x00" + (1_000).to_bytes(4, "big") + bytes(4)
    beat = Heartbeat(GroupId("nobody"), 1, MemberId("m"), None)
    frames = [
        frame_of(ApiKey.METADATA, 1, 1, bytes(4)),
        frame_of(ApiKey.API_VERSIONS, 0, 2),
        encode_request(ApiKey.HEARTBEAT, 4, 3, "raw", beat),
        frame_of(ApiKey.PRODUCE, 7, 4, acks_0),
        frame_of(ApiKey.FIND_COORDINATOR, 0, 5, b"\x00\x06nobody"),
        frame_of(ApiKey.API_VERSIONS, 0, 6),
    ]
    host, port = front_43.bootstrap.rsplit(":", 1)
    with socket.create_connection((host, int(port)), PATIENCE_S) as sock, sock.makefile("rb") as answers:
        sock.sendall(b"".join(frames) * 20)
        seen = []
        for _ in range(5 * 20):
            frame = answers.read(int.from_bytes(answers.read(4), "big"))
            seen.append(int.from_bytes(frame[:4], "big"))
    assert seen == [1, 2, 3, 5, 6] * 20


def test_transactions_of_java_on_43(
    front_43: ProxyInThread, kafka_43: KafkaUnderTest, topic_factory: TopicFactory
) -> None:
    """Java goes by the cluster's finalized `transaction.version`, not by the versions it is offered (KIP-890)."""
    topic = topic_factory(front_43.bootstrap, 3)
    words = ["--bootstrap-server", front_43.bootstrap, "--topic", topic, "--num-records", "200", "--record-size", "10"]
    words += ["--throughput", "-1", "--transactional-id", topic, "--transaction-duration-ms", "50"]
    result = kafka_43.tools.run("org.apache.kafka.tools.ProducerPerformance", *words)
    assert (result.returncode, "200 records sent" in result.stdout) == (0, True), result.stdout + result.stderr


def test_share_consumers_on_43(front_43: ProxyInThread, kafka_43: KafkaUnderTest, topic_factory: TopicFactory) -> None:
    """A share group (KIP-932) reads through the bridge what was produced through it, and acknowledges it."""
    topic = topic_factory(front_43.bootstrap, 3)
    produce(front_43.bootstrap, topic)
    words = ["--bootstrap-server", front_43.bootstrap, "--topic", topic, "--group-id", topic]
    words += ["--offset-reset-strategy", "earliest", "--max-messages", str(RECORDS)]
    result = kafka_43.tools.run("org.apache.kafka.tools.VerifiableShareConsumer", *words)
    events = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    counts = {name: sum(e["count"] for e in events if e["name"] == name) for name in SHARED}
    assert (result.returncode, counts) == (0, dict.fromkeys(SHARED, RECORDS)), result.stdout + result.stderr
