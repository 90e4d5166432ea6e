"""Events reach their topic whatever happens to the broker or the bridge, each at least once and in order of its group.

It must not know what the events are about.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from bridge.demo.cluster import create_topics
from bridge.demo.kafka_broker import KafkaBroker, start_broker
from bridge.demo.kafka_properties import BrokerSettings
from bridge.telemetry.event_log.codec import decode_line
from bridge.telemetry.event_log.recorder import Clocks, Recorder
from bridge.telemetry.event_log.spool import Spool
from bridge.telemetry.event_log.topic_sink import open_topic
from bridge.telemetry.schema.facts import BridgeStarted, BridgeStopped, Event, GroupDeleted
from bridge.telemetry.schema.terms import Road
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process

PARTITIONS = 3
PATIENCE_S = 180.0
CLOCKS = Clocks(mono_us=lambda: 1, wall_us=lambda: 2)


@pytest.fixture
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A Kafka 4.3.1 of this test's own, as it is stopped and started."""
    with start_broker(BrokerSettings(version="4.3.1"), directory=tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


def _recorder(kafka: KafkaBroker, topic: str, boot: str, folder: Path) -> Recorder:
    sink = open_topic((kafka.bootstrap,), topic, Spool(folder, boot, 10_000_000))
    return Recorder(boot, CLOCKS, [sink], 100_000)


def _say(recorder: Recorder, first: int, last: int) -> None:
    for number in range(first, last):
        recorder.say(GroupDeleted(group_id=f"group-{number % 7}", road=Road.PASSING, group_epoch=number))


def _wait(recorder: Recorder, written: int) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while recorder.written < written and time.monotonic() < give_up:
        time.sleep(0.05)
    assert recorder.written == written


def _read(kafka: KafkaBroker, topic: str, count: int) -> list[Event]:
    """At least `count` different events, in the order of each partition."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "reader", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found: list[Event] = []
    give_up = time.monotonic() + PATIENCE_S
    while len({event.stamp.event_id for event in found}) < count and time.monotonic() < give_up:
        for message in consumer.consume(1_000, 0.5):
            assert message.error() is None
            event = decode_line(message.value() or b"")
            assert isinstance(event, Event)
            assert message.key() == (getattr(event.fact, "group_id", "").encode() or None)
            found.append(event)
    consumer.close()
    return found


def _epochs(events: list[Event]) -> dict[str, list[int]]:
    """The epochs of each group in the order they were read, later copies left out."""
    found: dict[str, dict[int, None]] = {}
    for event in events:
        if isinstance(event.fact, GroupDeleted):
            found.setdefault(event.fact.group_id, {})[event.fact.group_epoch] = None
    return {group_id: list(epochs) for group_id, epochs in found.items()}


def test_nothing_is_lost_while_the_broker_is_away_and_over_a_crash(kafka: KafkaBroker, tmp_path: Path) -> None:
    """Broker up, gone and back; then a run that ends with the broker gone, whose events the next run sends."""
    topic = "events"
    create_topics(kafka.bootstrap, (topic,), PARTITIONS)
    first = _recorder(kafka, topic, "a", tmp_path)
    _say(first, 0, 500)
    _wait(first, 500)
    kafka.stop()
    _say(first, 500, 1_500)
    kafka.start()
    _wait(first, 1_500)
    kafka.stop()
    _say(first, 1_500, 2_000)
    first.close()
    assert list(tmp_path.iterdir()) != []
    kafka.start()
    second = _recorder(kafka, topic, "b", tmp_path)
    _say(second, 2_000, 2_100)
    events = _read(kafka, topic, 2_100)
    expected = {f"group-{rest}": list(range(rest, 2_100, 7)) for rest in range(7)}
    assert _epochs(events) == expected
    second.close()
    assert list(tmp_path.iterdir()) == []


def test_bridge_sends_its_events_to_the_topic(kafka: KafkaBroker, tmp_path: Path) -> None:
    """From its start to its stop, without files."""
    topic = "bridge-events"
    create_topics(kafka.bootstrap, (topic,), PARTITIONS)
    settings = {**QUICK_SETTINGS, "events.topic": topic, "events.spool.path": str(tmp_path / "spool")}
    with bridge_process(kafka.bootstrap, [], tmp_path, settings):
        pass
    kinds = {event.fact.kind for event in _read(kafka, topic, 2)}
    assert {BridgeStarted.kind, BridgeStopped.kind} <= kinds
