"""A failed test leaves no consumer of librdkafka open, a passed one closes its own."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = """
import pytest
from confluent_kafka import Consumer

KEPT = []


def consumer():
    KEPT.append(Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}))


def test_passes_and_goes_on_with_it_later():
    consumer()


def test_fails():
    assert KEPT[0].assignment() == []
    consumer()
    pytest.fail("before it could close")


def test_later():
    for one in KEPT:
        with pytest.raises(RuntimeError, match="closed"):
            one.assignment()
"""


def test_consumers_of_a_failed_test_are_closed(tmp_path: Path) -> None:
    """Else the collector meets them within another test, and their destructor never ends."""
    (tmp_path / "test_a.py").write_text(TESTS, encoding="utf-8")
    words = ["-p", "no:randomly", "-p", "no:cacheprovider", "-p", "tests.support.open_consumers"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert "1 failed, 2 passed" in ran.stdout, ran
