"""Tests that hang end, each by itself, and so does a run: seen in runs of their own, of small test files."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

PATIENCE_S = 200.0
"""How long a run of a few tests may take on a machine that has other things to do, before it hangs itself."""
LETS_GO_S = 20.0
"""How long the system may take, on such a machine, to be done with a process that was ended."""
PREAMBLE = """
import subprocess, sys, time
from pathlib import Path

import pytest
import trio


def sleeper() -> subprocess.Popen[bytes]:
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1_000)"])
    with Path("started").open("a") as file:
        file.write(f"{program.pid}\\n")
    return program


def test_sound() -> None:
    pass
"""
CONFTEST = """
from pathlib import Path
from time import monotonic, sleep

import tests.support.time_limits as limits

pytest_plugins = ["tests.support.time_limits", "tests.support.work_units"]
limits.TEARDOWN_S = limits.GRACE_S = 4.0
limits.REPORT_S = 1.0


def pytest_addoption(parser):
    parser.addini("run_limit_s", "", default="0")
"""
WHEN_BEGUN = """

def pytest_configure(config):
    global found
    found = None if hasattr(config, "workerinput") or not config.option.numprocesses else config.stash[limits.LIMITS]


def pytest_runtest_logstart(nodeid):
    if found is not None and "endless" in nodeid:
        while not Path("started").exists():
            sleep(0.05)
        found.bound_run(monotonic())
"""
"""What controls the workers finds its time over when the test has begun; where the test is run it says so itself."""


class Ran(NamedTuple):
    """What a run of tests came to."""

    status: int
    out: str
    err: str
    left: list[int]
    """Processes that its tests started and that are still there."""


def run(folder: Path, *words: str, conftest: str = CONFTEST, **files: str) -> Ran:
    """Run files of tests, each with the preamble, in a process of its own."""
    (folder / "conftest.py").write_text(conftest, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\ntrio_mode = true\n", encoding="utf-8")
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(PREAMBLE + text, encoding="utf-8")
    root = Path(__file__).parents[3]
    # With CI in its environment pytest repeats a failure's whole message in its summary, and counts would differ.
    left_out = ("PYTEST", "COV", "CI", "BUILD_NUMBER")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(left_out)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:randomly", "-p", "no:cacheprovider", *words],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    started = folder / "started"
    pids = [int(line) for line in started.read_text(encoding="utf-8").split()] if started.exists() else []
    return Ran(done.returncode, done.stdout, done.stderr, left_of(pids))


def left_of(pids: list[int]) -> list[int]:
    """Those that are still there when the system has had its time: whom nobody waits for is gone a little later."""
    programs: list[psutil.Process] = []
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            programs.append(psutil.Process(pid))
    return [one.pid for one in psutil.wait_procs(programs, timeout=LETS_GO_S)[1]]


def counts(out: str) -> dict[str, int]:
    """How many tests passed and failed, by the last line."""
    return {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", out.splitlines()[-1])}


def test_test_that_hangs_fails_and_says_where(tmp_path: Path) -> None:
    """Neither a shielded scope nor a program that is waited for keeps it; those after it are run."""
    hung = """
async def test_shielded() -> None:
    with trio.CancelScope(shield=True):
        await trio.sleep_forever()


def test_waits() -> None:
    with sleeper() as program:
        try:
            program.wait()
        finally:
            program.kill()
"""
    ran = run(tmp_path, "--timeout=4", "-o", "timeout_func_only=true", a=hung, b="")
    assert (ran.status, counts(ran.out), ran.left) == (1, {"passed": 2, "failed": 2}, []), ran
    assert "test_a.py::test_shielded has not ended within 4 s. Where process" in ran.err
    assert re.search(r"in test_shielded\n", ran.err), ran.err
    assert re.search(r"in test_waits\n", ran.err), ran.err


HOLDS_ON = """
def test_holds_on() -> None:
    program = sleeper()
    while True:
        try:
            program.wait()
        except BaseException:
            pass


@pytest.fixture
def endless():
    yield
    time.sleep(1_000)


def test_torn_down(endless) -> None:
    pass


def test_after_them() -> None:
    pass
"""


def test_process_that_does_not_let_go_is_ended_and_its_test_has_failed_once(tmp_path: Path) -> None:
    """What the process had started is ended with it; another one runs the rest, and not that test again."""
    ran = run(tmp_path, "-n", "2", "--timeout=4", "-o", "timeout_func_only=true", a=HOLDS_ON, b="")
    assert (ran.status, ran.left) == (1, []), ran
    # The test with the endless fixture has passed before its process ended.
    assert counts(ran.out) == {"passed": 4, "failed": 2}, ran
    assert ran.out.count("crashed while running 'test_a.py::test_holds_on'") == 1
    assert "test_a.py::test_holds_on has not ended within 4 s, nor in 4 s after pytest-timeout raised in it" in ran.err
    assert "The teardown of test_a.py::test_torn_down has not ended within 4 s" in ran.err


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_run_that_is_too_long_ends_red_and_names_what_was_going_on(tmp_path: Path, workers: tuple[str, ...]) -> None:
    """Nothing of it is left."""
    hung = """
from tests.support.time_limits import LIMITS


def test_endless(pytestconfig) -> None:
    program = sleeper()
    pytestconfig.stash[LIMITS].bound_run(time.monotonic())
    try:
        program.wait()
    finally:
        program.kill()
"""
    ran = run(tmp_path, *workers, conftest=CONFTEST + WHEN_BEGUN, a=hung)
    assert ran.status != 0
    assert ran.left == []
    assert "The run has not ended in time (run_limit_s); in progress: test_a.py::test_endless (for " in ran.err
    assert re.search(r"in test_endless\n", ran.err), ran.err


def test_limit_of_the_run_is_there_and_leaves_a_run_in_time_alone(tmp_path: Path) -> None:
    """Workers are told by what controls them."""
    text = """
from tests.support.time_limits import LIMITS


def test_told(pytestconfig) -> None:
    assert time.monotonic() < pytestconfig.stash[LIMITS].deadline_s <= time.monotonic() + 1_000
"""
    ran = run(tmp_path, "-n", "2", "-o", "run_limit_s=1000", a=text)
    assert (ran.status, counts(ran.out)) == (0, {"passed": 2}), ran


def test_failure_is_named_when_it_happens(tmp_path: Path) -> None:
    """A run that its machine ends, or that is ended by its own limit, has no summary; once, whoever ran the test."""
    text = """
def test_wrong() -> None:
    raise ValueError("three\\nlines\\nhere")


@pytest.fixture
def unsound():
    raise LookupError("no broker")


def test_unprepared(unsound) -> None:
    pass
"""
    for workers in ((), ("-n", "2")):
        ran = run(tmp_path, *workers, a=text)
        named = [line for line in ran.err.splitlines() if "failed" in line]
        assert sorted(named) == [
            "test_a.py::test_unprepared failed (setup): LookupError: no broker",
            "test_a.py::test_wrong failed (call): ValueError: three",
        ], ran


def test_each_fixture_has_its_time(tmp_path: Path) -> None:
    """Two that fetch a Kafka each take twice as long as one on a slow line; a test's own are within the test's time."""
    text = """
from tests.support.time_limits import LIMITS


def limit(config):
    return config.stash[LIMITS].limit_of("fixtures")


@pytest.fixture
def first(pytestconfig):
    return limit(pytestconfig)


@pytest.fixture
def second(first, pytestconfig):
    return limit(pytestconfig)


def test_two(first, second) -> None:
    assert first.at_s < second.at_s
    assert second.words.endswith("in second")


def test_own(request, pytestconfig) -> None:
    assert request.getfixturevalue("first") is limit(pytestconfig) is None
"""
    ran = run(tmp_path, a=text)
    assert (ran.status, counts(ran.out)) == (0, {"passed": 3}), ran
