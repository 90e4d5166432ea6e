"""The bridge in front of each real broker, started once, and the table of stories at the end of a run.

It must not know any story.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from tests.support.bridge_process import BridgeProcess, bridge_process
from tests.support.casts import Wardrobe
from tests.support.kafka import KafkaUnderTest
from tests.support.matrix import table_lines

EMBEDDED = ("embedded-*",)
"""Groups that the bridge of these tests coordinates itself; all others pass."""


def _bridge(kafka: KafkaUnderTest, factory: pytest.TempPathFactory) -> AbstractContextManager[BridgeProcess]:
    return bridge_process(kafka.bootstrap, EMBEDDED, factory.mktemp("bridge"))


@pytest.fixture(scope="session")
def bridge_39(kafka_39: KafkaUnderTest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BridgeProcess]:
    """The bridge in front of Kafka 3.9.1."""
    with _bridge(kafka_39, tmp_path_factory) as bridge:
        yield bridge


@pytest.fixture(scope="session")
def bridge_43(kafka_43: KafkaUnderTest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BridgeProcess]:
    """The bridge in front of Kafka 4.3.1."""
    with _bridge(kafka_43, tmp_path_factory) as bridge:
        yield bridge


@pytest.fixture(scope="session")
def wardrobe(tmp_path_factory: pytest.TempPathFactory) -> Wardrobe:
    """The programs of all clients."""
    return Wardrobe(tmp_path_factory.mktemp("wardrobe"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table of all stories told."""
    results = [
        (outcome, dict(report.user_properties))
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        if "story" in dict(report.user_properties)
    ]
    if results:
        terminalreporter.section("stories")
        for line in table_lines(results):
            terminalreporter.write_line(line)
