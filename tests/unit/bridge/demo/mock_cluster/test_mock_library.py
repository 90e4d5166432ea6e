"""librdkafka's mock cluster through ctypes, in a child process because the library may abort its own.
It must not know what the demo uses it for.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from bridge.demo import mock_cluster
from bridge.demo.errors import DemoError
from bridge.demo.mock_cluster import library_path

REFUSED_TOPIC = """
from bridge.demo.mock_cluster import MockCluster
cluster = MockCluster(2)
assert len(cluster.bootstrap.split(",")) == 2, cluster.bootstrap
cluster.create_topic("orders", 5)
cluster.create_topic("orders", 5)
"""


def test_library_is_found_in_the_wheel() -> None:
    """The path is a file that exists."""
    assert Path(library_path()).is_file()


def test_missing_library_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without confluent-kafka gets a sentence, with a code and what to install."""
    monkeypatch.setattr(mock_cluster, "files", lambda _: None)
    monkeypatch.setattr(mock_cluster, "find_library", lambda _: None)
    with pytest.raises(DemoError, match=r"EB-DEMO-001.*pip install"):
        library_path()


def test_topic_made_twice_is_refused_by_name() -> None:
    """What librdkafka refuses is an error, never ignored; the cluster before it stood."""
    answer = subprocess.run(
        [sys.executable, "-c", REFUSED_TOPIC], capture_output=True, text=True, timeout=60, check=False
    )
    assert answer.returncode == 1
    assert "EB-DEMO-002: the mock cluster refused topic 'orders' with 5 partitions" in answer.stderr
