"""Clients that log in at the bridge itself, before a real Kafka without logins: PLAIN and SCRAM, right and wrong."""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Self

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaConsumer
from kafka.errors import KafkaTimeoutError

from bridge.app.kept_logins import make_lines
from tests.support.bridge_process import QUICK_SETTINGS, BridgeProcess, bridge_process
from tests.support.kafka import KafkaUnderTest

PATIENCE_S = 90.0
SESSION_MS = 2_000
"""A login is renewed several times while a group is read."""
STANDSTILL_S, READS_MAX = 0.3, 4
"""librdkafka renews a login a second before the bridge closes; a machine that gives nobody a turn has used that up."""
RECORDS = 5
BOOTSTRAP_MS = 5_000
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
CLIENTS = ("confluent", "kafka-python")
PASSWORD, WRONG = "wonder", "blunder"


@pytest.fixture(scope="module")
def bridge(kafka_43: KafkaUnderTest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BridgeProcess]:
    """At which alice logs in."""
    folder = tmp_path_factory.mktemp("logins")
    users = folder / "users"
    users.write_text("\n".join(make_lines("alice", PASSWORD)), encoding="utf-8")
    settings = {
        **QUICK_SETTINGS,
        "listen.sasl.mechanisms": ",".join(MECHANISMS),
        "listen.sasl.clients.path": str(users),
        "listen.sasl.session.ms": str(SESSION_MS),
    }
    with bridge_process(kafka_43.bootstrap, ("embedded-*",), folder, settings) as running:
        yield running


def confluent(bridge: BridgeProcess, mechanism: str, password: str) -> dict[str, object]:
    """How confluent-kafka logs in."""
    return {
        "bootstrap.servers": bridge.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": "alice",
        "sasl.password": password,
    }


def kafka_python(bridge: BridgeProcess, mechanism: str, password: str) -> dict[str, object]:
    """How kafka-python does."""
    return {
        "bootstrap_servers": bridge.bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "alice",
        "sasl_plain_password": password,
    }


@pytest.fixture(scope="module")
def topic(bridge: BridgeProcess, kafka_43: KafkaUnderTest) -> str:
    """A topic with records, written by somebody who logged in."""
    name = f"logins-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": kafka_43.bootstrap})
    admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1)])[name].result(PATIENCE_S)
    producer = Producer(confluent(bridge, "SCRAM-SHA-512", PASSWORD))
    for number in range(RECORDS):
        producer.produce(name, b"%d" % number)
    assert producer.flush(PATIENCE_S) == 0
    return name


def read_by_confluent(options: dict[str, object], topic: str) -> list[str]:
    """All records, in a group of the bridge's own, and what went wrong until logins were renewed."""
    errors: list[str] = []
    group = f"embedded-{uuid.uuid4().hex[:8]}"
    mine = {"group.id": group, "auto.offset.reset": "earliest", "error_cb": lambda error: errors.append(str(error))}
    consumer = Consumer({**options, **mine})
    consumer.subscribe([topic])
    read, give_up, renewed = 0, time.monotonic() + PATIENCE_S, time.monotonic() + 2 * SESSION_MS / 1_000
    try:
        while read < RECORDS or time.monotonic() < renewed:
            assert time.monotonic() < give_up, errors
            message = consumer.poll(0.2)
            read += message is not None and message.error() is None
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return errors


class Standstill:
    """The longest time for which this machine let a thread wait that had asked for next to none."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        before = time.monotonic()
        while not self._is_over.wait(0.01):
            now = time.monotonic()
            self.longest_s, before = max(self.longest_s, now - before), now


def require_unnoticed(read: Callable[[], list[str]]) -> None:
    """Nothing goes wrong; where the machine stood still, somebody may have come too late to renew: once more then."""
    for left in reversed(range(READS_MAX)):
        with Standstill() as seen:
            errors = read()
        if not errors:
            return
        if seen.longest_s < STANDSTILL_S or not left:
            pytest.fail(f"{errors}, and the machine stood still for {seen.longest_s:.2f} s at most")


def read_by_kafka_python(options: dict[str, object], topic: str) -> list[str]:
    """The same; it raises what goes wrong."""
    group = f"embedded-{uuid.uuid4().hex[:8]}"
    consumer = KafkaConsumer(topic, group_id=group, auto_offset_reset="earliest", **options)
    read, give_up = 0, time.monotonic() + PATIENCE_S
    try:
        while read < RECORDS:
            assert time.monotonic() < give_up
            read += sum(map(len, consumer.poll(timeout_ms=200).values()))
        consumer.commit()
    finally:
        consumer.close()
    return []


@pytest.mark.timeout(240)
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("client", CLIENTS)
def test_client_that_logs_in_reads_in_a_group(bridge: BridgeProcess, topic: str, client: str, mechanism: str) -> None:
    """Which the bridge coordinates; logins are renewed meanwhile, and nobody notices."""
    if client == "confluent":
        require_unnoticed(lambda: read_by_confluent(confluent(bridge, mechanism, PASSWORD), topic))
    else:
        assert read_by_kafka_python(kafka_python(bridge, mechanism, PASSWORD), topic) == []


def refused_producer(bridge: BridgeProcess, mechanism: str) -> list[KafkaError]:
    """What a producer is told until it knows that its login is refused.

    It ends with this function: kafka-python keeps the traceback of what it raises, and with it whatever the test that
    asks it holds, so that a producer there goes on calling a bridge that is long gone.
    """
    errors: list[KafkaError] = []
    producer = Producer({**confluent(bridge, mechanism, WRONG), "error_cb": errors.append})
    give_up = time.monotonic() + PATIENCE_S
    while not any(error.code() == KafkaError._AUTHENTICATION for error in errors):
        assert time.monotonic() < give_up, errors
        producer.poll(0.2)
    return errors


@pytest.mark.timeout(120)
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_wrong_password_is_told_as_kafka_tells_it(
    bridge: BridgeProcess, caplog: pytest.LogCaptureFixture, mechanism: str
) -> None:
    """Error 58 with Kafka's words, to both libraries."""
    errors = refused_producer(bridge, mechanism)
    said = "Invalid username or password" if mechanism == "PLAIN" else "due to invalid credentials with SASL mechanism"
    assert said in " ".join(map(str, errors))
    # It tries again until its time is over, and says why in its own log.
    with pytest.raises(KafkaTimeoutError), caplog.at_level(logging.WARNING, "kafka"):
        KafkaConsumer(**kafka_python(bridge, mechanism, WRONG), bootstrap_timeout_ms=BOOTSTRAP_MS)
    assert "[Error 58] SaslAuthenticationFailedError" in caplog.text
    assert said in caplog.text
    log = bridge.log.read_text(encoding="utf-8")
    assert "EB-NET-211" in log
    assert "user 'alice': a wrong password" in log or "user 'alice': the client does not know the password" in log
    assert WRONG not in log


@pytest.mark.timeout(120)
def test_client_without_a_login_is_served_nothing(bridge: BridgeProcess) -> None:
    """And the log says what to set."""
    admin = AdminClient({"bootstrap.servers": bridge.bootstrap, "socket.timeout.ms": 1_000})
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=2)
    give_up = time.monotonic() + PATIENCE_S
    while "EB-NET-210" not in bridge.log.read_text(encoding="utf-8"):
        assert time.monotonic() < give_up
        time.sleep(0.1)
