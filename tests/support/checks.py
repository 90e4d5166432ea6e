"""What is checked beside the tests of a whole run (`--checks`): types, style, contracts, spelling, change notes.

They take one core for a minute, and tests that wait for brokers and clients leave that over. What they say comes at the
end of the run, which is red where one of them fails. Which they are says the tox environment `lint`.
"""

import os
import subprocess
import sys
import threading
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, cast

import pytest

LIMIT_S = 1_200.0
"""A check that hangs; where two workers are busy, the type check takes minutes."""
NICENESS = 10
"""Tests come first: what they wait for has deadlines."""
BOUND = """
import ctypes, os, signal, sys
DIES_WITH_PARENT = 1
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(sys.argv[1]):
        raise SystemExit("the run is over")
os.nice(int(sys.argv[2]))
os.execvp(sys.argv[3], sys.argv[3:])
"""
"""Becomes a check that the kernel ends with the run, however that ends: tox kills one that is interrupted within a
second, and a type check that outlives it takes a core from the next.
"""
TESTS = "pytest"
Command = Sequence[str]


class _Environment(TypedDict):
    commands: Sequence[Command]


@dataclass(frozen=True, slots=True)
class Found:
    """What a check that failed has said."""

    command: str
    words: str


def checks_of(environments: Path) -> Sequence[Command]:
    """The commands of the environment `lint` in a file of tox, but for its tests."""
    told = tomllib.loads(environments.read_text(encoding="utf-8"))
    lint = cast("_Environment", told["env"]["lint"])
    return [command for command in lint["commands"] if command[0] != TESTS]


def run_check(command: Command, directory: Path) -> Found | None:
    """What is wrong, None if nothing is. Blocks."""
    beside = Path(sys.executable).with_name(command[0])
    program = str(beside) if beside.exists() else command[0]
    name = " ".join(command)
    bound = [sys.executable, "-c", BOUND, str(os.getpid()), str(NICENESS)]
    try:
        ran = subprocess.run(
            [*bound, program, *command[1:]],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return Found(name, str(problem))
    return None if ran.returncode == 0 else Found(name, f"{ran.stdout.rstrip()}\n(exit status {ran.returncode})")


class Checks:
    """The checks of one run, one after another in a thread of the process that controls the tests."""

    def __init__(self, commands: Sequence[Command], directory: Path) -> None:
        self._commands = commands
        self._directory = directory
        self._found: list[Found] = []
        self._count = 0
        self._thread = threading.Thread(target=self._run, name="checks", daemon=True)

    def _run(self) -> None:
        for command in self._commands:
            if found := run_check(command, self._directory):
                self._found.append(found)
                print(f"\n{found.command} fails; what it says comes at the end.", file=sys.stderr, flush=True)
            self._count += 1

    def pytest_sessionstart(self) -> None:
        """Begin before tests are collected."""
        self._thread.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Wait for those that still run, unless somebody has ended the run; one that failed fails it."""
        if exitstatus == pytest.ExitCode.INTERRUPTED:
            return
        self._thread.join()
        is_green = exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
        if is_green and (self._found or self._count < len(self._commands)):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say which passed, and of the others what they said."""
        terminalreporter.section("checks beside the tests")
        for found in self._found:
            terminalreporter.write_line(f"{found.command}:", red=True)
            terminalreporter.write_line(found.words)
        passed = self._count - len(self._found)
        terminalreporter.write_line(f"{passed} of {len(self._commands)} checks passed")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --checks."""
    parser.addoption("--checks", action="store_true", help="check types, style, contracts and spelling meanwhile")


def pytest_configure(config: pytest.Config) -> None:
    """Only the process that controls a run checks."""
    if config.getoption("--checks") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Checks(checks_of(config.rootpath / "tox.toml"), config.rootpath), "checks")
