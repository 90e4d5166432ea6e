"""Clients of each library inside TLS, logged in by SCRAM, before a Kafka with TLS, SASL and StandardAuthorizer.

`--matrix=all` runs each client of the matrix, and franz-go, once on each road; otherwise a fixed seed draws one of
those that need neither Node nor Go.
"""

import asyncio
import json
import os
import random
import ssl
import subprocess
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, ConsumerGroupType, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaConsumer

from bridge.demo.events import Protocol
from bridge.demo.fleet_specs import MemberSpec
from bridge.demo.members.kafka_python import ASSIGNORS
from tests.support.bridge_process import QUICK_SETTINGS, BridgeProcess, bridge_process
from tests.support.casts import GO_KINDS, KINDS, Kind, Library, Wardrobe
from tests.support.certificates import STORE_WORD, Authority, key_store, trust_store
from tests.support.sasl_kafka import PASSWORDS, GuardedKafka, login_of, own_login, sasl_kafka

HOST = "127.0.0.1"
SEED = 848
PATIENCE_S = 120.0
RECORDS = 20
SESSION_MS = 30_000
MECHANISM = "SCRAM-SHA-512"
ROADS = ("pass", "embedded", "upstream")
BUILT = ("franz-go", "kafkajs")
"""They need a Go and a Node; the others come with the tests."""
CLIENTS = (*KINDS, "franz-go")
Case = tuple[str, str]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every client on every road, or one of them."""
    if "case" in metafunc.fixturenames:
        cases = [(client, road) for client in CLIENTS for road in ROADS]
        if metafunc.config.getoption("--matrix") != "all":
            cases = [random.Random(SEED).choice([case for case in cases if case[0] not in BUILT])]
        metafunc.parametrize("case", cases, ids="-".join)


@dataclass(frozen=True, slots=True)
class World:
    """A bridge with TLS on both sides, and a topic with records."""

    bridge: BridgeProcess
    broker: GuardedKafka
    authority: Authority
    topic: str

    def committed(self, group: str) -> int:
        """What the broker has of the group's offsets, asked by who may see everything."""
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap, **login_of("admin")})
        asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        return sum(one.offset for one in asked[group].result(PATIENCE_S).topic_partitions)

    def kind_of(self, group: str) -> ConsumerGroupType:
        """What the broker takes the group for: by that one sees which road it was on."""
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap, **login_of("admin")})
        listed = admin.list_consumer_groups().result(PATIENCE_S)
        (kind,) = (ConsumerGroupType(one.type) for one in listed.valid if one.group_id == group)
        return kind


@pytest.fixture(scope="module")
def wardrobe(tmp_path_factory: pytest.TempPathFactory) -> Wardrobe:
    """Where the programs of clients are got ready that are no Python."""
    return Wardrobe(tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Whom everybody trusts."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def broker(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedKafka]:
    """Kafka 4.3.1 whose listener with TLS wants a login, and which asks an authorizer about everything."""
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        # The controller's listener, which nobody else has.
        "super.users": "User:admin;User:ANONYMOUS",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SASL_SSL",
        "listener.name.ssl.sasl.enabled.mechanisms": MECHANISM,
        "listener.name.ssl.scram-sha-512.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
        "ssl.keystore.location": str(key_store(authority.folder, authority.issue(HOST))),
        "ssl.keystore.password": STORE_WORD,
        "ssl.key.password": STORE_WORD,
        "ssl.truststore.location": str(trust_store(authority)),
        "ssl.truststore.password": STORE_WORD,
        "ssl.client.auth": "none",
    }
    with sasl_kafka(tmp_path_factory.mktemp("kafka-secured"), settings) as running:
        yield running


def let(name: str, operation: AclOperation, resource: ResourceType, prefix: str) -> AclBinding:
    """A right on all that begins so."""
    pattern = ResourcePatternType.LITERAL if prefix == "*" else ResourcePatternType.PREFIXED
    return AclBinding(resource, prefix, pattern, f"User:{name}", "*", operation, AclPermissionType.ALLOW)


@pytest.fixture(scope="module")
def world(broker: GuardedKafka, authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Alice may read and write her topics and be in her groups; the bridge has what its documentation asks for."""
    topic = f"secured-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **login_of("admin")})
    admin.create_topics([NewTopic(topic, num_partitions=2, replication_factor=1)])[topic].result(PATIENCE_S)
    rights = [let("alice", AclOperation.READ, ResourceType.GROUP, road) for road in ROADS]
    rights += [let("alice", one, ResourceType.TOPIC, "secured-") for one in (AclOperation.READ, AclOperation.WRITE)]
    rights += [let("bridge", AclOperation.READ, kind, "*") for kind in (ResourceType.TOPIC, ResourceType.GROUP)]
    for future in admin.create_acls(rights).values():
        future.result(PATIENCE_S)
    folder = tmp_path_factory.mktemp("bridge-secured")
    settings = {
        **QUICK_SETTINGS,
        "listen.tls": "true",
        "listen.tls.certificate.path": str(authority.pair(HOST, name="bridge")),
        "upstream.tls": "true",
        "upstream.tls.trust.path": str(authority.trust),
        **own_login(folder, MECHANISM),
    }
    with bridge_process(broker.tls, ("embedded-*",), folder, settings) as bridge:
        world = World(bridge, broker, authority, topic)
        producer = Producer(librdkafka(world))
        for number in range(RECORDS):
            producer.produce(topic, b"%d" % number, partition=number % 2)
        assert producer.flush(PATIENCE_S) == 0
        yield world
        log = bridge.log.read_text(encoding="utf-8")
    assert not [word for word in PASSWORDS.values() if word in log]


def librdkafka(world: World) -> dict[str, str | bool]:
    """How confluent-kafka comes."""
    return {
        "bootstrap.servers": world.bridge.bootstrap,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(world.authority.trust),
        "sasl.mechanism": MECHANISM,
        "sasl.username": "alice",
        "sasl.password": PASSWORDS["alice"],
    }


def test_client_reads_and_commits(case: Case, world: World, wardrobe: Wardrobe, tmp_path: Path) -> None:
    """All records, and the broker has the offsets: the client's own rights counted on the way."""
    client, road = case
    kind = KINDS.get(client) or GO_KINDS[client]
    group = f"{road}-{client}-{uuid.uuid4().hex[:8]}"
    match kind.library:
        case Library.CONFLUENT:
            read_by_confluent(world, group, kind)
        case Library.JAVA:
            read_by_java(world, group, kind, tmp_path)
        case Library.AIOKAFKA:
            asyncio.run(read_by_aiokafka(world, group))
        case Library.KAFKA_PYTHON:
            read_by_kafka_python(world, group, kind)
        case _:
            read_by_program(world, wardrobe.spec("one", client, SESSION_MS), group, tmp_path)
    assert world.committed(group) == RECORDS
    is_native_there = road == "upstream" or (road == "pass" and kind.protocol is Protocol.CONSUMER)
    assert world.kind_of(group) is (ConsumerGroupType.CONSUMER if is_native_there else ConsumerGroupType.CLASSIC)
    world.bridge.check_alive()


def read_by_confluent(world: World, group: str, kind: Kind) -> None:
    """librdkafka."""
    words = {"group.id": group, "group.protocol": kind.protocol.value, "auto.offset.reset": "earliest"}
    if kind.protocol is Protocol.CLASSIC:
        words["partition.assignment.strategy"] = kind.assignor
    consumer = Consumer({**librdkafka(world), **words, "enable.auto.commit": False})
    consumer.subscribe([world.topic])
    try:
        heard = consumer.consume(RECORDS, PATIENCE_S)
        assert [message.error() for message in heard] == [None] * RECORDS
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()


def read_by_kafka_python(world: World, group: str, kind: Kind) -> None:
    """kafka-python."""
    consumer = KafkaConsumer(
        world.topic,
        bootstrap_servers=world.bridge.bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        partition_assignment_strategy=[ASSIGNORS[kind.assignor]],
        consumer_timeout_ms=int(PATIENCE_S * 1_000),
        security_protocol="SASL_SSL",
        ssl_cafile=str(world.authority.trust),
        ssl_check_hostname=True,
        sasl_mechanism=MECHANISM,
        sasl_plain_username="alice",
        sasl_plain_password=PASSWORDS["alice"],
    )
    try:
        assert len([next(consumer) for _ in range(RECORDS)]) == RECORDS
        consumer.commit()
    finally:
        consumer.close()


async def read_by_aiokafka(world: World, group: str) -> None:
    """aiokafka."""
    consumer = AIOKafkaConsumer(
        world.topic,
        bootstrap_servers=world.bridge.bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        security_protocol="SASL_SSL",
        ssl_context=ssl.create_default_context(cafile=str(world.authority.trust)),
        sasl_mechanism=MECHANISM,
        sasl_plain_username="alice",
        sasl_plain_password=PASSWORDS["alice"],
    )
    await consumer.start()
    try:
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(RECORDS):
                await consumer.getone()
            await consumer.commit()
    finally:
        await consumer.stop()


def read_by_java(world: World, group: str, kind: Kind, folder: Path) -> None:
    """Kafka's own console consumer, which commits when it ends."""
    login = f'username="alice" password="{PASSWORDS["alice"]}"'
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": MECHANISM,
        "sasl.jaas.config": f"org.apache.kafka.common.security.scram.ScramLoginModule required {login};",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(world.authority.trust),
        "group.protocol": kind.protocol.value,
        "auto.offset.reset": "earliest",
    }
    if kind.assignor == "cooperative-sticky":
        settings["partition.assignment.strategy"] = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    path = folder / "client.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
    words = ["--bootstrap-server", world.bridge.bootstrap, "--topic", world.topic, "--group", group]
    words += ["--max-messages", str(RECORDS), "--timeout-ms", str(int(PATIENCE_S * 1_000))]
    words += ["--consumer.config", str(path)]
    command = [*world.broker.tools.command("org.apache.kafka.tools.consumer.ConsoleConsumer"), *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=2 * PATIENCE_S)
    assert f"Processed a total of {RECORDS} messages" in ran.stderr, ran.stderr
    assert ran.returncode == 0


def read_by_program(world: World, member: MemberSpec, group: str, folder: Path) -> None:
    """A member as a process of its own, which commits as it reads; it is heard until it has committed everything."""
    security = {
        "MEMBER_TLS_TRUST": str(world.authority.trust),
        "MEMBER_SASL_USERNAME": "alice",
        "MEMBER_SASL_PASSWORD": PASSWORDS["alice"],
    }
    words = ["--bootstrap", world.bridge.bootstrap, "--group", group, "--topic", world.topic, "--name", member.seat]
    words += ["--assignor", member.assignor]
    errors = folder / "member.log"
    with (
        errors.open("wb") as log,
        subprocess.Popen(
            [*member.program, *words], stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **security}
        ) as process,
    ):
        ending = threading.Timer(PATIENCE_S, process.kill)
        ending.start()
        try:
            assert process.stdout is not None
            committed: dict[int, int] = {}
            for line in process.stdout:
                committed |= {index: offset for _, index, offset in json.loads(line).get("offsets", ())}
                if sum(committed.values()) == RECORDS:
                    break
            process.terminate()
            # Its farewell is read, too: nobody may write to a pipe that is not.
            process.stdout.read()
        finally:
            ending.cancel()
            process.kill()
    assert sum(committed.values()) == RECORDS, errors.read_text(encoding="utf-8")
