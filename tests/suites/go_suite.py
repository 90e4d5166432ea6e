"""A test suite in Go: had from the module proxy at a fixed version, built once, run and read as outcomes.

It must not know what stands at the address, nor what is made of the outcomes.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.suites.outcome import Outcomes, Place, SuiteError, call

OUTCOME = re.compile(r"^\s*--- (?P<outcome>PASS|FAIL|SKIP): (?P<test>.+) \(\d+\.\d+s\)$", re.MULTILINE)
OUTSIDE = re.compile(r"^package \w+_test$", re.MULTILINE)
"""A file of examples, which knows nothing of what stands in the package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoSuite:
    """A module, its version, the folder of a package in it, and the variables of its tests with `{address}` in them."""

    module: str
    version: str
    package: str
    variables: Mapping[str, str]
    tests: str = "."
    """Regular expression of those of its tests that want a broker."""
    left_out: str = ""
    """Regular expression of those of them that want more than one, or Docker."""
    tags: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    """What is put beside its own: path in the module -> text."""
    edits: Mapping[str, str] = field(default_factory=dict)
    """What its tests say in their text and can't be told otherwise -> what they are to say, in this order."""
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    """Modules that it imports and does not need here -> the folder of `files` that is built in their place."""
    broker: Mapping[str, str] = field(default_factory=dict)

    def build(self, directory: Path) -> "GoProgram":
        """Build its tests."""
        go = shutil.which("go")
        if go is None:
            raise SuiteError("there is no `go` on PATH: install Go 1.26 or newer, or leave this suite out")
        place = call([go, "mod", "download", "-json", f"{self.module}@{self.version}"], directory)
        source = directory / "source"
        shutil.copytree(json.loads(place)["Dir"], source)
        for path in (source, *source.rglob("*")):
            path.chmod(path.stat().st_mode | 0o200)
        adapt(self, source)
        for module, folder in self.stand_ins.items():
            call([go, "mod", "edit", f"-replace={module}={folder}"], source)
        program = source / self.package / "suite.test"
        call([go, "test", "-mod=mod", f"-tags={self.tags}", "-c", "-o", str(program), "."], program.parent)
        return GoProgram(self, program)


@dataclass(frozen=True, slots=True)
class GoProgram:
    """A suite and its tests as a program, which runs in its package's folder."""

    suite: GoSuite
    program: Path

    def run(self, place: Place, only: str | None) -> Outcomes:
        """Run it there."""
        command = [str(self.program), "-test.v", "-test.timeout=30m", f"-test.run={only or self.suite.tests}"]
        if self.suite.left_out:
            command.append(f"-test.skip={self.suite.left_out}")
        with place.log.open("wb") as output:
            subprocess.run(
                command,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.program.parent,
                env={**os.environ, **place.variables(self.suite.variables)},
                check=False,
            )
        found = outcomes(place.log.read_text(encoding="utf-8", errors="replace"))
        if not found:
            raise SuiteError(f"no test of {self.suite.module} ran against {place.address}: see {place.log}")
        return found


def adapt(suite: GoSuite, source: Path) -> None:
    """Edit the tests in a copy of the module's source, and put the suite's files beside its own."""
    for path in (source / suite.package).glob("*_test.go"):
        text = path.read_text(encoding="utf-8")
        if OUTSIDE.search(text):
            continue
        for said, meant in suite.edits.items():
            text = text.replace(said, meant)
        path.write_text(text, encoding="utf-8")
    for name, text in suite.files.items():
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")


def outcomes(log: str) -> dict[str, str]:
    """Test -> PASS, FAIL or SKIP as `go test -v` prints them, subtests under their full names."""
    return {match["test"]: match["outcome"] for match in OUTCOME.finditer(log)}
