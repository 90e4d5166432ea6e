"""What a broker is told in its files."""

from pathlib import Path

import pytest

from bridge.demo.kafka_properties import (
    BrokerPlace,
    BrokerSettings,
    major_version,
    render_logging,
    render_properties,
    server_properties,
    write_logging,
)

PLACE = BrokerPlace(client_port=20001, controller_port=20002, directory=Path("/data/node"))


def test_node_and_ports_reach_every_entry_that_names_them() -> None:
    """KRaft: the voter's id, the listeners and the advertised address agree."""
    properties = server_properties(BrokerSettings(node_id=7), PLACE)
    assert {
        "node.id": "7",
        "controller.quorum.voters": "7@127.0.0.1:20002",
        "listeners": "PLAINTEXT://127.0.0.1:20001,CONTROLLER://127.0.0.1:20002",
        "advertised.listeners": "PLAINTEXT://127.0.0.1:20001",
        "log.dirs": "/data/node/data",
    }.items() <= properties.items()


def test_settings_win_over_defaults() -> None:
    """A test that measures Kafka's own delay sets it back."""
    settings = BrokerSettings(properties={"group.initial.rebalance.delay.ms": "3000", "extra": "1"})
    properties = server_properties(settings, PLACE)
    assert (properties["group.initial.rebalance.delay.ms"], properties["extra"]) == ("3000", "1")


@pytest.mark.parametrize("version", ["3.9.1", "4.3.1"])
def test_group_protocol_stays_at_the_versions_default(version: str) -> None:
    """3.9 keeps KIP-848 off and 4.x has it on, by their own defaults."""
    properties = server_properties(BrokerSettings(version=version), PLACE)
    assert not [name for name in properties if "protocol" in name and "security" not in name]


def test_properties_are_escaped_as_java_reads_them() -> None:
    """java.util.Properties: separators and comment marks in keys and values, leading blanks, non-ASCII as UTF-16."""
    text = render_properties({"a b": " x:y", "#k": "C:\\d\n", "e": "é😀"})
    assert text == "a\\ b=\\ x\\:y\n\\#k=C\\:\\\\d\\n\ne=\\u00e9\\ud83d\\ude00\n"


@pytest.mark.parametrize(("version", "major"), [("4.3.1", 4), ("3.9.1", 3), ("10.0.0", 10)])
def test_major_version_is_the_first_number(version: str, major: int) -> None:
    """It decides which logging backend a version has."""
    assert major_version(version) == major


def test_kafka_4_logs_by_log4j2_and_kafka_3_by_log4j1() -> None:
    """KAFKA-9366: Kafka 4.0 moved to Log4j 2."""
    assert "appender.console.target = SYSTEM_ERR\n" in render_logging("4.3.1", level="error", stream="System.err")
    assert "log4j.rootLogger=INFO, console\n" in render_logging("3.9.1", level="info", stream="System.out")


def test_written_log_settings_are_named_to_java(tmp_path: Path) -> None:
    """Each backend has its own option."""
    path = tmp_path / "log.properties"
    assert write_logging("4.3.1", path, level="info", stream="System.out") == f"-Dlog4j2.configurationFile={path}"
    assert write_logging("3.9.1", path, level="info", stream="System.out") == f"-Dlog4j.configuration=file:{path}"
    assert path.read_text(encoding="utf-8") == render_logging("3.9.1", level="info", stream="System.out")
