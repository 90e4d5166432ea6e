"""Rules that change while the bridge runs: live groups notice nothing, and a wrong file changes nothing."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from bridge.wire.apis import ApiKey
from tests.support.bridge_process import QUICK_SETTINGS, ROOT
from tests.support.kafka import KafkaUnderTest, TopicFactory
from tests.support.restarted_bridge import RestartedBridge
from tests.support.talker import talk
from translators.dialects.admin import DescribeGroups, DescribeGroupsReply
from translators.dialects.ids import GroupId

PATIENCE_S, LOOK_S, QUIET_S = 60.0, 0.2, 8.0


def write(path: Path, **roads: str) -> None:
    """A file with a rule for each first letter of a group."""
    rules = "".join(f"  - {{match: '{letter}-*', road: {road}}}\n" for letter, road in roads.items())
    path.write_text(f"groups:\n{rules}", encoding="utf-8")


def run(bridge: RestartedBridge, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """One command of the terminal."""
    command = [sys.executable, "-m", "bridge", *arguments, "--admin", bridge.admin]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd=ROOT)


def road_of(bridge: RestartedBridge, group: str) -> str:
    """Where the bridge shows a group, "" if nowhere: then it passes."""
    groups = json.loads(run(bridge, "groups", "--json").stdout)["groups"]
    return next((str(one["road"]) for one in groups if one["group_id"] == group), "")


@contextmanager
def consuming(bridge: RestartedBridge, group: str, topic: str) -> Iterator[tuple[Consumer, list[str]]]:
    """A consumer of a group that has its partitions, and what it was told of them."""
    told: list[str] = []
    consumer = Consumer({"bootstrap.servers": bridge.bootstrap, "group.id": group})
    consumer.subscribe(
        [topic], on_assign=lambda *_: told.append("assigned"), on_revoke=lambda *_: told.append("revoked")
    )
    try:
        wait_until(lambda: (consumer.poll(LOOK_S), bool(told))[1], f"assignment of {group}", bridge)
        yield consumer, told
    finally:
        consumer.close()


def wait_until(is_reached: Callable[[], bool], what: str, bridge: RestartedBridge) -> None:
    """Wait until something is so, or fail with the bridge's last words."""
    give_up_s = time.monotonic() + PATIENCE_S
    while not is_reached():
        assert time.monotonic() < give_up_s, f"no {what}: {bridge.tail()}"


@pytest.mark.timeout(300)
def test_changed_rules_move_no_live_group(
    kafka_43: KafkaUnderTest, tmp_path: Path, topic_factory: TopicFactory
) -> None:
    """One group lives here and one at the broker: the rules change places under them."""
    topic, file = topic_factory(kafka_43.bootstrap, 2), tmp_path / "bridge.yaml"
    bridge = RestartedBridge(kafka_43.bootstrap, "*", tmp_path, QUICK_SETTINGS)
    bridge.rules = ("--config", str(file))
    write(file, a="embedded", b="pass")
    bridge.start()
    with ExitStack() as stack:
        living = [stack.enter_context(consuming(bridge, f"{letter}-{topic}", topic)) for letter in "ab"]
        write(file, a="pass", b="embedded")
        bridge.hang_up()
        wait_until(lambda: "rules for new groups" in bridge.log.read_text(), "word on the new rules", bridge)
        give_up_s = time.monotonic() + QUIET_S
        while time.monotonic() < give_up_s:
            for consumer, _ in living:
                consumer.poll(LOOK_S)
        assert [told for _, told in living] == [["assigned"]] * 2, bridge.tail()
        assert [road_of(bridge, f"{letter}-{topic}") for letter in "ab"] == ["embedded", "pass"]
        file.write_text("nonsense: 1\n", encoding="utf-8")
        reloaded = run(bridge, "reload")
        assert (reloaded.returncode, "EB-CONFIG-003" in reloaded.stderr) == (1, True)
        for letter, road in (("a", ""), ("b", "embedded")):
            stack.enter_context(consuming(bridge, f"{letter}-new-{topic}", topic))
            assert road_of(bridge, f"{letter}-new-{topic}") == road, bridge.tail()
    assert bridge.stop() == 0
    assert "Traceback" not in bridge.log.read_text()


@pytest.mark.timeout(300)
def test_first_rule_for_a_road_is_served(kafka_43: KafkaUnderTest, tmp_path: Path, topic_factory: TopicFactory) -> None:
    """No restart is needed; the bridge meets others from then on, and its groups are in the journal."""
    topic, file, others = topic_factory(kafka_43.bootstrap, 2), tmp_path / "bridge.yaml", "__epochbridge-first"
    chosen = {**QUICK_SETTINGS, "journal": "sqlite", "bridges.group": others}
    bridge = RestartedBridge(kafka_43.bootstrap, "*", tmp_path, chosen)
    bridge.rules = ("--config", str(file))
    write(file, a="pass")
    bridge.start()
    assert members_of(kafka_43, others) == 0
    write(file, a="pass", b="embedded", c="upstream")
    bridge.hang_up()
    wait_until(lambda: "rules for new groups" in bridge.log.read_text(), "word on the new rules", bridge)
    with ExitStack() as stack:
        for letter, road in (("a", ""), ("b", "embedded"), ("c", "upstream")):
            stack.enter_context(consuming(bridge, f"{letter}-{topic}", topic))
            assert road_of(bridge, f"{letter}-{topic}") == road, bridge.tail()
        wait_until(lambda: members_of(kafka_43, others) == 1, "group of bridges", bridge)
    assert bridge.stop() == 0
    assert "Traceback" not in bridge.log.read_text()


def members_of(kafka: KafkaUnderTest, group: str) -> int:
    """How many members its broker has."""
    with talk(kafka.bootstrap) as direct:
        reply = direct.ask(ApiKey.DESCRIBE_GROUPS, 5, DescribeGroups(group_ids=(GroupId(group),)))
    assert isinstance(reply, DescribeGroupsReply)
    (found,) = reply.groups
    return len(found.members)


def refused(bridge: RestartedBridge, times: int) -> bool:
    """Whether so many files were."""
    return bridge.log.read_text().count("EB-APP-007") == times


def test_no_file_ends_the_bridge(kafka_43: KafkaUnderTest, tmp_path: Path) -> None:
    """A word of YAML that no reader bears ended it, on SIGHUP; so did whatever else reading the file came to."""
    file = tmp_path / "bridge.yaml"
    bridge = RestartedBridge(kafka_43.bootstrap, "*", tmp_path, QUICK_SETTINGS)
    bridge.rules = ("--config", str(file))
    write(file, a="embedded")
    bridge.start()
    for number, text in enumerate(("listen: !!timestamp 99\n", "? &a [*a]\n: 1\n", "- " * 5_000, "\x00"), 1):
        file.write_text(text, encoding="utf-8")
        bridge.hang_up()
        wait_until(partial(refused, bridge, number), "word on the file", bridge)
    write(file, a="pass")
    bridge.hang_up()
    wait_until(lambda: "rules for new groups" in bridge.log.read_text(), "word on the new rules", bridge)
    assert bridge.stop() == 0
    assert "Traceback" not in bridge.log.read_text()
