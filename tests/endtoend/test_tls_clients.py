"""Real clients inside TLS, through a bridge that ends it, to a Kafka that lets them in by SASL."""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaConsumer, TopicPartition

from tests.support.bridge_process import QUICK_SETTINGS, BridgeProcess, bridge_process
from tests.support.certificates import Authority
from tests.support.sasl_kafka import PASSWORDS, GuardedKafka, login_of, own_login, sasl_kafka

HOST = "127.0.0.1"
PATIENCE_S = 120.0
PATIENCE_MS = int(PATIENCE_S * 1_000)
LOOK_S = 0.1
RECORDS, PARTITIONS = 20, 2
MECHANISMS = ("PLAIN", "SCRAM-SHA-256")
GROUP_ROADS = ("pass", "embedded", "upstream")


@dataclass(frozen=True, slots=True)
class World:
    """A bridge with TLS before a Kafka with SASL, and a topic with records."""

    bridge: BridgeProcess
    authority: Authority
    pair: Path
    topic: str

    def group(self, road: str) -> str:
        """One of its own; its name says its road."""
        return f"{road}-{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedKafka]:
    """Kafka 4.3.1 with SASL."""
    with sasl_kafka(tmp_path_factory.mktemp("kafka-sasl")) as running:
        yield running


@pytest.fixture(scope="module")
def world(broker: GuardedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Clients have to show a certificate, and to log in behind it."""
    folder = tmp_path_factory.mktemp("bridge-tls")
    authority = Authority(folder)
    settings = {
        **QUICK_SETTINGS,
        "listen.tls": "true",
        "listen.tls.certificate.path": str(authority.pair(HOST, name="bridge")),
        "listen.tls.client.auth": "required",
        "listen.tls.trust.path": str(authority.trust),
        **own_login(folder, "SCRAM-SHA-512"),
    }
    topic = f"tls-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **login_of("admin")})
    admin.create_topics([NewTopic(topic, num_partitions=PARTITIONS, replication_factor=1)])[topic].result(PATIENCE_S)
    with bridge_process(broker.bootstrap, ("embedded-*",), folder, settings) as bridge:
        yield World(bridge, authority, authority.pair("client", name="client"), topic)
        log = bridge.log.read_text(encoding="utf-8")
        assert not [word for word in PASSWORDS.values() if word in log]


@pytest.fixture(scope="module")
def records(world: World) -> int:
    """So many records, sent through the bridge."""
    producer = Producer(librdkafka(world, "PLAIN"))
    for number in range(RECORDS):
        producer.produce(world.topic, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0
    return RECORDS


def librdkafka(world: World, mechanism: str) -> dict[str, str | bool]:
    """How confluent-kafka comes through TLS and logs in behind it; the host of the certificate is looked at."""
    return {
        "bootstrap.servers": world.bridge.bootstrap,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(world.authority.trust),
        "ssl.certificate.location": str(world.pair),
        "ssl.key.location": str(world.pair),
        "ssl.endpoint.identification.algorithm": "https",
        "sasl.mechanism": mechanism,
        "sasl.username": "bridge",
        "sasl.password": PASSWORDS["bridge"],
    }


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("road", GROUP_ROADS)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_confluent_kafka_consumes_and_commits(
    world: World, records: int, protocol: str, road: str, mechanism: str
) -> None:
    """As without TLS."""
    words = {"group.id": world.group(road), "group.protocol": protocol, "auto.offset.reset": "earliest"}
    consumer = Consumer({**librdkafka(world, mechanism), **words, "enable.auto.commit": False})
    consumer.subscribe([world.topic])
    try:
        heard = consumer.consume(records, PATIENCE_S)
        assert [message.error() for message in heard] == [None] * records
        consumer.commit(asynchronous=False)
        committed = consumer.committed(consumer.assignment(), PATIENCE_S)
        assert sum(one.offset for one in committed) == records
    finally:
        consumer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("road", GROUP_ROADS)
def test_kafka_python_consumes_and_commits(world: World, records: int, road: str, mechanism: str) -> None:
    """As without TLS."""
    consumer = KafkaConsumer(
        world.topic,
        bootstrap_servers=world.bridge.bootstrap,
        group_id=world.group(road),
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=PATIENCE_MS,
        security_protocol="SASL_SSL",
        ssl_cafile=str(world.authority.trust),
        ssl_certfile=str(world.pair),
        ssl_check_hostname=True,
        sasl_mechanism=mechanism,
        sasl_plain_username="bridge",
        sasl_plain_password=PASSWORDS["bridge"],
    )
    try:
        heard = [next(consumer) for _ in range(records)]
        assert len(heard) == records
        consumer.commit()
        committed = [consumer.committed(TopicPartition(world.topic, number)) for number in range(PARTITIONS)]
        assert sum(committed) == records
    finally:
        consumer.close()


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ({"security.protocol": "SASL_PLAINTEXT"}, "EB-NET-060", "down"),
        ({"ssl.certificate.location": "", "ssl.key.location": ""}, "EB-NET-061", "SSL"),
        ({"ssl.ca.location": ""}, "EB-NET-063", "SSL"),
    ],
)
def test_client_that_is_configured_wrongly_hears_of_it_and_so_does_the_log(
    world: World, words: dict[str, str], code: str, sentence: str
) -> None:
    """The client's sentence is librdkafka's own, which says of bytes without TLS no more than that nobody answers."""
    settings = {key: value for key, value in {**librdkafka(world, "PLAIN"), **words}.items() if value != ""}
    heard: list[str] = []

    def hear(error: KafkaError) -> None:
        heard.append(error.str())

    client = Producer({**settings, "error_cb": hear})
    for _ in range(int(PATIENCE_S)):
        client.poll(1.0)
        if heard and code in world.bridge.log.read_text(encoding="utf-8"):
            break
    assert any(sentence in one for one in heard), heard
    assert code in world.bridge.log.read_text(encoding="utf-8"), world.bridge.tail()


def shown(world: World) -> bytes:
    """The certificate that a client is shown now."""
    host, _, port = world.bridge.bootstrap.rpartition(":")
    context = world.authority.context
    context.load_cert_chain(world.pair)
    sock = socket.create_connection((host, int(port)), PATIENCE_S)
    with sock, context.wrap_socket(sock, server_hostname=host) as client:
        return client.getpeercert(binary_form=True) or b""


def hang_up(world: World, code: str) -> None:
    """Send SIGHUP, and wait for one more line with this code."""
    before = world.bridge.log.read_text(encoding="utf-8").count(code)
    os.kill(world.bridge.process.pid, signal.SIGHUP)
    give_up_s = time.monotonic() + PATIENCE_S
    while world.bridge.log.read_text(encoding="utf-8").count(code) == before:
        assert time.monotonic() < give_up_s, world.bridge.tail()
        time.sleep(LOOK_S)


@pytest.mark.parametrize("road", GROUP_ROADS)
def test_certificate_is_exchanged_under_consumers_that_notice_nothing(world: World, records: int, road: str) -> None:
    """On SIGHUP; a wrong file changes nothing before that."""
    path, revoked = world.authority.folder / "authority-bridge.pem", list[str]()
    words = {"group.id": world.group(road), "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({**librdkafka(world, "PLAIN"), **words})
    consumer.subscribe([world.topic], on_revoke=lambda *_: revoked.append(road))
    try:
        assert len(consumer.consume(records, PATIENCE_S)) == records
        before, good = shown(world), path.read_bytes()
        path.write_text("nothing", encoding="utf-8")
        hang_up(world, "EB-APP-007")
        assert shown(world) == before
        path.write_bytes(good)
        world.authority.pair(HOST, name="bridge")
        hang_up(world, "EB-NET-067")
        assert shown(world) != before
        consumer.commit(asynchronous=False)
        assert sum(one.offset for one in consumer.committed(consumer.assignment(), PATIENCE_S)) == records
        assert revoked == []
    finally:
        consumer.close()


def test_file_that_can_not_be_used_is_told_before_anything_is_opened(world: World) -> None:
    """By the name of its key."""
    words = ["--set", "listen.tls=true", "--set", f"listen.tls.certificate.path={world.bridge.log}"]
    command = [sys.executable, "-m", "bridge", "serve", "--bootstrap", "127.0.0.1:1", *words]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ended.returncode != 0
    assert "listen.tls.certificate.path" in ended.stderr
    assert "Traceback" not in ended.stderr
