"""A test suite in Go: had from the module proxy at a fixed version, built once, run and read as outcomes.

It must not know what stands at the address, nor what is made of the outcomes.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

OUTCOME = re.compile(r"^\s*--- (?P<outcome>PASS|FAIL|SKIP): (?P<test>.+) \(\d+\.\d+s\)$", re.MULTILINE)
OUTSIDE = re.compile(r"^package \w+_test$", re.MULTILINE)
"""A file of examples, which knows nothing of what stands in the package."""
UNFINISHED = "not finished"


class SuiteError(Exception):
    """The suite could not be had, built or run; the text says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoSuite:
    """A module, its version, the folder of a package in it, and the variables of its tests with `{address}` in them."""

    module: str
    version: str
    package: str
    variables: Mapping[str, str]
    tests: str = "."
    """Regular expression of those of its tests that want a broker."""
    files: Mapping[str, str] = field(default_factory=dict)
    """What is put beside its own: path in the module -> text."""
    edits: Mapping[str, str] = field(default_factory=dict)
    """What its tests say in their text and can't be told otherwise -> what they are to say, in this order."""
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    """Modules that it imports and does not need here -> the folder of `files` that is built in their place."""


FRANZ_GO = GoSuite(
    module="github.com/twmb/franz-go",
    version="v1.22.2",
    package="pkg/kgo",
    variables={
        "KGO_SEEDS": "{address}",
        "KGO_TEST_RF": "1",
        "KGO_TEST_RECORDS": "50000",
        "KGO_LOG_LEVEL": "none",
    },
)
COMPOSE = "github.com/testcontainers/testcontainers-go/modules/compose"
NO_CONTAINERS = f"""// Package compose stands in for one whose containers are not asked for: brokers are there already.
package compose

type LocalDockerCompose struct{{}}

func NewLocalDockerCompose([]string, string) *LocalDockerCompose {{ return &LocalDockerCompose{{}} }}

func (made *LocalDockerCompose) WithCommand([]string) *LocalDockerCompose {{ return made }}

func (made *LocalDockerCompose) Invoke() struct{{ Error error }} {{ panic("{COMPOSE} is not here") }}

func (made *LocalDockerCompose) Down() {{}}
"""
CONFLUENT_KAFKA_GO = GoSuite(
    module="github.com/confluentinc/confluent-kafka-go/v2",
    version="v2.11.1",
    package="kafka",
    variables={"SUITE_BROKERS": "{address}"},
    tests="^TestIntegration$",
    files={
        "kafka/testconf.json": '{"Brokers": "$SUITE_BROKERS", "TopicName": "test", "GroupID": "testgroup"}',
        "no_containers/go.mod": f"module {COMPOSE}\n\ngo 1.21\n",
        "no_containers/compose.go": NO_CONTAINERS,
    },
    stand_ins={COMPOSE: "./no_containers"},
)
"""librdkafka comes with it, built. Its containers would be Docker's whole Compose, to be built first. Two more tests of
transactions name their topics alike within a second, and fail direct as often as here.
"""
KAFKA_GO = GoSuite(
    module="github.com/segmentio/kafka-go",
    version="v0.4.51",
    package=".",
    variables={"SUITE_BROKERS": "{address}", "KAFKA_VERSION": "3.9.0"},
    files={"suite_brokers_test.go": 'package kafka\n\nimport "os"\n\nvar suiteBrokers = os.Getenv("SUITE_BROKERS")\n'},
    edits={
        'const (\n\t\ttcp   = "tcp"\n\t\tkafka = ': 'var (\n\t\ttcp   = "tcp"\n\t\tkafka = ',
        "const broker = ": "var broker = ",
        '"localhost:9092"': "suiteBrokers",
        'TCP("localhost")': "TCP(suiteBrokers)",
        'Dial("tcp", "127.0.0.1:9092")': 'Dial("tcp", suiteBrokers)',
    },
    tests="Group|Reader|Generation|Rebalance|Commit|ClientHeartbeat|ClientOffset",
)
"""Its tests know one address. The version is the newest that they know of."""
SUITES: Mapping[str, GoSuite] = {
    "franz-go": FRANZ_GO,
    "kafka-go": KAFKA_GO,
    "confluent-kafka-go": CONFLUENT_KAFKA_GO,
    "confluent-kafka-go, KIP-848": replace(
        CONFLUENT_KAFKA_GO,
        variables={**CONFLUENT_KAFKA_GO.variables, "TEST_CONSUMER_GROUP_PROTOCOL": "consumer"},
    ),
}


def build(suite: GoSuite, directory: Path) -> Path:
    """Build the tests of the suite in `directory` and return the program, which runs in its package's folder there."""
    go = shutil.which("go")
    if go is None:
        raise SuiteError("there is no `go` on PATH: install Go 1.26 or newer, or leave this suite out")
    place = _call([go, "mod", "download", "-json", f"{suite.module}@{suite.version}"], directory)
    source = directory / "source"
    shutil.copytree(json.loads(place)["Dir"], source)
    for path in (source, *source.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
    adapt(suite, source)
    for module, folder in suite.stand_ins.items():
        _call([go, "mod", "edit", f"-replace={module}={folder}"], source)
    program = source / suite.package / "suite.test"
    _call([go, "test", "-mod=mod", "-c", "-o", str(program), "."], program.parent)
    return program


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


def run(suite: GoSuite, program: Path, address: str, *, only: str | None, log: Path) -> dict[str, str]:
    """Run the tests at `address` whose names match `only`, else all; return each test's outcome."""
    variables = {name: value.format(address=address) for name, value in suite.variables.items()}
    command = [str(program), "-test.v", "-test.timeout=30m", f"-test.run={only or suite.tests}"]
    with log.open("wb") as output:
        subprocess.run(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=program.parent,
            env={**os.environ, **variables},
            check=False,
        )
    found = outcomes(log.read_text(encoding="utf-8", errors="replace"))
    if not found:
        raise SuiteError(f"no test of {suite.module} ran against {address}: see {log}")
    return found


def outcomes(log: str) -> dict[str, str]:
    """Test -> PASS, FAIL or SKIP as `go test -v` prints them, subtests under their full names."""
    return {match["test"]: match["outcome"] for match in OUTCOME.finditer(log)}


def differences(direct: Mapping[str, str], bridged: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The tests that ended otherwise through the bridge: test -> outcome direct, outcome through the bridge."""
    names = sorted({*direct, *bridged})
    pairs = {name: (direct.get(name, UNFINISHED), bridged.get(name, UNFINISHED)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _call(command: list[str], directory: Path) -> str:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SuiteError(f"`{' '.join(command)}` failed with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
