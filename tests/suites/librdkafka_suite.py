"""librdkafka's own test suite: its crate brings its sources whole, which are built with its own configure and make.

It must not know what stands at the address, nor what is made of the outcomes.
"""

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, cast

from tests.suites.crate import Crate
from tests.suites.outcome import UNFINISHED, Outcomes, Place, SuiteError, call

NUMBER = re.compile(r"(?P<number>0\d{3})-(?P<subject>.+)\.c(?:pp)?")
OPTIONS: Sequence[str] = ("-p1", "-L", "-E", "-K")
"""One after another; none that wants no broker, slows sockets down or is known to fail."""
PATIENCE = "3"
"""How many times as long as on a machine of its makers."""
OUTCOMES: Mapping[str, str] = {"PASSED": "PASS", "FAILED": "FAIL", "SKIPPED": "SKIP"}
TIMEOUT_S = 900.0


class _Ended(TypedDict):
    name: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrdkafkaSuite:
    """The crate with the sources, what of its tests is left out, and their variables with `{address}` in them."""

    crate: Crate
    left_out: Mapping[str, str]
    """Number of a test -> why."""
    variables: Mapping[str, str]
    broker: Mapping[str, str] = field(default_factory=dict)

    def build(self, directory: Path) -> "LibrdkafkaProgram":
        """Build the library and its tests."""
        source = self.crate.copy(directory) / "librdkafka"
        call(["./configure", "--enable-devel", "--disable-gssapi", "--disable-curl"], source)
        call(["make", "libs"], source)
        call(["make", "-C", "tests", "build"], source)
        return LibrdkafkaProgram(self, source / "tests")


@dataclass(frozen=True, slots=True)
class LibrdkafkaProgram:
    """A suite and the folder in which its tests were built."""

    suite: LibrdkafkaSuite
    tests: Path

    def run(self, place: Place, only: str | None) -> Outcomes:
        """Run it there, each file of tests in a process of its own: one that times out takes its process with it."""
        numbers = chosen([path.name for path in self.tests.iterdir()], self.suite.left_out, only)
        configuration = place.log.with_suffix(".conf")
        words = f"bootstrap.servers={place.address}\ntest.timeout.multiplier={PATIENCE}\n"
        configuration.write_text(words, encoding="utf-8")
        variables = {**place.variables(self.suite.variables), "RDKAFKA_TEST_CONF": str(configuration)}
        found = dict[str, str]()
        with place.log.open("wb") as output:
            for number in numbers:
                report = place.log.with_suffix(f".{number}.json")
                command = ["./test-runner", *OPTIONS]
                environment = {**os.environ, **variables, "TESTS": number, "TEST_REPORT": str(report)}
                environment["LD_LIBRARY_PATH"] = "../src:../src-cpp"
                process = subprocess.Popen(
                    command, stdout=output, stderr=subprocess.STDOUT, cwd=self.tests, env=environment
                )
                _wait(process)
                text = report.read_text(encoding="utf-8") if report.exists() else ""
                found |= outcomes(number, text)
        if not found:
            raise SuiteError(f"no test of {self.suite.crate.name} ran against {place.address}: see {place.log}")
        return found


def chosen(files: Sequence[str], left_out: Mapping[str, str], only: str | None) -> Sequence[str]:
    """The numbers of the files of tests whose names match, without those that are left out."""
    named = {match["number"] for file in files if (match := NUMBER.fullmatch(file)) and re.search(only or "", file)}
    return sorted(named - set(left_out))


def outcomes(number: str, report: str) -> dict[str, str]:
    """Test -> PASS or FAIL, of those with that number; those that had nothing to do here are not in it."""
    if not report:
        return {number: UNFINISHED}
    ended = cast("Mapping[str, _Ended]", json.loads(report)["tests"])
    mine = [one for one in ended.values() if one["name"].startswith(number)]
    told = {one["name"]: OUTCOMES.get(one["state"], UNFINISHED) for one in mine}
    return {name: outcome for name, outcome in told.items() if outcome != "SKIP"}


def _wait(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
