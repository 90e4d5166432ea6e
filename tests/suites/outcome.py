"""What every suite is to those that run it: it is built, it runs at an address, and its tests end in some way.

It must not know which suites there are, nor in which language one is written.
"""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

UNFINISHED = "not finished"
Outcomes = Mapping[str, str]
"""Test -> PASS, FAIL, SKIP, or that it did not finish; a test that belongs to another has its name before a slash."""


class SuiteError(Exception):
    """The suite could not be had, built or run; the text says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a suite runs: an address that leads to a Kafka of a version, and the file that gets what the tests say."""

    address: str
    version: str
    log: Path

    def variables(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Each variable with what `{address}` and `{version}` stand for."""
        return {name: text.format(address=self.address, version=self.version) for name, text in texts.items()}


class Program(Protocol):
    """A suite that was built."""

    def run(self, place: Place, only: str | None) -> Outcomes:
        """Run the tests there whose names match the regular expression, else all of the suite."""
        ...


class Suite(Protocol):
    """A suite that can be built."""

    @property
    def broker(self) -> Mapping[str, str]:
        """What the broker's server.properties must say beside what all suites want."""
        ...

    def build(self, directory: Path) -> Program:
        """Fetch it, and build it in a folder of that directory."""
        ...


def differences(direct: Outcomes, bridged: Outcomes) -> dict[str, tuple[str, str]]:
    """The tests that ended otherwise through the bridge: test -> outcome direct, outcome through the bridge."""
    names = sorted({*direct, *bridged})
    pairs = {name: (direct.get(name, UNFINISHED), bridged.get(name, UNFINISHED)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def call(command: Sequence[str], directory: Path) -> str:
    """Run a step of a build there and return what it printed."""
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SuiteError(f"`{' '.join(command)}` failed with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
