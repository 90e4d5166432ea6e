"""Records how long the members of real groups wait in real rebalances, for trials of the canary judge.

`python -m tests.support.record_rebalances` writes `recorded_rebalances.json` beside the unit tests: three groups of
librdkafka behind a bridge on Kafka 4.3.1 (classic on `pass`, classic and KIP-848 on `embedded`), one member of each
restarted every two seconds, all members of every rebalance with zero for those it left alone.
"""

import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import Consumer

from bridge.analytics.compare.samples import Choice, Measure, UnitKind, sample
from bridge.analytics.engines.spark_views import views_of
from bridge.analytics.job_run import open_store, run
from bridge.analytics.spark.session import SessionSettings, open_session
from bridge.analytics.tables.store import Store
from bridge.demo.kafka_broker import start_broker
from bridge.demo.kafka_properties import DEFAULT_VERSION, BrokerSettings
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.kafka import create_topic

RECORD = Path(__file__).resolve().parents[1] / "unit" / "bridge" / "migration" / "canary" / "recorded_rebalances.json"
MEMBERS, PARTITIONS = 8, 24
RESTART_S = 2.0
DECIMALS = 4
GROUPS: Mapping[str, Mapping[str, str | int]] = {
    "recorded-pass": {"partition.assignment.strategy": "range", "session.timeout.ms": 6_000},
    "recorded-eager": {"partition.assignment.strategy": "range", "session.timeout.ms": 6_000},
    "recorded-consumer": {"group.protocol": "consumer"},
}


class Member:
    """One client that polls in a thread until it is told to stop."""

    def __init__(self, bootstrap: str, topic: str, group_id: str, number: int) -> None:
        self._is_over = threading.Event()
        name = f"{group_id}-{number}"
        arguments = (
            {"bootstrap.servers": bootstrap, "group.id": group_id, "client.id": name, **GROUPS[group_id]},
            topic,
        )
        self._thread = threading.Thread(target=self._run, args=arguments, name=name)
        self._thread.start()

    def _run(self, settings: Mapping[str, str | int], topic: str) -> None:
        consumer = Consumer(dict(settings))
        consumer.subscribe([topic])
        while not self._is_over.is_set():
            consumer.poll(0.1)
        consumer.close()

    def stop(self) -> None:
        """Leave the group."""
        self._is_over.set()
        self._thread.join()


def let_live(bootstrap: str, topic: str, seconds: float) -> None:
    """Restart a random member of each group again and again."""
    chance = random.Random(848)
    fleets = {group: [Member(bootstrap, topic, group, number) for number in range(MEMBERS)] for group in GROUPS}
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        time.sleep(RESTART_S)
        for group_id, fleet in fleets.items():
            number = chance.randrange(MEMBERS)
            fleet[number].stop()
            fleet[number] = Member(bootstrap, topic, group_id, number)
    for fleet in fleets.values():
        for member in fleet:
            member.stop()


def main(seconds: float) -> None:
    """Live, make tables, write down what every rebalance cost everybody."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        events = directory / "events"
        with start_broker(BrokerSettings(version=DEFAULT_VERSION), directory=directory) as broker:
            create_topic(broker.bootstrap, "recorded", PARTITIONS)
            settings = {**QUICK_SETTINGS, "events.path": str(events)}
            globs = ["recorded-eager", "recorded-consumer"]
            with bridge_process(broker.bootstrap, globs, directory, settings) as bridge:
                let_live(bridge.bootstrap, "recorded", seconds)
        tables = str(directory / "tables")
        run(str(events), tables, SessionSettings())
        store = open_store(open_session(SessionSettings()), tables)
        RECORD.write_text(json.dumps({group: recorded(store, group) for group in GROUPS}), encoding="utf-8")
        store.spark.stop()


def recorded(store: Store, group_id: str) -> list[list[float]]:
    """The waits of each rebalance of a group in seconds, oldest first."""
    choice = Choice(
        control=f"group_id = '{group_id}'", treatment="false", measure=Measure.MEMBER, unit=UnitKind.REBALANCE
    )
    return [[round(wait, DECIMALS) for wait in unit.control] for unit in sample(views_of(store), choice).units]


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 900.0)
