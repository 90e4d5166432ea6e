"""A group of which one member does not come by the bridge: it is not adopted, and taken over without that member.

It must not know how the bridge tells them apart.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from tests.support.bridge_process import QUICK_SETTINGS, ROOT, bridge_process
from tests.support.kafka import KafkaUnderTest, TopicFactory
from tests.support.restarted_bridge import RestartedBridge

PATIENCE_S = 120.0


class Member:
    """A client in a thread of its own, which counts what it is called for."""

    def __init__(self, bootstrap: str, group: str, topic: str, client_id: str) -> None:
        self.calls = 0
        self.has: frozenset[int] = frozenset()
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "client.id": client_id})
        self._consumer.subscribe([topic], on_assign=self._assigned, on_revoke=self._revoked)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._poll)
        self._thread.start()

    def close(self) -> None:
        """Leave the group."""
        self._done.set()
        self._thread.join()
        self._consumer.close()

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.calls += 1
        self.has = frozenset(one.partition for one in partitions)

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.calls += 1
        self.has = frozenset()

    def _poll(self) -> None:
        while not self._done.is_set():
            self._consumer.poll(0.2)


@contextmanager
def members(stack: ExitStack, places: dict[str, str], group: str, topic: str) -> Iterator[dict[str, Member]]:
    """These clients, by their names and where they connect to, once each has a partition."""
    known = {name: Member(bootstrap, group, topic, name) for name, bootstrap in places.items()}
    for one in known.values():
        stack.callback(one.close)
    until = time.monotonic() + PATIENCE_S
    # The first of them has all of it for a moment.
    while any(len(one.has) != 1 for one in known.values()):
        assert time.monotonic() < until, "the group does not settle"
        time.sleep(0.2)
    yield known


def move(admin: str, group: str, to: str) -> "subprocess.CompletedProcess[str]":
    """Order a move and wait for its verdict."""
    command = [sys.executable, "-m", "bridge", "move", group, "--to", to, "--wait", "--admin", admin]
    return subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE_S, cwd=ROOT, check=False)


def test_stranger_keeps_a_group_from_adoption_and_stays_where_it_is_at_a_take_over(
    kafka_43: KafkaUnderTest, topic_factory: TopicFactory, tmp_path: Path
) -> None:
    """It is named where it is in the way, and nobody of the group is called either time."""
    topic = topic_factory(kafka_43.bootstrap, 2)
    group = f"{topic}-group"
    with (
        bridge_process(kafka_43.bootstrap, (), tmp_path, QUICK_SETTINGS, has_admin=True) as bridge,
        ExitStack() as stack,
        members(stack, {"here": bridge.bootstrap, "elsewhere": kafka_43.bootstrap}, group, topic) as known,
    ):
        before = {name: (one.calls, one.has) for name, one in known.items()}
        adopted = move(bridge.admin, group, "embedded")
        said = adopted.stdout + adopted.stderr
        assert (adopted.returncode, "EB-MOVE-132" in said, "elsewhere" in said) == (1, True, True), said
        taken = move(bridge.admin, group, "upstream")
        said = taken.stdout + taken.stderr
        # Nobody waits a session for it: it is told who it is, and the order comes to its end.
        assert (taken.returncode, "1 member is on upstream, 1 stays where it was" in said) == (0, True), said
        assert "EB-MOVE-210" in said, said
        assert {name: (one.calls, one.has) for name, one in known.items()} == before


def test_members_are_heard_before_they_are_judged_behind_a_restart(
    kafka_43: KafkaUnderTest, topic_factory: TopicFactory, tmp_path: Path
) -> None:
    """Nobody of them has joined by this life of the bridge: their next heartbeats tell who is here, and who is not."""
    topic = topic_factory(kafka_43.bootstrap, 2)
    group = f"{topic}-group"
    bridge = RestartedBridge(kafka_43.bootstrap, "nothing-*", tmp_path)
    bridge.start()
    with (
        ExitStack() as stack,
        members(stack, {"here": bridge.bootstrap, "elsewhere": kafka_43.bootstrap}, group, topic) as known,
    ):
        before = {name: (one.calls, one.has) for name, one in known.items()}
        bridge.kill()
        bridge.start()
        command = [sys.executable, "-m", "bridge", "move", group, "--to", "upstream", "--dry-run", "--json"]
        asked = subprocess.run(
            [*command, "--admin", bridge.admin],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            cwd=ROOT,
            check=False,
        )
        told = json.loads(asked.stdout)
        stages = {one["client_id"]: one["stage"] for one in told["members"]}
        assert (told["stage"], stages) == ("done", {"here": "waiting", "elsewhere": "stays"}), told
        assert {name: (one.calls, one.has) for name, one in known.items()} == before
    assert bridge.stop() == 0, bridge.tail()
