"""The admin clients of librdkafka, which kcat and UIs stand on, and of kafka-python, asking about an embedded group.

It must not know how the bridge makes the views.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import trio
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient

from tests.support.bridge_process import BridgeProcess
from tests.support.casts import Wardrobe
from tests.support.kafka import KafkaUnderTest
from tests.support.settled_fleet import PARTITIONS, Way, settled_fleet

SEATS: Mapping[str, str] = {"first": "confluent-range", "second": "kafka-python-range", "third": "confluent-consumer"}
TIMEOUT_S = 90.0


class Shown(NamedTuple):
    """What an admin client says of a group: who has how many partitions, and how many offsets are committed."""

    state: str
    assigned: Mapping[str, int]
    offsets: int
    is_listed: bool


def ask_librdkafka(bootstrap: str, group: str) -> Shown:
    """Through confluent-kafka; blocks."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    described = admin.describe_consumer_groups([group], request_timeout=TIMEOUT_S)[group].result(TIMEOUT_S)
    fetched = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(TIMEOUT_S)
    listed = admin.list_consumer_groups(request_timeout=TIMEOUT_S).result(TIMEOUT_S)
    assigned = {member.client_id: len(member.assignment.topic_partitions) for member in described.members}
    return Shown(
        described.state.name,
        assigned,
        len(fetched.topic_partitions),
        group in {each.group_id for each in listed.valid},
    )


def ask_kafka_python(bootstrap: str, group: str) -> Shown:
    """Through kafka-python; blocks."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    described = admin.describe_groups([group])[group]
    offsets = admin.list_group_offsets(group)[group]
    listed = {each["group_id"] for each in admin.list_groups()}
    admin.close()
    assigned = {
        member["client_id"]: sum(
            len(topic["partitions"]) for topic in member["member_assignment"]["assigned_partitions"]
        )
        for member in described["members"]
    }
    return Shown(described["group_state"].upper(), assigned, len(offsets), group in listed)


UNKNOWN_TO_KAFKA_PYTHON = Shown("DEAD", {}, PARTITIONS, is_listed=True)
"""Its DescribeGroups v6 gets the answer that Kafka 4 gives for every consumer group, and it asks no further."""


@pytest.mark.parametrize("version", ["39", "43"])
async def test_admin_clients_see_the_group_as_it_is(
    version: str, request: pytest.FixtureRequest, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """Classic and KIP-848 members side by side, every partition with somebody, every offset there (decision 22)."""
    kafka: KafkaUnderTest = request.getfixturevalue(f"kafka_{version}")
    bridge: BridgeProcess = request.getfixturevalue(f"bridge_{version}")
    async with settled_fleet(Way(kafka.bootstrap, bridge.bootstrap), wardrobe, SEATS, tmp_path) as fleet:
        group = fleet.target.group
        by_librdkafka, by_kafka_python = [
            await trio.to_thread.run_sync(ask, bridge.bootstrap, group) for ask in (ask_librdkafka, ask_kafka_python)
        ]
    assert (by_librdkafka.state, by_librdkafka.offsets, by_librdkafka.is_listed) == ("STABLE", PARTITIONS, True)
    assert by_librdkafka.assigned.keys() == SEATS.keys()
    assert sum(by_librdkafka.assigned.values()) == PARTITIONS
    is_kafka_3 = version == "39" and kafka.broker is not None
    assert by_kafka_python == (by_librdkafka if is_kafka_3 else UNKNOWN_TO_KAFKA_PYTHON)
