"""The mock cluster's program: it serves what it says, and ends with its input. It must not know the bridge."""

import subprocess
import sys

from confluent_kafka.admin import AdminClient

PROGRAM = (sys.executable, "-m", "bridge.demo.mock_cluster", "--topic", "orders", "--partitions", "5")


def test_program_serves_the_topic_until_its_input_ends() -> None:
    """Its first line is the address; closing its input ends it with status 0, so it outlives nobody."""
    with subprocess.Popen(PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        bootstrap = process.stdout.readline().strip()
        metadata = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=60)
        process.communicate(timeout=60)
    assert len(metadata.brokers) == 3
    assert sorted(metadata.topics["orders"].partitions) == [0, 1, 2, 3, 4]
    assert process.returncode == 0


def test_program_that_cannot_start_says_why() -> None:
    """No traceback, a sentence with a code."""
    answer = subprocess.run([*PROGRAM, "--topic", "orders"], capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 1
    assert answer.stderr.splitlines()[-1].startswith("EB-DEMO-002: the mock cluster refused topic 'orders'")
    assert "Traceback" not in answer.stderr
