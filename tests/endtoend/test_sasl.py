"""A cluster that authenticates its clients: the bridge serves them once it can ask that cluster for itself.

It must not know how the bridge logs in.
"""

import socket
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bridge.demo.kafka_broker import receive_exactly
from bridge.telemetry.event_log.codec import decode_line
from bridge.telemetry.schema.facts import BridgeStarted, Event
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import decode_reply, encode_request
from bridge.wire.frames import RequestHeader, request_frame
from bridge.wire.packing import INT32, nullable_string
from bridge.wire.sasl import Credentials, Mechanism, authenticate_request, handshake_request, plain_token
from bridge.wire.scram import check_server, first_message, prove
from tests.support.bridge_process import QUICK_SETTINGS, BridgeProcess, bridge_process
from tests.support.embedded_world import join_request
from tests.support.sasl_kafka import MECHANISMS, PASSWORDS, GuardedKafka, login_of, own_login, sasl_kafka
from translators.dialects.classic import JoinGroup, JoinGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId

PATIENCE_S = 180.0
POLLS = 120
RECORDS = 20
PARTITIONS = 3


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedKafka]:
    """Kafka 4.3.1 with SASL and TLS."""
    with sasl_kafka(tmp_path_factory.mktemp("kafka-sasl")) as running:
        yield running


@pytest.fixture(scope="module")
def topic(broker: GuardedKafka) -> str:
    """A topic with records."""
    name = f"sasl-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **login_of("admin")})
    admin.create_topics([NewTopic(name, num_partitions=PARTITIONS, replication_factor=1)])[name].result(PATIENCE_S)
    producer = Producer({"bootstrap.servers": broker.bootstrap, **login_of("alice")})
    for number in range(RECORDS):
        producer.produce(name, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0
    return name


@contextmanager
def bridge_to(upstream: str, directory: Path, settings: Mapping[str, str]) -> Iterator[BridgeProcess]:
    """A bridge that embeds some groups, and says nothing secret in its log."""
    with bridge_process(upstream, ("embedded-*",), directory, {**QUICK_SETTINGS, **settings}) as bridge:
        yield bridge
    log = bridge.log.read_text(encoding="utf-8")
    assert not [password for password in PASSWORDS.values() if password in log]


@dataclass(slots=True)
class Heard:
    """How far a consumer came, and the error that ended it or kept coming."""

    records: int = 0
    committed: int = 0
    error: KafkaError | None = None


def consume(bridge: BridgeProcess, topic: str, group: str, protocol: str = "classic") -> Heard:
    """Consume as alice until all records came and are committed, or an error did."""
    heard = Heard()
    consumer = Consumer(
        {
            "bootstrap.servers": bridge.bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **login_of("alice"),
        }
    )
    consumer.subscribe([topic])
    try:
        for _ in range(POLLS):
            for message in consumer.consume(RECORDS, 0.5):
                heard.error = message.error()
                heard.records += heard.error is None
            if heard.error is not None or heard.records >= RECORDS:
                break
        if heard.records >= RECORDS:
            consumer.commit(asynchronous=False)
            heard.committed = sum(one.offset for one in consumer.committed(consumer.assignment(), PATIENCE_S))
    except KafkaException as problem:
        heard.error = problem.args[0]
    finally:
        consumer.close()
    return heard


def fresh(road: str) -> str:
    """A group of its own; its name says its road."""
    return f"{road}-{uuid.uuid4().hex[:8]}"


def test_embedded_groups_are_refused_without_credentials_and_others_pass(
    broker: GuardedKafka, topic: str, tmp_path: Path
) -> None:
    """The bridge itself has to ask for topics and members, and nobody let it in."""
    with bridge_to(broker.bootstrap, tmp_path, {}) as bridge:
        refused = consume(bridge, topic, fresh("embedded"))
        assert refused.error is not None
        assert refused.error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED
        assert "EB-APP-004" in bridge.log.read_text(encoding="utf-8")
        passed = consume(bridge, topic, fresh("pass"))
        assert (passed.records, passed.committed, passed.error) == (RECORDS, RECORDS, None)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_clients_are_served_by_a_bridge_that_logs_in(
    mechanism: str, broker: GuardedKafka, topic: str, tmp_path: Path
) -> None:
    """Both protocols, records and commits; commits leave on the client's own connection, under its own name."""
    with bridge_to(broker.bootstrap, tmp_path, own_login(tmp_path, mechanism)) as bridge:
        for protocol in ("classic", "consumer"):
            heard = consume(bridge, topic, fresh("embedded"), protocol)
            assert (heard.records, heard.committed, heard.error) == (RECORDS, RECORDS, None)
        assert answers_to_strangers(bridge, begins=mechanism.startswith("SCRAM")) == b""
    assert "EB-NET-022" in bridge.log.read_text(encoding="utf-8")


def answers_to_strangers(bridge: BridgeProcess, *, begins: bool) -> bytes:
    """What is answered to the JoinGroup of somebody who has not logged in, or who only began to, as SCRAM can."""
    host, _, port = bridge.bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as client:
        client.settimeout(PATIENCE_S)
        if begins:
            for request in (
                handshake_request(Mechanism.SCRAM_SHA_256, "stranger"),
                authenticate_request(b"n,,n=bridge,r=nonsense", "stranger"),
            ):
                client.sendall(request)
                assert client.recv(65_536)[8:10] == b"\x00\x00", "no error so far"
        client.sendall(encode_request(ApiKey.JOIN_GROUP, 3, 1, "stranger", _join()))
        return client.recv(1)


@pytest.mark.parametrize("mechanism", [Mechanism.PLAIN, Mechanism.SCRAM_SHA_512])
def test_bare_tokens_let_in_as_at_the_broker(mechanism: Mechanism, broker: GuardedKafka, tmp_path: Path) -> None:
    """Behind SaslHandshake 0, which kafka-python 2.0 and sarama send; a wrong password hears the end alone, and so it
    does at the broker itself (decision 831).
    """
    for password, joined in ((PASSWORDS["alice"], ErrorCode.NONE), ("no-such-word", None)):
        assert join_by_bare_tokens(broker.bootstrap, mechanism, password) is joined
        with bridge_to(broker.bootstrap, tmp_path, own_login(tmp_path)) as bridge:
            assert join_by_bare_tokens(bridge.bootstrap, mechanism, password) is joined
        assert ("EB-NET-039" in bridge.log.read_text(encoding="utf-8")) is (joined is None)


def join_by_bare_tokens(bootstrap: str, mechanism: Mechanism, password: str) -> ErrorCode | None:
    """Log in as alice so, and join a group: the answer's code, None if the connection ended before."""
    host, _, port = bootstrap.rpartition(":")
    credentials = Credentials(mechanism=mechanism, username="alice", password=password)
    with socket.create_connection((host, int(port)), PATIENCE_S) as client:
        named = nullable_string(mechanism, flexible=False)
        client.sendall(request_frame(RequestHeader(0, ApiKey.SASL_HANDSHAKE, 0, 1, "old", 0), named))
        assert _receive(client)[4:6] == b"\x00\x00", "the mechanism is taken"
        try:
            if mechanism is Mechanism.PLAIN:
                assert _say_bare(client, plain_token(credentials)) == b""
            else:
                proof = prove(credentials, "ours", _say_bare(client, first_message(credentials, "ours")))
                check_server(_say_bare(client, proof.message), proof)
        except ConnectionError:
            return None
        client.sendall(encode_request(ApiKey.JOIN_GROUP, 3, 1, "old", _join()))
        _, reply = decode_reply(ApiKey.JOIN_GROUP, 3, _receive(client))
        assert isinstance(reply, JoinGroupReply)
        return reply.error


def _say_bare(client: socket.socket, token: bytes) -> bytes:
    client.sendall(INT32.pack(len(token)) + token)
    return _receive(client)


def _receive(client: socket.socket) -> bytes:
    """What comes next behind its length; ConnectionError if the other end closes."""
    client.settimeout(PATIENCE_S)
    (size,) = INT32.unpack(receive_exactly(client, INT32.size))
    return receive_exactly(client, size)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_events_come_to_a_topic_of_brokers_that_want_a_login(
    mechanism: str, broker: GuardedKafka, tmp_path: Path
) -> None:
    """With the bridge's own."""
    name = f"events-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **login_of("admin")})
    admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1)])[name].result(PATIENCE_S)
    own = own_login(tmp_path, mechanism)
    wanted = {**own, "events.topic": name, "events.spool.path": str(tmp_path / "spool")}
    with bridge_to(broker.bootstrap, tmp_path, wanted) as bridge:
        first = decode_line(records_of(broker, name, 1)[0])
    assert isinstance(first, Event)
    assert first.fact.kind == BridgeStarted.kind
    assert "EB-EVENTS-011" not in bridge.log.read_text(encoding="utf-8")


def records_of(broker: GuardedKafka, topic: str, count: int) -> list[bytes]:
    """The first records of a topic, as the administrator reads them."""
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": fresh("reader"), "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, **login_of("admin")})
    consumer.subscribe([topic])
    found: list[bytes] = []
    try:
        for _ in range(POLLS):
            found += [message.value() or b"" for message in consumer.consume(count, 1.0) if message.error() is None]
            if len(found) >= count:
                return found
    finally:
        consumer.close()
    raise AssertionError(f"{len(found)} of {count} records came")


def test_wrong_password_is_told_and_nothing_is_served(broker: GuardedKafka, topic: str, tmp_path: Path) -> None:
    """The log has the broker's word and the settings to look at; clients wait."""
    with bridge_to(broker.bootstrap, tmp_path, own_login(tmp_path, "SCRAM-SHA-512", "no-such-word")) as bridge:
        passed = consume(bridge, topic, fresh("pass"))
        assert (passed.records, passed.error) == (RECORDS, None)
        assert "EB-NET-042" in bridge.log.read_text(encoding="utf-8")


def test_cluster_behind_tls_serves_nobody_and_says_why(broker: GuardedKafka, tmp_path: Path) -> None:
    """A client certificate is proof of who somebody is that the bridge can't hand on: no group is formed in its place.

    Not even for a client that speaks to nobody but the bridge.
    """
    with bridge_to(broker.tls, tmp_path, {}) as bridge:
        host, _, port = bridge.bootstrap.rpartition(":")
        with socket.create_connection((host, int(port)), PATIENCE_S) as client:
            client.settimeout(PATIENCE_S)
            client.sendall(encode_request(ApiKey.JOIN_GROUP, 3, 1, "client", _join()))
            assert client.recv(1) == b""
        assert "EB-NET-043" in bridge.log.read_text(encoding="utf-8")


def _join() -> JoinGroup:
    return replace(join_request(""), group_id=GroupId(fresh("embedded")))
