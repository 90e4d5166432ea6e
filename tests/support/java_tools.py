"""Kafka's own command line programs, many of them in one Java process, and what each of them printed."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bridge.demo.kafka_broker import KafkaTools

RUNNER = Path(__file__).parent / "java" / "Tools.java"
TIMEOUT_S = 540.0
Command = Sequence[str]
"""A class and its arguments."""


class Said(NamedTuple):
    """The exit status of a program, and both its outputs as text."""

    status: int
    text: str


def run_all(tools: KafkaTools, commands: Sequence[Command]) -> list[Said]:
    """Run them one after another and return what each said; blocks. Needs a Java that compiles (a JDK)."""
    lines = "".join("\t".join(command) + "\n" for command in commands)
    *java, _ = tools.command("")
    done = subprocess.run(
        [*java, str(RUNNER)], input=lines.encode(), capture_output=True, timeout=TIMEOUT_S, check=False
    )
    said = list(_said(done.stdout))
    assert len(said) == len(commands), f"{len(said)} of {len(commands)} programs ran: {done.stderr.decode()}"
    return said


def _said(printed: bytes) -> Sequence[Said]:
    said: list[Said] = []
    while printed:
        head, _, rest = printed.partition(b"\n")
        status, size = head.split()
        said.append(Said(int(status), rest[: int(size)].decode()))
        printed = rest[int(size) :]
    return said
