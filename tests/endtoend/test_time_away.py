"""A journal that is brought back after longer than a session: nothing is dealt to those who went meanwhile."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.support.bridge_process import QUICK_SETTINGS, ROOT
from tests.support.kafka import KafkaUnderTest, TopicFactory
from tests.support.restarted_bridge import RestartedBridge

SESSION_MS = 6_000
AWAY_S = 13.0
"""A session, and what the bridge may not have noted of its last life."""
PATIENCE_S = 60.0
GHOST = """
import sys
from confluent_kafka import Consumer
bootstrap, group, topic = sys.argv[1:]
consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "session.timeout.ms": 6000})
consumer.subscribe([topic], on_assign=lambda *_: print("assigned", flush=True))
while True:
    consumer.poll(0.2)
"""


@pytest.mark.timeout(240)
def test_newcomer_gets_everything_at_once(
    kafka_43: KafkaUnderTest, topic_factory: TopicFactory, tmp_path: Path
) -> None:
    """Of a member that was killed while the bridge was away, nobody waits for."""
    topic = topic_factory(kafka_43.bootstrap, 4)
    group = f"away-{topic}"
    settings = {**QUICK_SETTINGS, "embedded.resume.grace.ms": "2000"}
    bridge = RestartedBridge(kafka_43.bootstrap, "*", tmp_path, settings)
    bridge.start()
    command = [sys.executable, "-c", GHOST, bridge.bootstrap, group, topic]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as ghost:
        try:
            assert ghost.stdout is not None
            assert ghost.stdout.readline().strip() == "assigned", bridge.tail()
            time.sleep(SESSION_MS / 1000)
        finally:
            bridge.kill()
            ghost.send_signal(signal.SIGKILL)
    time.sleep(AWAY_S)
    bridge.start()
    assigned: list[int] = []

    def note(_consumer: Consumer, partitions: list[TopicPartition]) -> None:
        assigned.append(len(partitions))

    consumer = Consumer({"bootstrap.servers": bridge.bootstrap, "group.id": group, "session.timeout.ms": SESSION_MS})
    consumer.subscribe([topic], on_assign=note)
    give_up_s = time.monotonic() + PATIENCE_S
    while not assigned:
        assert time.monotonic() < give_up_s, bridge.tail()
        consumer.poll(0.2)
    consumer.close()
    assert assigned == [4], bridge.tail()
    assert "EB-GROUP-023" in bridge.log.read_text()
    assert bridge.stop() == 0
