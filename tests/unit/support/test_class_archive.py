"""The archive of Spark's classes: made once, by whole runs, and never in the way of a test."""

import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from tests.support.class_archive import (
    OPTIONS,
    SHARED_RUN,
    SHORT_LIVED,
    archive_path,
    java_options,
    provide_archive,
    run_or_end,
)

RUN = "PYTEST_XDIST_TESTRUNUID"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is to be, in a run that several processes share and that has no options for Java of its own."""
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setenv(OPTIONS, SHORT_LIVED)
    monkeypatch.setenv(SHARED_RUN, "gw0")
    return archive_path()


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Starts of Spark, by their options; each leaves its classes where it is told to."""
    told: list[str] = []

    def start(_command: object, java: str, _limit_s: float) -> None:
        told.append(java)
        Path(java.partition("ArchiveClassesAtExit=")[2].split()[0]).write_text("classes", encoding="utf-8")

    monkeypatch.setattr("tests.support.class_archive.run_or_end", start)
    return told


def test_java_is_told_of_an_archive_that_there_is(archive: Path) -> None:
    """It would start slower with the name of none."""
    assert java_options() == SHORT_LIVED
    archive.write_text("classes", encoding="utf-8")
    assert java_options().startswith(f"{SHORT_LIVED} -XX:SharedArchiveFile={archive} ")


def test_archive_is_made_once(archive: Path, starts: list[str]) -> None:
    """The next Java of this process hears of it at once; nothing else is left, nor that of another Java or Spark."""
    (archive.parent / "spark-classes-3.0-1.jsa").write_text("old", encoding="utf-8")
    provide_archive()
    assert os.environ[OPTIONS] == java_options() != SHORT_LIVED
    provide_archive()
    assert len(starts) == 1
    assert {path.name for path in archive.parent.iterdir()} == {archive.name, archive.with_suffix(".lock").name}


@pytest.mark.parametrize(("name", "value"), [(OPTIONS, "-Xmx1g"), (SHARED_RUN, None)])
def test_archive_is_for_whole_runs_without_options_of_their_own(
    archive: Path, starts: list[str], monkeypatch: pytest.MonkeyPatch, name: str, value: str | None
) -> None:
    """Who runs one test does not wait for it, and who sets options knows why."""
    if value is None:
        monkeypatch.delenv(name)
    else:
        monkeypatch.setenv(name, value)
    provide_archive()
    assert (starts, archive.exists()) == ([], False)


def test_archive_that_can_not_be_made_is_said_and_done_without(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A machine without Java is for the tests to find."""

    tries: list[str] = []

    def fail(command: list[str], _java: str, limit_s: float) -> None:
        tries.append(os.environ[RUN])
        raise subprocess.TimeoutExpired(command, limit_s)

    other = archive.parent / "spark-classes-3.0-1.jsa"
    other.write_text("of another Spark", encoding="utf-8")
    monkeypatch.setattr("tests.support.class_archive.run_or_end", fail)
    for run in ("first", "first", "second"):
        monkeypatch.setenv(RUN, run)
        provide_archive()
    assert tries == ["first", "second"], "the processes of a run don't try one after the other"
    assert os.environ[OPTIONS] == SHORT_LIVED
    assert "without an archive of its classes" in capsys.readouterr().err
    assert other.is_file()
    assert not archive.exists()


def test_archive_is_made_by_the_run_after_one_that_failed(
    archive: Path, starts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing is left of the failure."""
    monkeypatch.setenv(RUN, "second")
    archive.with_suffix(".failed").write_text("first", encoding="utf-8")
    provide_archive()
    assert len(starts) == 1
    assert {path.name for path in archive.parent.iterdir()} == {archive.name, archive.with_suffix(".lock").name}


def test_what_is_not_done_in_time_ends_with_all_that_it_started() -> None:
    """A Java whose Python had been killed went on for a minute, on a machine that was too busy already."""
    mark = uuid4().hex
    starts_another = (
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)', '{mark}'])"
    )
    with pytest.raises(subprocess.TimeoutExpired):
        run_or_end([sys.executable, "-c", starts_another], SHORT_LIVED, 2.0)
    left = [one for one in psutil.process_iter(["cmdline"]) if mark in (one.info["cmdline"] or ())]
    assert psutil.wait_procs(left, timeout=60)[1] == []


def test_program_that_fails_is_told() -> None:
    """Its status is its own."""
    with pytest.raises(subprocess.CalledProcessError, match="status 4"):
        run_or_end([sys.executable, "-c", "raise SystemExit(4)"], SHORT_LIVED, 300.0)
