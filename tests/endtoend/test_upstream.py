"""What road upstream has to withstand beside the stories: static members that bounce, transactions, brokers that
restart, logins that run out.
"""

import json
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bridge.demo.kafka_broker import start_broker
from bridge.demo.kafka_properties import DEFAULT_VERSION, BrokerSettings
from tests.support.bridge_process import QUICK_SETTINGS, BridgeProcess, bridge_process
from tests.support.kafka import KafkaUnderTest, TopicFactory
from tests.support.sasl_kafka import LISTENER, PASSWORDS, login_of, own_login, sasl_kafka

PARTITIONS = 6
PATIENCE_S = 90.0
POLL_S = 0.2
SESSION_MS = 10_000
REAUTH_MS = 5_000
"""How long a login lasts: less than a third of what is watched."""
WATCH_S = 22.0


@dataclass(slots=True)
class Member:
    """A classic consumer through the bridge, and what its callbacks heard."""

    consumer: Consumer
    heard: list[str] = field(default_factory=list)
    owned: set[int] = field(default_factory=set)
    read: int = 0
    errors: list[KafkaError] = field(default_factory=list)

    def poll(self) -> None:
        """One step."""
        message = self.consumer.poll(POLL_S)
        if message is None:
            return
        error = message.error()
        if error is None:
            self.read += 1
        else:
            self.errors.append(error)

    def assigned(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        """The client is told of partitions."""
        self.heard.append("assigned")
        self.owned |= {one.partition for one in partitions}

    def revoked(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        """The client has to give partitions up."""
        self.heard.append("revoked")
        self.owned -= {one.partition for one in partitions}


def member(bridge: str, group: str, topic: str, **settings: str | int | bool) -> Member:
    """A member that joins at its first poll."""
    chosen: dict[str, str | int | float | bool] = {
        "bootstrap.servers": bridge,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "session.timeout.ms": SESSION_MS,
        "heartbeat.interval.ms": 1_000,
        "partition.assignment.strategy": "cooperative-sticky",
    }
    for name, value in settings.items():
        chosen[name.replace("_", ".")] = value
    made = Member(Consumer(chosen))
    made.consumer.subscribe([topic], on_assign=made.assigned, on_revoke=made.revoked, on_lost=made.revoked)
    return made


def poll_until(members: Sequence[Member], holds: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Let all of them work until something holds."""
    end = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < end, [(one.heard, one.owned, one.errors) for one in members]
        for one in members:
            one.poll()


def poll_for(members: Sequence[Member], seconds: float) -> None:
    """Let all of them work for a while."""
    end = time.monotonic() + seconds
    poll_until(members, lambda: time.monotonic() >= end, seconds + PATIENCE_S)


def fresh() -> str:
    """A group on road upstream."""
    return f"upstream-{uuid.uuid4().hex[:8]}"


def share(members: Sequence[Member]) -> bool:
    """Whether everybody has something, and all is somebody's."""
    return all(one.owned for one in members) and sum(len(one.owned) for one in members) == PARTITIONS


def test_static_member_bounces_with_its_partitions_and_nobody_hears_of_it(
    kafka_43: KafkaUnderTest, bridge_43: BridgeProcess, topic_factory: TopicFactory
) -> None:
    """Its former self never said goodbye: the seat is handed on at the broker, not given up (-2)."""
    topic, group = topic_factory(kafka_43.bootstrap, PARTITIONS), fresh()
    seat = {"group_instance_id": "seat-1"}
    before, other = member(bridge_43.bootstrap, group, topic, **seat), member(bridge_43.bootstrap, group, topic)
    poll_until([before, other], lambda: share([before, other]))
    owned, heard = set(before.owned), len(other.heard)
    before.consumer.close()
    poll_for([other], 1.0)
    after = member(bridge_43.bootstrap, group, topic, **seat)
    poll_until([after, other], lambda: bool(after.owned), SESSION_MS / 1000)
    poll_for([after, other], 3.0)
    assert (after.owned, len(other.heard)) == (owned, heard)
    for one in (after, other):
        one.consumer.close()


def test_offsets_of_a_transaction_are_committed_under_the_members_epoch(
    kafka_43: KafkaUnderTest, bridge_43: BridgeProcess, topic_factory: TopicFactory
) -> None:
    """They come by the producer's connection with the client's generation, which the broker does not know."""
    topic, group = topic_factory(kafka_43.bootstrap, PARTITIONS), fresh()
    one = member(bridge_43.bootstrap, group, topic, enable_auto_commit=False)
    poll_until([one], lambda: len(one.owned) == PARTITIONS)
    # librdkafka joins beside the polls: a second member that is there already may be given everything, and keep it.
    two = member(bridge_43.bootstrap, group, topic, enable_auto_commit=False)
    poll_until([one, two], lambda: share([one, two]))
    producer = Producer({"bootstrap.servers": bridge_43.bootstrap, "transactional.id": f"tx-{group}"})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(topic, b"out", partition=0)
    offsets = [TopicPartition(topic, partition, 7) for partition in sorted(one.owned)]
    producer.send_offsets_to_transaction(offsets, one.consumer.consumer_group_metadata(), PATIENCE_S)
    producer.commit_transaction(PATIENCE_S)
    wanted = [TopicPartition(topic, partition) for partition in sorted(one.owned)]
    assert {item.offset for item in one.consumer.committed(wanted, PATIENCE_S)} == {7}
    for each in (one, two):
        each.consumer.close()


def test_broker_that_is_killed_and_comes_back_calls_nobody(tmp_path: Path) -> None:
    """Seats and generations outlive it at both ends."""
    with ExitStack() as stack:
        broker = stack.enter_context(
            start_broker(BrokerSettings(version=DEFAULT_VERSION), directory=tmp_path / "kafka")
        )
        bridge = stack.enter_context(bridge_process(broker.bootstrap, (), tmp_path, QUICK_SETTINGS))
        topic, group = make_topic(broker.bootstrap, {}), fresh()
        members = [member(bridge.bootstrap, group, topic, session_timeout_ms=45_000) for _ in range(2)]
        poll_until(members, lambda: share(members))
        poll_for(members, 2.0)
        heard = [len(one.heard) for one in members]
        broker.kill()
        restart = Thread(target=broker.start)
        restart.start()
        poll_until(members, lambda: not restart.is_alive())
        poll_for(members, 12.0)
        assert [len(one.heard) for one in members] == heard
        fill(broker.bootstrap, topic, {})
        poll_until(members, lambda: sum(one.read for one in members) >= PARTITIONS)
        for one in members:
            one.consumer.close()


def make_topic(bootstrap: str, login: dict[str, str]) -> str:
    """A fresh topic."""
    name = f"topic-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": bootstrap, **login})
    admin.create_topics([NewTopic(name, num_partitions=PARTITIONS, replication_factor=1)])[name].result(PATIENCE_S)
    return name


def fill(bootstrap: str, topic: str, login: dict[str, str]) -> None:
    """A record for every partition."""
    producer = Producer({"bootstrap.servers": bootstrap, **login})
    for partition in range(PARTITIONS):
        producer.produce(topic, b"one", partition=partition)
    assert producer.flush(PATIENCE_S) == 0


@contextmanager
def java_consumer(command: Sequence[str], out: Path) -> Iterator[None]:
    """Run Java's own consumer until the end of the block."""
    with out.open("wb") as printed:
        running = subprocess.Popen(command, stdout=printed, stderr=subprocess.STDOUT)
    try:
        yield
        assert running.poll() is None, out.read_text(encoding="utf-8")[-2_000:]
    finally:
        running.terminate()
        running.wait(PATIENCE_S)


def names_in(out: Path) -> list[str]:
    """The events that VerifiableConsumer has printed."""
    lines = out.read_text(encoding="utf-8", errors="replace").splitlines()
    return [json.loads(line)["name"] for line in lines if line.startswith("{") and line.endswith("}")]


@pytest.mark.parametrize("kind", ["java"])
def test_busy_client_logs_in_anew_again_and_again(kind: str, tmp_path: Path) -> None:
    """KIP-368: between SaslHandshake and the answer that ends it, a broker closes on whoever asks anything else."""
    login = login_of("admin")
    with ExitStack() as stack:
        limited = {"connections.max.reauth.ms": str(REAUTH_MS)}
        kafka = stack.enter_context(sasl_kafka(tmp_path / "kafka", limited))
        bridge = stack.enter_context(
            bridge_process(kafka.bootstrap, (), tmp_path, {**QUICK_SETTINGS, **own_login(tmp_path)})
        )
        topic, group, out = make_topic(kafka.bootstrap, login), fresh(), tmp_path / f"{kind}.out"
        jaas = "org.apache.kafka.common.security.plain.PlainLoginModule"
        properties = tmp_path / "consumer.properties"
        properties.write_text(
            f"security.protocol={LISTENER}\nsasl.mechanism=PLAIN\nheartbeat.interval.ms=500\n"
            f'sasl.jaas.config={jaas} required username="alice" password="{PASSWORDS["alice"]}";\n',
            encoding="utf-8",
        )
        words = ["--bootstrap-server", bridge.bootstrap, "--topic", topic, "--group-id", group]
        words += ["--session-timeout", str(SESSION_MS), "--consumer.config", str(properties)]
        command = kafka.tools.command("org.apache.kafka.tools.VerifiableConsumer", *words)
        with java_consumer(command, out):
            wait_for(lambda: "partitions_assigned" in names_in(out), out)
            time.sleep(WATCH_S)
            fill(kafka.bootstrap, topic, login)
            wait_for(lambda: "records_consumed" in names_in(out), out)
            names = names_in(out)
        assert [name for name in names if name.startswith("partitions_")] == ["partitions_assigned"]
        log = bridge.log.read_text(encoding="utf-8")
        assert [code for code in ("EB-NET-013", "EB-NET-025", "EB-NET-026", "EB-GROUP-001") if code in log] == []


PATIENT_BROKER = {
    "group.consumer.max.session.timeout.ms": "600000",
    "group.consumer.session.timeout.ms": "600000",
}
"""It would not give the partitions of a member that died to anybody in time."""
MEMBER_PROGRAM = """
import json, sys
from confluent_kafka import Consumer
consumer = Consumer(json.loads(sys.argv[1]))
consumer.subscribe([sys.argv[2]])
while True:
    consumer.poll(0.2)
"""


@contextmanager
def mortal_member(settings: dict[str, str | int], topic: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A member in a process of its own, which is killed at the end at the latest."""
    running = subprocess.Popen([sys.executable, "-c", MEMBER_PROGRAM, json.dumps(settings), topic])
    try:
        yield running
    finally:
        running.kill()
        running.wait(PATIENCE_S)


def test_client_that_dies_is_seen_off_by_another_of_the_same_login(tmp_path: Path) -> None:
    """Its session is over after ten seconds; a cluster with authentication kept its partitions for the broker's."""
    with ExitStack() as stack:
        kafka = stack.enter_context(sasl_kafka(tmp_path / "kafka", PATIENT_BROKER))
        bridge = stack.enter_context(
            bridge_process(kafka.bootstrap, (), tmp_path, {**QUICK_SETTINGS, **own_login(tmp_path)})
        )
        topic, group, login = make_topic(kafka.bootstrap, login_of("admin")), fresh(), login_of("alice")
        left = member(bridge.bootstrap, group, topic, **login)
        poll_until([left], lambda: len(left.owned) == PARTITIONS)
        settings: dict[str, str | int] = {
            "bootstrap.servers": bridge.bootstrap,
            "group.id": group,
            "session.timeout.ms": SESSION_MS,
            "partition.assignment.strategy": "cooperative-sticky",
            **login,
        }
        doomed = stack.enter_context(mortal_member(settings, topic))
        poll_until([left], lambda: 0 < len(left.owned) < PARTITIONS)
        doomed.kill()
        poll_until([left], lambda: len(left.owned) == PARTITIONS)
        left.consumer.close()


def wait_for(holds: Callable[[], bool], out: Path) -> None:
    """Wait for something that a Java program prints."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, out.read_text(encoding="utf-8")[-2_000:]
        time.sleep(POLL_S)
