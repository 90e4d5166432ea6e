"""A real client comes to a group of the other kind that can't be converted for it: it hears why, and nobody else does.

It must not know how the bridge decides.
"""

import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError
from kafka import KafkaConsumer
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import InconsistentGroupProtocolError

from bridge.admin.client import ask_group, ask_groups, parse
from tests.support.bridge_process import QUICK_SETTINGS, BridgeProcess, bridge_process
from tests.support.kafka import KafkaUnderTest, TopicFactory

PATIENCE_S = 180.0
PARTITIONS = 3
STAYS = "assignor 'acme' of group {} has no server-side equivalent: its own leader computes"


ACME = type("AcmeAssignor", (RangePartitionAssignor,), {"name": "acme"})
"""An assignor that only its own clients know, as companies write them."""


@pytest.fixture
def bridge(kafka_43: KafkaUnderTest, tmp_path: Path) -> Iterator[BridgeProcess]:
    """A bridge with an admin API."""
    with bridge_process(kafka_43.bootstrap, ("embedded-*",), tmp_path, QUICK_SETTINGS, has_admin=True) as running:
        yield running


@pytest.fixture
def topic(kafka_43: KafkaUnderTest, topic_factory: TopicFactory) -> str:
    """Where everybody reads."""
    return topic_factory(kafka_43.bootstrap, PARTITIONS)


def own_consumer(bridge: BridgeProcess, topic: str, group: str) -> KafkaConsumer:
    """A classic consumer whose assignor has no server-side equivalent."""
    return KafkaConsumer(
        topic,
        bootstrap_servers=bridge.bootstrap,
        group_id=group,
        partition_assignment_strategy=[ACME],
        session_timeout_ms=10_000,
        heartbeat_interval_ms=1_000,
    )


def native_consumer(bridge: BridgeProcess, topic: str, group: str) -> Consumer:
    """A KIP-848 consumer."""
    consumer = Consumer({"bootstrap.servers": bridge.bootstrap, "group.id": group, "group.protocol": "consumer"})
    consumer.subscribe([topic])
    return consumer


def poll_until_assigned(consumer: KafkaConsumer | Consumer, poll_s: float = 0.2) -> None:
    """Poll until everything is assigned to this consumer alone."""
    give_up = time.monotonic() + PATIENCE_S
    while len(consumer.assignment()) < PARTITIONS:
        assert time.monotonic() < give_up, "no assignment"
        if isinstance(consumer, Consumer):
            consumer.poll(poll_s)
        else:
            consumer.poll(timeout_ms=int(poll_s * 1000))


def first_error(consumer: Consumer) -> KafkaError:
    """What a KIP-848 consumer's application hears instead of records."""
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up:
        message = consumer.poll(0.2)
        if message is not None:
            error = message.error()
            assert error is not None
            return error
    pytest.fail("the application heard nothing")


def shown(bridge: BridgeProcess, group: str) -> Mapping[str, object]:
    """The group as the admin API describes it."""
    return parse(ask_group(bridge.admin, group), bridge.admin)


def test_native_newcomer_hears_at_once_that_the_group_stays_classic(bridge: BridgeProcess, topic: str) -> None:
    """GROUP_ID_NOT_FOUND, as Kafka answers where it can't convert: a fatal error, with the reason in the bridge's log.

    The others keep what they have; when they are gone the same group takes KIP-848 members.
    """
    group = f"embedded-{uuid.uuid4().hex[:8]}"
    with closing(own_consumer(bridge, topic, group)) as own:
        poll_until_assigned(own)
        generation = shown(bridge, group)["group_epoch"]
        with closing(native_consumer(bridge, topic, group)) as native:
            error = first_error(native)
        assert error.code() == KafkaError._FATAL
        assert "group id does not exist" in error.str()
        own.poll(timeout_ms=1_500)
        assert len(own.assignment()) == PARTITIONS
        described = shown(bridge, group)
        assert (described["type"], described["group_epoch"]) == ("classic", generation)
        assert described["not_convertible"] == STAYS.format(group)
        assert STAYS.format(group) in ask_groups(bridge.admin).decode()
        assert STAYS.format(group) in bridge.log.read_text(encoding="utf-8")
    with closing(native_consumer(bridge, topic, group)) as native:
        poll_until_assigned(native)
    assert shown(bridge, group)["type"] == "consumer"


def test_own_assignor_hears_at_once_that_the_group_is_translated(bridge: BridgeProcess, topic: str) -> None:
    """INCONSISTENT_GROUP_PROTOCOL, as Kafka answers where no protocol is common: every client ends with it."""
    group = f"embedded-{uuid.uuid4().hex[:8]}"
    with closing(native_consumer(bridge, topic, group)) as native:
        poll_until_assigned(native)
        with closing(own_consumer(bridge, topic, group)) as own, pytest.raises(InconsistentGroupProtocolError):
            poll_until_assigned(own)
        native.poll(1.5)
        assert len(native.assignment()) == PARTITIONS
        assert shown(bridge, group)["member_count"] == 1
        assert "acme" in bridge.log.read_text(encoding="utf-8")
