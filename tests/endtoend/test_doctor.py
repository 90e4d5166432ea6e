"""The doctor, before a bridge runs and with one, in front of real brokers.

It must not know how anything is looked at.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.bridge_process import ROOT, bridge_process
from tests.support.kafka import KafkaUnderTest

PATIENCE_S = 120.0


def ask(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run the command."""
    command = [sys.executable, "-m", "bridge", "doctor", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, cwd=ROOT, check=False)


def severities(found: str) -> Mapping[str, str]:
    """How much each finding matters, by its code."""
    document = json.loads(found)
    return {finding["code"]: finding["severity"] for finding in document["findings"]}


def groups_of_probes(bootstrap: str) -> list[str]:
    """Groups that probes left behind, empty ones too."""
    listed = AdminClient({"bootstrap.servers": bootstrap}).list_consumer_groups(request_timeout=PATIENCE_S)
    probes = (one for one in listed.result(PATIENCE_S).valid if one.group_id.startswith("__epochbridge-probe-"))
    return [f"{one.group_id}: {one.state.name}" for one in probes]


def test_doctor_of_a_running_bridge_probes_the_take_over(kafka_43: KafkaUnderTest, tmp_path: Path) -> None:
    """Nothing stands in the way, the clock is right, and neither member nor group of the probe is left."""
    settings = {"bridges.group": "off"}
    with bridge_process(
        kafka_43.bootstrap, (), tmp_path, {**settings, "journal.path": str(tmp_path / "j")}, has_admin=True
    ) as bridge:
        asked = ask("--json", "--admin", bridge.admin)
    assert asked.returncode == 0, asked.stdout + asked.stderr
    found = severities(asked.stdout)
    assert {"EB-DOCTOR-103", "EB-DOCTOR-112", "EB-DOCTOR-120", "EB-DOCTOR-140", "EB-DOCTOR-152"} <= found.keys()
    assert set(found.values()) == {"informs"}
    brokers = json.loads(asked.stdout)["brokers"]
    assert (brokers["takeover"], brokers["known"], brokers["policy"]) == ("in_place", "probed", "bidirectional")
    assert groups_of_probes(kafka_43.bootstrap) == []


@pytest.mark.parametrize(("version", "code"), [("43", "EB-DOCTOR-112"), ("39", "EB-DOCTOR-110")])
def test_doctor_looks_at_a_cluster_without_a_bridge(version: str, code: str, request: pytest.FixtureRequest) -> None:
    """Before there is one; Kafka 3.9 does not coordinate the consumer protocol, and embedded is open."""
    kafka: KafkaUnderTest = request.getfixturevalue(f"kafka_{version}")
    asked = ask("--json", "--bootstrap", kafka.bootstrap, "--set", "listen=127.0.0.1:0")
    assert asked.returncode == 0, asked.stdout + asked.stderr
    assert code in severities(asked.stdout)


def test_doctor_says_who_does_not_answer() -> None:
    """No broker is a finding, no bridge a sentence; each with a code, and status 1."""
    nobody = ask("--bootstrap", "127.0.0.1:1")
    assert nobody.returncode == 1, nobody.stdout + nobody.stderr
    (line,) = [one for one in nobody.stdout.splitlines() if "EB-DOCTOR-101" in one]
    assert "no broker answers: 127.0.0.1:1: nobody listens there" in line
    no_bridge = ask("--admin", "127.0.0.1:1")
    assert (no_bridge.returncode, "EB-ADMIN-011" in no_bridge.stderr) == (1, True)
