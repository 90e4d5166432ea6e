"""Logins before a real Kafka: each mechanism passes through, the bridge has one of its own by each, both are renewed,
and secrets and certificates are exchanged while clients come and go.
"""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import pytest
import trio
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bridge.cli.main import run
from bridge.net.broker_talk import talk_to
from bridge.net.cluster import UpstreamCluster
from bridge.net.own_login import LoginSource, TokenFile
from bridge.net.settings import ProxySettings
from bridge.session.broker_addresses import Address, Advertised, Directory
from bridge.wire.sasl import Credentials, Mechanism
from tests.support.bridge_process import QUICK_SETTINGS, BridgeProcess, bridge_process
from tests.support.certificates import Authority
from tests.support.sasl_kafka import (
    BEARER,
    MECHANISMS,
    PASSWORDS,
    GuardedKafka,
    bearer_token,
    login_of,
    own_login,
    sasl_kafka,
    set_scram,
)

HOST = "127.0.0.1"
PATIENCE_S = 180.0
LOOK_S = 0.1
RECORDS = 20
SHORT_MS = 4_000
SHORT = "SCRAM-SHA-512"
"""Logins by it last so long (KIP-368). librdkafka renews one when a tenth of that is left: with 2 s, a machine that
stood still for a fifth of a second had the broker close the connection.
"""
Options = dict[str, object]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedKafka]:
    """Kafka 4.3.1 with SASL; logins by one mechanism are short."""
    short = {f"listener.name.sasl_plaintext.{SHORT.lower()}.connections.max.reauth.ms": str(SHORT_MS)}
    with sasl_kafka(tmp_path_factory.mktemp("kafka-sasl"), short) as running:
        yield running


@pytest.fixture
def topic(broker: GuardedKafka) -> str:
    """A topic without records."""
    name = f"logins-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **login_of("admin")})
    admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1)])[name].result(PATIENCE_S)
    return name


@pytest.fixture(scope="module")
def bridge(broker: GuardedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BridgeProcess]:
    """One without a login of its own."""
    with bridge_process(broker.bootstrap, (), tmp_path_factory.mktemp("bridge"), QUICK_SETTINGS) as running:
        yield running


def login_by(mechanism: str) -> Options:
    """How alice logs in."""
    if mechanism == BEARER:
        token = bearer_token("alice")
        return {"sasl.mechanism": BEARER, "oauth_cb": lambda _: (token, time.time() + 3_600, "alice", {})}
    return {"sasl.mechanism": mechanism, "sasl.username": "alice", "sasl.password": PASSWORDS["alice"]}


@dataclass(slots=True)
class Traffic:
    """Records that one client sends and another reads, all the time, and every error that either heard."""

    options: Options
    topic: str
    road: str = "pass"
    """Which one the group of whoever reads takes."""
    sent: int = 0
    read: int = 0
    errors: list[str] = field(default_factory=list)
    stop: Event = field(default_factory=Event)

    @contextmanager
    def running(self) -> Iterator["Traffic"]:
        """Until the end of the block; everything that was sent is read then."""
        threads = [Thread(target=self._send), Thread(target=self._read)]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self.stop.set()
            for thread in threads:
                thread.join(PATIENCE_S)

    def wait_for(self, records: int) -> None:
        """Until so many more were read."""
        wanted, give_up = self.read + records, time.monotonic() + PATIENCE_S
        while self.read < wanted:
            assert time.monotonic() < give_up, (self.read, self.errors)
            time.sleep(LOOK_S)

    def _hear(self, error: KafkaError) -> None:
        self.errors.append(str(error))

    def _lose(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        if not self.stop.is_set():
            self.errors.append("partitions were revoked")

    def _send(self) -> None:
        producer = Producer({**self.options, "error_cb": self._hear, "linger.ms": 0})
        while not self.stop.is_set():
            producer.produce(self.topic, b"%d" % self.sent)
            self.sent += 1
            producer.poll(0.02)
        if producer.flush(PATIENCE_S):
            self.errors.append("records were not sent")

    def _read(self) -> None:
        consumer = Consumer(
            {
                **self.options,
                "error_cb": self._hear,
                "group.id": f"{self.road}-{uuid.uuid4().hex[:8]}",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe([self.topic], on_revoke=self._lose)
        give_up = time.monotonic() + PATIENCE_S
        while (not self.stop.is_set() or self.read < self.sent) and time.monotonic() < give_up:
            for message in consumer.consume(100, 0.2):
                if error := message.error():
                    self._hear(error)
                else:
                    self.read += 1
        consumer.close()


@pytest.mark.parametrize("mechanism", [*MECHANISMS, BEARER])
def test_every_mechanism_passes_through_and_is_renewed(mechanism: str, bridge: BridgeProcess, topic: str) -> None:
    """Clients send, read and commit; where logins are short, over several of them."""
    options: Options = {"bootstrap.servers": bridge.bootstrap, "security.protocol": "SASL_PLAINTEXT"}
    with Traffic({**options, **login_by(mechanism)}, topic).running() as traffic:
        traffic.wait_for(RECORDS)
        began = time.monotonic()
        while mechanism == SHORT and time.monotonic() - began < 2 * SHORT_MS / 1_000:
            traffic.wait_for(RECORDS)
    assert traffic.read == traffic.sent
    assert traffic.errors == []
    log = bridge.log.read_text(encoding="utf-8")
    assert "EB-NET-013" not in log
    assert "EB-NET-026" not in log


@pytest.mark.parametrize("mechanism", [SHORT, BEARER])
async def test_own_login_is_renewed_on_a_connection_that_outlives_it(
    mechanism: str, broker: GuardedKafka, tmp_path: Path
) -> None:
    """The broker would close at the next question; a token's end ends the login, too, and the file has the next."""
    path = tmp_path / "token"
    path.write_text(bearer_token("bridge", SHORT_MS / 1_000 + 1), encoding="utf-8")
    password = Credentials(mechanism=Mechanism.SCRAM_SHA_512, username="bridge", password=PASSWORDS["bridge"])
    source: LoginSource = TokenFile(str(path)) if mechanism == BEARER else password
    host, _, port = broker.bootstrap.rpartition(":")
    settings = ProxySettings(bootstrap=(Address(host, int(port)),), listen=Address(HOST, 0), login=source)
    directory = Directory(Advertised(host=HOST, first_port=1, ports={}))
    cluster = UpstreamCluster(settings, directory, lambda _: False)
    assert await cluster.refresh()
    assert not cluster.fault
    with trio.fail_after(PATIENCE_S):
        async with talk_to(cluster, None) as talk:
            for wait_s in (0, SHORT_MS / 1_000 + 1):
                await trio.sleep(wait_s)
                path.write_text(bearer_token("bridge", SHORT_MS / 1_000 + 1), encoding="utf-8")
                assert (await talk.read_features()).finalized


def test_wrong_token_is_refused_and_the_next_one_is_not(
    broker: GuardedKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`epochbridge status` has the broker's word; what is written into the file counts without a restart."""
    path = tmp_path / "token"
    path.write_text(bearer_token("bridge", life_s=-100), encoding="utf-8")
    settings = {"upstream.sasl.mechanism": BEARER, "upstream.sasl.token.path": str(path), "metadata.refresh.ms": "500"}
    with bridge_process(broker.bootstrap, (), tmp_path, {**QUICK_SETTINGS, **settings}, has_admin=True) as bridge:
        assert run(["status", "--admin", bridge.admin]) == 1
        assert "EB-NET-042: the broker refuses the bridge (SASL_AUTHENTICATION_FAILED" in capsys.readouterr().out
        path.write_text(bearer_token("bridge"), encoding="utf-8")
        wait_until_ready(bridge)


def wait_until_ready(bridge: BridgeProcess) -> None:
    """Until clients may come."""
    give_up = time.monotonic() + PATIENCE_S
    while run(["status", "--admin", bridge.admin]) != 0:
        assert time.monotonic() < give_up, bridge.tail()
        time.sleep(LOOK_S)


@pytest.mark.parametrize("road", ["pass", "embedded", "upstream"])
def test_certificates_and_secrets_are_exchanged_and_nobody_notices(
    road: str, broker: GuardedKafka, topic: str, tmp_path: Path
) -> None:
    """Records go on inside TLS while the certificate that clients are shown and the bridge's own password change."""
    authority, password = Authority(tmp_path), tmp_path / "password"
    pair = authority.pair(HOST, name="bridge")
    settings = {
        **QUICK_SETTINGS,
        "listen.tls": "true",
        "listen.tls.certificate.path": str(pair),
        "certificates.watch.ms": "100",
        "metadata.refresh.ms": "200",
        **own_login(tmp_path, "SCRAM-SHA-256"),
    }
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **login_of("admin")})
    with bridge_process(broker.bootstrap, ("embedded-*",), tmp_path, settings, has_admin=True) as bridge:
        options: Options = {
            "bootstrap.servers": bridge.bootstrap,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(authority.trust),
            **login_by("SCRAM-SHA-256"),
        }
        with Traffic(options, topic, road).running() as traffic:
            for word in ("second-word", PASSWORDS["bridge"]):
                traffic.wait_for(RECORDS)
                # Whole at once, as those who rotate do.
                fresh = Path(f"{password}.new")
                fresh.write_text(word, encoding="utf-8")
                set_scram(admin, "bridge", word)
                fresh.replace(password)
                before = bridge.log.read_text(encoding="utf-8").count("EB-NET-067")
                authority.pair(HOST, name="bridge")
                wait_for_line(bridge, "EB-NET-067", before + 1)
                wait_until_ready(bridge)
                traffic.wait_for(RECORDS)
                newcomer = Consumer({**options, "group.id": "newcomer"})
                assert topic in newcomer.list_topics(topic, PATIENCE_S).topics
                newcomer.close()
        assert (traffic.read, traffic.errors) == (traffic.sent, [])
        log = bridge.log.read_text(encoding="utf-8")
        assert not [word for word in (*PASSWORDS.values(), "second-word") if word in log]


def test_client_with_a_certificate_is_to_brokers_whom_the_file_names(
    broker: GuardedKafka, topic: str, tmp_path: Path
) -> None:
    """Its security.protocol is SSL, and the broker wants SASL: short logins are made again, and it sees nothing."""
    authority, word = Authority(tmp_path), tmp_path / "word"
    word.write_text(PASSWORDS["alice"], encoding="utf-8")
    clients = tmp_path / "clients"
    clients.write_text(f'"CN=alice,*" {SHORT} alice {word}\n', encoding="utf-8")
    pair = tmp_path / "alice.pem"
    leaf = authority.authority.issue_cert(common_name="alice")
    leaf.private_key_and_cert_chain_pem.write_to_path(str(pair))
    settings = {
        **QUICK_SETTINGS,
        "listen.tls": "true",
        "listen.tls.certificate.path": str(authority.pair(HOST, name="bridge")),
        "listen.tls.client.auth": "required",
        "listen.tls.trust.path": str(authority.trust),
        "listen.tls.clients.path": str(clients),
    }
    with bridge_process(broker.bootstrap, (), tmp_path, settings) as bridge:
        options: Options = {
            "bootstrap.servers": bridge.bootstrap,
            "security.protocol": "SSL",
            "ssl.ca.location": str(authority.trust),
            "ssl.certificate.location": str(pair),
            "ssl.key.location": str(pair),
        }
        with Traffic(options, topic).running() as traffic:
            began = time.monotonic()
            while time.monotonic() - began < 2 * SHORT_MS / 1_000:
                traffic.wait_for(RECORDS)
        assert (traffic.read, traffic.errors) == (traffic.sent, [])
        log = bridge.log.read_text(encoding="utf-8")
        assert "EB-NET-013" not in log
        assert PASSWORDS["alice"] not in log


def wait_for_line(bridge: BridgeProcess, code: str, count: int) -> None:
    """Until the log has so many of these."""
    give_up = time.monotonic() + PATIENCE_S
    while bridge.log.read_text(encoding="utf-8").count(code) < count:
        assert time.monotonic() < give_up, bridge.tail()
        time.sleep(LOOK_S)
