"""The compose file's services as processes: its bridge, in front of a real Kafka, and its fleet in one group."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

from bridge.demo.services import free_place
from tests.architecture.source_tree import ROOT
from tests.support.kafka import KafkaUnderTest, TopicFactory

PROJECT = yaml.safe_load((ROOT / "deploy/compose/compose.yaml").read_text(encoding="utf-8"))
SERVICES = PROJECT["services"]
PYTHON = "python3"
PARTITIONS = int(SERVICES["kafka"]["environment"]["KAFKA_NUM_PARTITIONS"])
TOPIC, KAFKA, CLIENTS = "orders", "kafka:9092", "bridge:9192"
"""How the file calls them."""
WAIT_S = 120.0


@contextmanager
def started(
    command: list[str], log: Path, environment: dict[str, str], stdout: int = subprocess.DEVNULL
) -> Iterator["subprocess.Popen[str]"]:
    """A process of a service, ended at the end."""
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(command, stdout=stdout, stderr=errors, text=True, env=environment) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def bridge_configuration(topic: str, bootstrap: str, clients: str, admin: str) -> str:
    """What the file gives the bridge, with addresses of this machine instead of those of its network."""
    text: str = PROJECT["configs"]["bridge"]["content"]
    kept = [line for line in text.splitlines() if not line.startswith(("advertised.host", "listen.ports"))]
    return (
        "\n".join(kept)
        .replace(KAFKA, bootstrap)
        .replace("0.0.0.0:9192", clients)
        .replace("0.0.0.0:9190", admin)
        .replace(TOPIC, topic)
    )


def test_fleet_of_the_compose_file_shares_one_group(
    kafka_43: KafkaUnderTest, topic_factory: TopicFactory, tmp_path: Path
) -> None:
    """Classic members of two libraries and one of the new protocol, each with partitions, none with another's."""
    topic, place = topic_factory(kafka_43.bootstrap, PARTITIONS), free_place()
    path = tmp_path / "bridge.yaml"
    path.write_text(bridge_configuration(topic, kafka_43.bootstrap, place.listen, place.admin), encoding="utf-8")
    environment = {**os.environ, "STATE_DIRECTORY": str(tmp_path)}
    bridge = [sys.executable, "-m", "bridge", "serve", "--config", str(path)]
    with ExitStack() as fleet:
        process = fleet.enter_context(started(bridge, tmp_path / "bridge.log", environment, subprocess.PIPE))
        assert process.stdout is not None
        assert process.stdout.readline().startswith("epochbridge ready: ")
        members = []
        for name, service in SERVICES.items():
            if "entrypoint" in service:
                words = [*service["entrypoint"], *service["command"]]
                given = {PYTHON: sys.executable, CLIENTS: place.listen, TOPIC: topic}
                command = [given.get(word, word) for word in words]
                fleet.enter_context(started(command, tmp_path / f"{name}.log", environment))
                members += [name] * ("--group" in words)
        seen = settled(topic, place.admin, len(members))
    assert sorted(seen) == sorted(members)
    assert sorted(partition for share in seen.values() for partition in share) == list(range(PARTITIONS))
    assert min(map(len, seen.values())) > 0


def settled(group: str, admin: str, members: int) -> dict[str, list[int]]:
    """The partitions of each client of a stable group of so many."""
    asked = [sys.executable, "-m", "bridge", "describe", group, "--json", "--admin", admin]
    until, document = time.monotonic() + WAIT_S, json.loads('{"members": []}')
    while time.monotonic() < until:
        ran = subprocess.run(asked, capture_output=True, text=True, check=False)
        document = json.loads(ran.stdout) if ran.returncode == 0 else document
        if len(document["members"]) == members and document["state"] == "Stable":
            return {
                member["client_id"]: [one for share in member["assigned"] for one in share["partitions"]]
                for member in document["members"]
            }
        time.sleep(0.5)
    pytest.fail(f"the group did not settle: {document}")
