"""The census of groups that pass, from the command line of a bridge without rules in front of a real Kafka.

It must not know how the bridge hears or asks.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer

from tests.support.bridge_process import ROOT, bridge_process
from tests.support.kafka import KafkaUnderTest, TopicFactory

PATIENCE_S = 120.0
RECORDS = 30
Document = Mapping[str, object]


def ask(admin: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run the command."""
    command = [sys.executable, "-m", "bridge", "census", *words, "--admin", admin]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, cwd=ROOT, check=False)


def groups_of(document: Document) -> dict[str, Document]:
    """The groups of a census by their ids."""
    groups = document["groups"]
    assert isinstance(groups, list)
    return {group["group_id"]: group for group in groups}


def only_member(group: Document) -> Document:
    """The one member that a group has."""
    members = group["members"]
    assert isinstance(members, list)
    (member,) = members
    assert isinstance(member, dict)
    return member


@contextmanager
def consuming(bootstrap: str, topic: str) -> Iterator[None]:
    """Two groups with a member each, one of kafka-python and one of librdkafka, that have read and committed all."""
    python = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=f"{topic}-python",
        client_id="python",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=10_000,
        partition_assignment_strategy=_range_alone(),
    )
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": f"{topic}-librdkafka",
        "client.id": "librdkafka",
        "partition.assignment.strategy": "cooperative-sticky",
        "group.instance.id": "seat-1",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    librdkafka = Consumer(settings)
    librdkafka.subscribe([topic])
    left = {"python": RECORDS, "librdkafka": RECORDS}
    give_up = time.monotonic() + PATIENCE_S
    while any(left.values()):
        assert time.monotonic() < give_up, left
        left["python"] -= sum(len(records) for records in python.poll(timeout_ms=200).values())
        left["librdkafka"] -= len(librdkafka.consume(RECORDS, 0.2))
    python.commit()
    librdkafka.commit(asynchronous=False)
    try:
        yield
    finally:
        python.close()
        librdkafka.close()


def _range_alone() -> list[type]:
    from kafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: PLC0415  # by the library's own path

    return [RangePartitionAssignor]


def test_census_of_two_groups_that_pass(kafka_43: KafkaUnderTest, topic_factory: TopicFactory, tmp_path: Path) -> None:
    """Libraries, assignors, sessions, commits and lag are right, and both could move to either road."""
    topic = topic_factory(kafka_43.bootstrap, 2)
    producer = Producer({"bootstrap.servers": kafka_43.bootstrap})
    for number in range(RECORDS):
        producer.produce(topic, b"%d" % number, partition=number % 2)
    assert producer.flush(PATIENCE_S) == 0
    settings = {"journal": "memory", "bridges.group": "off"}
    with (
        bridge_process(kafka_43.bootstrap, (), tmp_path, settings, has_admin=True) as bridge,
        consuming(bridge.bootstrap, topic),
    ):
        producer.produce(topic, b"late", partition=0)
        assert producer.flush(PATIENCE_S) == 0
        asked = ask(bridge.admin, "--json")
        assert asked.returncode == 0, asked.stderr
        groups = groups_of(json.loads(asked.stdout))
        told = ask(bridge.admin, f"{topic}-python")
    python, librdkafka = groups[f"{topic}-python"], groups[f"{topic}-librdkafka"]
    for group in (python, librdkafka):
        shown = {key: group[key] for key in ("road", "kind", "state", "committed", "lag", "is_complete")}
        assert shown == {
            "road": "pass",
            "kind": "classic",
            "state": "Stable",
            "committed": 2,
            "lag": 1,
            "is_complete": True,
        }
        moves = group["moves"]
        assert isinstance(moves, list)
        assert [(move["to"], move["is_ready"]) for move in moves] == [("embedded", True), ("upstream", True)]
    keys = ("library", "assignors", "rebalancing", "is_static", "session_timeout_ms", "partition_count")
    member = only_member(python)
    assert [member[key] for key in keys] == ["kafka-python", ["range"], "eager", False, 10_000, 2]
    member = only_member(librdkafka)
    assert [member[key] for key in keys] == [
        *("confluent-kafka-python", ["cooperative-sticky"], "cooperative", True, 45_000, 2),
    ]
    assert "to upstream: ready" in told.stdout, told.stdout


def test_census_without_a_bridge_says_so() -> None:
    """A sentence with a code, and status 1."""
    asked = ask("127.0.0.1:1")
    assert (asked.returncode, asked.stdout) == (1, "")
    assert "EB-ADMIN-011: no bridge answers at 127.0.0.1:1" in asked.stderr
