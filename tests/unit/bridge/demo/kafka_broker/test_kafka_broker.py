"""The broker's life as a process, with a shell script in Java's place; tests/endtoend runs the real one."""

import base64
from pathlib import Path

import pytest

from bridge.demo.errors import KafkaLaunchError
from bridge.demo.kafka_broker import KafkaBroker, KafkaTools, free_ports, fresh_cluster_id
from bridge.demo.kafka_properties import BrokerPlace, BrokerSettings


def make_broker(directory: Path, script: str) -> KafkaBroker:
    """Return a broker whose Java is a shell script."""
    java = directory / "java"
    java.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    java.chmod(0o755)
    client_port, controller_port = free_ports(2)
    place = BrokerPlace(client_port=client_port, controller_port=controller_port, directory=directory)
    tools = KafkaTools(version="4.3.1", java=java, classpath="-", logging_option="-")
    return KafkaBroker(BrokerSettings(), place, tools)


def test_cluster_id_is_a_uuid_without_leading_dash() -> None:
    """org.apache.kafka.common.Uuid: 22 characters, and a command line takes no leading dash."""
    ids = {fresh_cluster_id() for _ in range(300)}
    assert len(ids) == 300
    assert not [one for one in ids if one.startswith("-")]
    assert {len(base64.urlsafe_b64decode(f"{one}==")) for one in ids} == {16}


def test_files_are_written_before_start(tmp_path: Path) -> None:
    """server.properties names the port that bootstrap names."""
    broker = make_broker(tmp_path, "exit 0")
    port = broker.bootstrap.partition(":")[2]
    text = (tmp_path / "server.properties").read_text(encoding="utf-8")
    assert f"advertised.listeners=PLAINTEXT\\://127.0.0.1\\:{port}\n" in text


def test_refused_format_is_a_sentence(tmp_path: Path) -> None:
    """EB-KAFKA-005 carries the words of StorageTool."""
    broker = make_broker(tmp_path, "echo bad entry; exit 1")
    with pytest.raises(KafkaLaunchError, match=r"(?s)^EB-KAFKA-005: .*bad entry"):
        broker.format()


def test_end_at_start_is_a_sentence_with_the_log(tmp_path: Path) -> None:
    """EB-KAFKA-007: status and the last lines; afterwards nothing runs."""
    broker = make_broker(tmp_path, "echo out of luck; exit 4")
    with pytest.raises(KafkaLaunchError, match=r"(?s)^EB-KAFKA-007: .*status 4.*out of luck"):
        broker.start()
    assert broker.pid is None
    assert broker.log_tail() == "out of luck"


def test_silent_broker_is_given_up_and_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """EB-KAFKA-008, and no process is left behind."""
    monkeypatch.setattr("bridge.demo.kafka_broker.READY_TIMEOUT_S", 0.3)
    broker = make_broker(tmp_path, "echo $$ > pid; exec sleep 60")
    with pytest.raises(KafkaLaunchError, match=r"^EB-KAFKA-008: .*within 0 s"):
        broker.start()
    assert broker.pid is None
    assert not Path("/proc", (tmp_path / "pid").read_text(encoding="utf-8").strip()).exists()


def test_stop_before_start_does_nothing(tmp_path: Path) -> None:
    """Also twice, and kill likewise."""
    broker = make_broker(tmp_path, "exit 0")
    broker.stop()
    broker.kill()
    assert (broker.pid, broker.log_tail()) == (None, "")
