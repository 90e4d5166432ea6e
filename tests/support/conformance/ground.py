"""Before and around the scenarios: topics made, the coordinator found, and many scenarios played at once."""

import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import KafkaException, NewTopic

from tests.support.conformance.connection import Connection
from tests.support.conformance.playing import Answer, Ground, Play
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import TOPICS, Scenario

AT_ONCE = 24
READY_S = 180.0
GROUP_KEY, TRANSACTION_KEY = 0, 1


def make_topics(bootstrap: str) -> None:
    """Make the topics of all scenarios, if they are not there."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    wanted = [NewTopic(name, num_partitions=count, replication_factor=1) for name, count in TOPICS.items()]
    for future in admin.create_topics(wanted, operation_timeout=READY_S).values():
        try:
            future.result(READY_S)
        except KafkaException as fault:
            if "already exists" not in str(fault):
                raise


def find_ground(bootstrap: str) -> Ground:
    """Ask for the topics' ids and the coordinator until all is there."""
    host, _, port = bootstrap.rpartition(":")
    connection = Connection((host, int(port)), "client-scout")
    give_up = time.monotonic() + READY_S
    try:
        while True:
            topics = _topic_ids(connection)
            place = _coordinator(connection, GROUP_KEY)
            if (
                _coordinator(connection, TRANSACTION_KEY) is not None
                and place is not None
                and set(topics) == set(TOPICS)
            ):
                return Ground(place=place, topic_ids=topics)
            if time.monotonic() > give_up:
                raise TimeoutError(f"{bootstrap} has topics {sorted(topics)} and coordinator {place}")
            time.sleep(0.2)
    finally:
        connection.close()


def _topic_ids(connection: Connection) -> dict[str, str]:
    none = "00000000-0000-0000-0000-000000000000"
    asked: list[Value] = [{"topic_id": none, "name": name} for name in TOPICS]
    answer = connection.ask("Metadata", 12, {"topics": asked})
    rows = answer["topics"]
    assert isinstance(rows, list)
    found = [row for row in rows if isinstance(row, Mapping) and row["error"] == 0]
    return {str(row["name"]): str(row["topic_id"]) for row in found}


def _coordinator(connection: Connection, key_type: int) -> tuple[str, int] | None:
    answer = connection.ask("FindCoordinator", 4, {"key_type": key_type, "keys": ["wire-any"]})
    rows = answer["coordinators"]
    assert isinstance(rows, list)
    row = rows[0]
    assert isinstance(row, Mapping)
    port = row["port"]
    return (str(row["host"]), port) if row["error"] == 0 and isinstance(port, int) else None


def play_all(bootstrap: str, scenarios: Sequence[Scenario]) -> dict[str, list[Answer]]:
    """Play scenarios side by side, each in a group of its own, and return what was answered by their names."""
    ground = find_ground(bootstrap)
    run = uuid.uuid4().hex[:8]

    def play(number: int, scenario: Scenario) -> list[Answer]:
        return Play(ground=ground, group=f"wire-{run}-{number}-x").run(scenario)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        played = pool.map(play, count(), scenarios)
        return dict(zip((one.name for one in scenarios), played, strict=True))
