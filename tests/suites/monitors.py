"""`python -m tests.suites.monitors` shows a fleet of classic members to franz-go's kadm, and reads with
@platformatic/kafka, direct and through the bridge, and prints what differs.

It wants Go, Node and npm; it must not know what the bridge does to groups.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from bridge.demo.kafka_broker import start_broker
from bridge.demo.kafka_properties import DEFAULT_VERSION, BrokerSettings
from tests.suites.__main__ import BROKER, ROADS
from tests.support.bridge_process import bridge_process
from tests.support.kafka import create_topic

FOLDER = Path(__file__).parent
PARTITIONS, RECORDS, LATER_RECORDS = 6, 60, 30
WAIT_S = 60.0
PROGRAM_TIMEOUT_S = 600
Seen = Mapping[str, object]


def main() -> int:
    """Show and read on every road; 1 if anything differs from the direct run."""
    directory = Path(tempfile.mkdtemp(prefix="monitors-"))
    kadm, reader = _build_kadm(directory), _install_reader(directory)
    settings = BrokerSettings(version=DEFAULT_VERSION, properties=BROKER)
    found = 0
    with start_broker(settings, directory=directory / "kafka") as broker:
        direct = _look(broker.bootstrap, "direct", kadm, reader)
        print(f"direct: {direct}")
        for road, (globs, of_bridge) in ROADS.items():
            with bridge_process(broker.bootstrap, globs, directory / "bridge", of_bridge) as bridge:
                seen = _look(bridge.bootstrap, road.replace(", ", "-"), kadm, reader)
            print(f"{road}: {seen}")
            found += seen != direct
    return int(found > 0)


def _look(bootstrap: str, name: str, kadm: Path, reader: Path) -> Seen:
    topic, group = f"monitors-{name}", f"monitors-{name}"
    create_topic(bootstrap, topic, PARTITIONS)
    _produce(bootstrap, topic, RECORDS)
    members = [_member(bootstrap, group, topic, number) for number in range(2)]
    _consume(members, topic, RECORDS)
    _produce(bootstrap, topic, LATER_RECORDS)
    live = _run([str(kadm), bootstrap, group])
    for member in members:
        member.close()
    left = _run([str(kadm), bootstrap, group])
    script = [str(shutil.which("node")), str(reader / "reader.mjs"), bootstrap, f"{group}-read", topic]
    first = _run(script)
    _produce(bootstrap, topic, LATER_RECORDS)
    return {"live": live, "left": left, "first": first, "again": _run(script)}


def _member(bootstrap: str, group: str, topic: str, number: int) -> Consumer:
    member = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": f"member-{number}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 10_000,
            "heartbeat.interval.ms": 500,
        }
    )
    member.subscribe([topic])
    return member


def _consume(members: list[Consumer], topic: str, wanted: int) -> None:
    """Let the members read all, commit it, and come to rest with partitions for each, while it goes on at all."""
    read, give_up, is_committed = dict[int, int](), time.monotonic() + WAIT_S, False
    while not is_committed:
        if time.monotonic() > give_up:
            raise TimeoutError(f"{read} of {wanted} records came to {[member.assignment() for member in members]}")
        for member in members:
            message = member.poll(0.05)
            if message is not None and message.error() is None:
                give_up = time.monotonic() + WAIT_S
                partition, offset = message.partition() or 0, (message.offset() or 0) + 1
                read[partition] = max(offset, read.get(partition, 0))
        if sum(read.values()) >= wanted and all(member.assignment() for member in members):
            is_committed = all(_commit(member, topic, read) for member in members)


def _commit(member: Consumer, topic: str, read: Mapping[int, int]) -> bool:
    """Commit what a member has, at once: each commit of a single record took its time on a busy machine. False in a
    rebalance.
    """
    own = [one.partition for one in member.assignment() if one.partition in read]
    try:
        member.commit(offsets=[TopicPartition(topic, one, read[one]) for one in own], asynchronous=False)
    except KafkaException:
        return False
    return True


def _produce(bootstrap: str, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(count):
        producer.produce(topic, str(number), partition=number % PARTITIONS)
    producer.flush(WAIT_S)


def _build_kadm(directory: Path) -> Path:
    source = shutil.copytree(FOLDER / "kadm", directory / "kadm")
    subprocess.run(["go", "build", "-o", "lag", "."], cwd=source, check=True, timeout=PROGRAM_TIMEOUT_S)
    return source / "lag"


def _install_reader(directory: Path) -> Path:
    copied = shutil.copytree(FOLDER / "platformatic", directory / "platformatic")
    command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    subprocess.run(command, cwd=copied, check=True, capture_output=True, timeout=PROGRAM_TIMEOUT_S)
    return copied


def _run(command: list[str]) -> Seen:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PROGRAM_TIMEOUT_S, check=False)
    if not done.stdout:
        raise RuntimeError(f"{command[0]} said nothing: {done.stderr}")
    return cast("Seen", json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    sys.exit(main())
