"""A test suite in Rust: had as a crate at a fixed version, built once, run and read as outcomes.

It must not know what stands at the address, nor what is made of the outcomes.
"""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.suites.crate import Crate, cargo
from tests.suites.outcome import Outcomes, Place, SuiteError, call

RUNNING = re.compile(r"Running tests/(?P<file>\w+)\.rs ")
ENDED = re.compile(r"^test (?P<test>[\w:]+) \.\.\. (?P<outcome>ok|FAILED|ignored)$")
OUTCOMES: Mapping[str, str] = {"ok": "PASS", "FAILED": "FAIL", "ignored": "SKIP"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RustSuite:
    """A crate, and the variables of its tests with `{address}` in them."""

    crate: Crate
    variables: Mapping[str, str]
    broker: Mapping[str, str] = field(default_factory=dict)

    def build(self, directory: Path) -> "RustProgram":
        """Build its tests."""
        source = self.crate.copy(directory)
        call([cargo(), "test", "--tests", "--no-run"], source)
        return RustProgram(self, source)


@dataclass(frozen=True, slots=True)
class RustProgram:
    """A suite and the folder in which its tests were built."""

    suite: RustSuite
    source: Path

    def run(self, place: Place, only: str | None) -> Outcomes:
        """Run it there, one test after another."""
        command = [cargo(), "test", "--test", "*", "--no-fail-fast", "--", "--test-threads=1"]
        with place.log.open("wb") as output:
            subprocess.run(
                command,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.source,
                env={**os.environ, **place.variables(self.suite.variables)},
                check=False,
            )
        found = outcomes(place.log.read_text(encoding="utf-8", errors="replace"))
        if not found:
            raise SuiteError(f"no test of {self.suite.crate.name} ran against {place.address}: see {place.log}")
        return {test: outcome for test, outcome in found.items() if re.search(only or "", test)}


def outcomes(log: str) -> dict[str, str]:
    """File and test -> PASS, FAIL or SKIP as `cargo test` prints them."""
    found, file = dict[str, str](), ""
    for line in log.splitlines():
        if running := RUNNING.search(line):
            file = running["file"]
        elif ended := ENDED.match(line):
            found[f"{file}::{ended['test']}"] = OUTCOMES[ended["outcome"]]
    return found
