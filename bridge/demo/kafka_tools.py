"""Kafka's own command line programs, run by their class with the jars of one version.

It knows Java's command line, and must not know which cluster a program talks to.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from bridge.demo.kafka_jars import kafka_jars
from bridge.demo.kafka_java import find_java
from bridge.demo.kafka_launch_error import KafkaLaunchError
from bridge.demo.kafka_properties import write_logging

TOOL_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a program left: exit status and both outputs as text."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaTools:
    """How to run one version's programs: the Java executable, the class path, the option that quiets logging."""

    version: str
    java: Path
    classpath: str
    logging_option: str

    def command(self, class_name: str, *arguments: str) -> list[str]:
        """Return the command line, for callers that keep the program running (VerifiableConsumer)."""
        return [str(self.java), "-Xmx256m", self.logging_option, "-cp", self.classpath, class_name, *arguments]

    def run(self, class_name: str, *arguments: str) -> ToolResult:
        """Run a program to its end; raise KafkaLaunchError (EB-KAFKA-006) if it doesn't run or takes over 120 s."""
        command = self.command(class_name, *arguments)
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as fault:
            raise KafkaLaunchError(f"EB-KAFKA-006: {class_name} did not run: {fault}") from fault
        return ToolResult(returncode=answer.returncode, stdout=answer.stdout, stderr=answer.stderr)


def find_tools(version: str, *, directory: Path) -> KafkaTools:
    """Return the programs of this version, fetching its jars if need be; their log settings go into `directory`."""
    java = find_java()
    jars = kafka_jars(version)
    directory.mkdir(parents=True, exist_ok=True)
    option = write_logging(version, directory / "tools-log.properties", level="error", stream="System.err")
    return KafkaTools(version=version, java=java, classpath=str(jars / "*"), logging_option=option)
