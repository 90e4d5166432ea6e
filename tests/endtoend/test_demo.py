"""`epochbridge demo` as a user runs it: a program with an exit status, figures in a file, and no process left behind.

It must not know how the demo is built.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil
import pytest
from confluent_kafka.admin import AdminClient

from tests.support.kafka import KafkaUnderTest

DEMO = (sys.executable, "-m", "bridge", "demo", "--no-tui")
RUN_TIMEOUT_S = 720.0
SOON_S = 180.0


def run_demo(directory: Path, *words: str) -> tuple[str, Mapping[str, object]]:
    """Run it to its end; returns what it printed and the figures. Fails unless the status is 0."""
    figures = directory / "figures.json"
    command = [*DEMO, "--json", str(figures), *words]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=RUN_TIMEOUT_S, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout, json.loads(figures.read_text(encoding="utf-8"))


def check_figures(figures: Mapping[str, object], members: int) -> None:
    """What every run promises, and that it was about something."""
    assert {key: figures[key] for key in ("records_lost", "double_ownership", "members_rolled", "ok")} == {
        "records_lost": 0,
        "double_ownership": 0,
        "members_rolled": members,
        "ok": True,
    }
    assert figures["protocols_seen"] == ["classic", "consumer"]
    assert isinstance(figures["records_produced"], int)
    assert figures["records_produced"] > 1000


def children_of(process: "subprocess.Popen[str]", at_least: int) -> Sequence[psutil.Process]:
    """The processes below one, once there are so many; fails with its last words if they never come."""
    give_up = time.monotonic() + SOON_S
    while process.poll() is None and time.monotonic() < give_up:
        found = psutil.Process(process.pid).children(recursive=True)
        if len(found) >= at_least:
            return found
        time.sleep(0.1)
    process.kill()
    pytest.fail(f"never had {at_least} children; it said: {process.communicate(timeout=SOON_S)}")


def test_demo_on_the_mock_cluster_rolls_everyone_there_and_back(tmp_path: Path) -> None:
    """No Java, no broker: classic fleet, upgrade, a kill, downgrade; nothing lost, nothing owned twice."""
    told, figures = run_demo(tmp_path, "--members", "3", "--partitions", "6", "--seconds", "0")
    check_figures(figures, members=3)
    assert set(figures) == {
        "records_produced",
        "records_lost",
        "records_duplicated",
        "double_ownership",
        "rebalances",
        "members_rolled",
        "members_disturbed",
        "max_stall_ms",
        "protocols_seen",
        "ok",
    }
    assert "step 8 of 8" in told
    assert told.splitlines()[-1].startswith("OK: 3 members")


def test_demo_on_a_broker_without_the_new_protocol(tmp_path: Path) -> None:
    """Kafka 3.9 never learns that its clients speak KIP-848."""
    told, figures = run_demo(tmp_path, "--kafka", "3.9", "--members", "3", "--partitions", "6", "--seconds", "0")
    check_figures(figures, members=3)
    assert "commits match      yes" in told


def test_demo_on_a_named_cluster_leaves_no_topic_behind(kafka_43: KafkaUnderTest, tmp_path: Path) -> None:
    """Kafka 4.3 speaks KIP-848 itself, yet the group is the bridge's; the borrowed topic is deleted at the end."""
    words = ["--bootstrap", kafka_43.bootstrap, "--members", "2", "--partitions", "4", "--seconds", "0"]
    told, figures = run_demo(tmp_path, *words)
    check_figures(figures, members=2)
    assert "commits match      yes" in told
    topics = AdminClient({"bootstrap.servers": kafka_43.bootstrap}).list_topics(timeout=SOON_S).topics
    assert [topic for topic in topics if topic.startswith("epochbridge-demo")] == []


def test_demo_moves_a_live_group_and_the_bridge_leaves(tmp_path: Path) -> None:
    """A Kafka of the demo's own: nobody noticed the move, and all end as KIP-848 clients without the bridge."""
    told, figures = run_demo(tmp_path, "--move", "--members", "2", "--partitions", "4", "--seconds", "0")
    check_figures(figures, members=2)
    assert "noticed a move     0" in told
    assert "commits match      yes" in told
    assert "step 5 of 5: Nobody needs the bridge any more" in told
    last = told[told.index("step 5 of 5") :]
    assert last.count("direct") == 2
    assert "upstream" in told[told.index("step 2 of 5") : told.index("step 3 of 5")]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_demo_ended_by_a_signal_leaves_no_process(number: signal.Signals, status: int) -> None:
    """Ctrl-C in the middle: cluster, bridge, producer and members are gone, and one sentence says so."""
    with subprocess.Popen(DEMO, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        children = children_of(process, at_least=5)
        os.kill(process.pid, number)
        _, complaint = process.communicate(timeout=SOON_S)
    _, still_there = psutil.wait_procs(children, timeout=SOON_S)
    assert still_there == []
    assert process.returncode == status
    assert complaint.startswith("EB-DEMO-010: ended as asked")
    assert len(complaint.splitlines()) == 1


def test_demo_whose_bridge_dies_says_so_and_leaves_no_process(tmp_path: Path) -> None:
    """Status 1, one sentence with the bridge's last words, no traceback."""
    logs_here = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(DEMO, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=logs_here) as process:
        children = children_of(process, at_least=5)
        (bridge,) = (child for child in children if "serve" in child.cmdline())
        bridge.kill()
        _, complaint = process.communicate(timeout=SOON_S)
    _, still_there = psutil.wait_procs(children, timeout=SOON_S)
    assert still_there == []
    assert process.returncode == 1
    assert complaint.startswith(f"EB-DEMO-004: the bridge (process {bridge.pid}) ended with status -9")
    assert "Traceback" not in complaint


def test_demo_on_a_cluster_that_is_not_there_says_so(tmp_path: Path) -> None:
    """Status 1 and a sentence within seconds, not after all retries of a client library."""
    answer = subprocess.run(
        [*DEMO, "--bootstrap", "127.0.0.1:1"],
        capture_output=True,
        text=True,
        timeout=SOON_S,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert answer.returncode == 1
    assert answer.stderr.startswith("EB-DEMO-006: no Kafka answers at 127.0.0.1:1:")
    assert "librdkafka" not in answer.stderr
    assert "%3|" not in answer.stderr
