"""With `wire.node-endpoints: rewrite`, clients that are told a new leader by KIP-951 find it through the bridge.

It must not know how answers are rewritten.
"""

import base64
import socket
import time
import uuid
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicCollection
from confluent_kafka.admin import AdminClient
from kafka.protocol.consumer import FetchRequest, FetchResponse

from bridge.demo.kafka_properties import DEFAULT_VERSION
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.kafka import TopicFactory
from tests.support.oracle_frames import request_bytes
from tests.support.two_brokers import FIRST, SECOND, TwoBrokers, two_brokers

TOPIC = "moving"
RECORDS = 200
PATIENCE_S = 180.0
FETCH_VERSION = 16
FENCED_LEADER_EPOCH = 74
PARTITIONS = 16
RECORD_BYTES = 500_000


class Place(NamedTuple):
    """A cluster of two, and the bridge in front of it."""

    cluster: TwoBrokers
    bootstrap: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Two brokers of 4.3.1 behind a bridge that rewrites node endpoints."""
    directory = tmp_path_factory.mktemp("two-brokers")
    settings = {**QUICK_SETTINGS, "wire.node-endpoints": "rewrite", "wire.answer.bytes.max": str(4 * RECORD_BYTES)}
    with two_brokers(DEFAULT_VERSION, directory) as cluster:
        cluster.create_topic(TOPIC)
        with bridge_process(cluster.bootstrap, ("embedded-*",), directory / "bridge", settings) as bridge:
            yield Place(cluster, bridge.bootstrap)


def produce(producer: Producer, first: int) -> set[bytes]:
    """Produce records from a number on, and return them when all are acknowledged."""
    values = {b"%d" % number for number in range(first, first + RECORDS)}
    for value in values:
        producer.produce(TOPIC, value)
    assert producer.flush(PATIENCE_S) == 0
    return values


def consume(consumer: Consumer, count: int) -> set[bytes]:
    """Read as many records, in what time it takes."""
    seen: set[bytes] = set()
    give_up = time.monotonic() + PATIENCE_S
    while len(seen) < count and time.monotonic() < give_up:
        for message in consumer.consume(count, 0.5):
            assert message.error() is None
            seen.add(message.value() or b"")
    return seen


def ask_old_leader(bootstrap: str) -> FetchResponse:
    """The answer to a Fetch that is sent, through the bridge, to the former leader, under its epoch."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    described = admin.describe_topics(TopicCollection([TOPIC]))[TOPIC].result(PATIENCE_S)
    topic_id = uuid.UUID(bytes=base64.urlsafe_b64decode(f"{described.topic_id}=="))
    former = admin.list_topics(timeout=PATIENCE_S).brokers[FIRST]
    topic = FetchRequest.FetchTopic
    partition = topic.FetchPartition(
        version=FETCH_VERSION, partition=0, fetch_offset=0, partition_max_bytes=1_000, current_leader_epoch=0
    )
    request = FetchRequest(
        version=FETCH_VERSION,
        topics=[topic(version=FETCH_VERSION, topic_id=str(topic_id), partitions=[partition])],
    )
    with socket.create_connection((former.host, former.port), PATIENCE_S) as sock, sock.makefile("rb") as answers:
        sock.sendall(request_bytes(request))
        frame = answers.read(int.from_bytes(answers.read(4), "big"))
    return FetchResponse.decode(frame, version=FETCH_VERSION, header=True)


def test_moved_leader_is_found_through_the_bridge_and_nothing_is_lost(place: Place) -> None:
    """KIP-951: clients ask for Metadata every five minutes, so both go where the refusal sends them."""
    producer = Producer({"bootstrap.servers": place.bootstrap})
    consumer = Consumer({"bootstrap.servers": place.bootstrap, "group.id": "passing", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    produced = produce(producer, 0)
    seen = consume(consumer, RECORDS)
    place.cluster.move_leader(TOPIC)
    produced |= produce(producer, RECORDS)
    seen |= consume(consumer, RECORDS)
    consumer.close()
    answer = ask_old_leader(place.bootstrap)
    assert seen == produced
    told = answer.responses[0].partitions[0]
    assert (told.error_code, told.current_leader.leader_id) == (FENCED_LEADER_EPOCH, SECOND)
    leader = AdminClient({"bootstrap.servers": place.bootstrap}).list_topics(timeout=PATIENCE_S).brokers[SECOND]
    assert [(node.node_id, node.host, node.port) for node in answer.node_endpoints] == [
        (SECOND, leader.host, leader.port)
    ]


def test_more_records_than_an_answer_may_hold_come_in_several(place: Place, topic_factory: TopicFactory) -> None:
    """Every answer is held whole here: a client that asks for more than may be held gets what may be, and goes on."""
    topic = topic_factory(place.bootstrap, PARTITIONS)
    producer = Producer({"bootstrap.servers": place.bootstrap, "linger.ms": 0})
    for partition in range(PARTITIONS):
        producer.produce(topic, b"%d" % partition + bytes(RECORD_BYTES), partition=partition)
    assert producer.flush(PATIENCE_S) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": place.bootstrap,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "fetch.min.bytes": PARTITIONS // 2 * RECORD_BYTES,
        }
    )
    consumer.subscribe([topic])
    assert consume(consumer, PARTITIONS) == {b"%d" % number + bytes(RECORD_BYTES) for number in range(PARTITIONS)}
    consumer.close()
