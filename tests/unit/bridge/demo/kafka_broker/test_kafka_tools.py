"""How Kafka's programs are run."""

from dataclasses import replace
from pathlib import Path

import pytest

from bridge.demo.errors import KafkaLaunchError
from bridge.demo.kafka_broker import KafkaTools, ToolResult, find_tools
from bridge.demo.kafka_java import class_archive


def test_command_has_class_path_then_class_then_arguments(tmp_path: Path) -> None:
    """Java takes its own options before the class."""
    tools = KafkaTools(version="4.3.1", java=Path("/jre/java"), classpath="/jars/*", logging_option="-Dx=y")
    assert tools.command("a.B", "--list") == ["/jre/java", "-Xmx256m", "-Dx=y", "-cp", "/jars/*", "a.B", "--list"]
    told = replace(tools, java_options=("-XX:x",)).command("a.B")
    assert told == ["/jre/java", "-Xmx256m", "-XX:x", "-Dx=y", "-cp", "/jars/*", "a.B"]


def test_run_returns_status_and_both_outputs() -> None:
    """A program that refuses is a result, not an exception."""
    tools = KafkaTools(version="4.3.1", java=Path("/bin/sh"), classpath="-", logging_option="-")
    assert tools.run("a.B").returncode != 0
    echo = KafkaTools(version="4.3.1", java=Path("/bin/echo"), classpath="cp", logging_option="-Dx=y")
    assert echo.run("a.B") == ToolResult(returncode=0, stdout="-Xmx256m -Dx=y -cp cp a.B\n", stderr="")


def test_missing_java_is_a_sentence(tmp_path: Path) -> None:
    """EB-KAFKA-006 names the program."""
    tools = KafkaTools(version="4.3.1", java=tmp_path / "java", classpath="-", logging_option="-")
    with pytest.raises(KafkaLaunchError, match=r"^EB-KAFKA-006: a\.B did not run: "):
        tools.run("a.B")


def test_tools_use_kept_jars_and_quiet_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Log lines go to standard error and only errors, so that a tool's output is its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jars = tmp_path / "epochbridge" / "kafka" / "3.9.1"
    jars.mkdir(parents=True)
    tools = find_tools("3.9.1", directory=tmp_path / "new")
    assert (tools.version, tools.classpath, tools.java_options) == ("3.9.1", str(jars / "*"), ())
    archive = class_archive(tools.java, jars)
    archive.touch()
    assert f"-XX:SharedArchiveFile={archive}" in find_tools("3.9.1", directory=tmp_path / "new").java_options
    assert archive.parent == jars.parent
    assert "rootLogger=ERROR" in (tmp_path / "new" / "tools-log.properties").read_text(encoding="utf-8")
