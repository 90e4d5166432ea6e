"""Which client plays a member: every library, protocol and assignor of the matrix, by name."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pytest

from bridge.demo.events import Protocol
from bridge.demo.fleet_specs import CONFLUENT, KAFKA_PYTHON, MemberSpec
from bridge.demo.kafka_broker import find_tools
from bridge.demo.kafka_properties import DEFAULT_VERSION
from tests.support.clients.programs import AIOKAFKA, java_program, kafkajs_program

BOUNCE_SESSION_MS = 20_000


class Library(StrEnum):
    """Client libraries."""

    KAFKA_PYTHON = "kafka-python"
    AIOKAFKA = "aiokafka"
    CONFLUENT = "confluent"
    JAVA = "java"
    KAFKAJS = "kafkajs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One way to be a member: `upgraded` names the kind that its seat is rolled to and back from."""

    library: Library
    assignor: str = "range"
    protocol: Protocol = Protocol.CLASSIC
    upgraded: str = "confluent-consumer"
    static: bool = True


KINDS: Mapping[str, Kind] = {
    "kafka-python-range": Kind(library=Library.KAFKA_PYTHON),
    "kafka-python-cooperative": Kind(library=Library.KAFKA_PYTHON, assignor="cooperative-sticky"),
    "aiokafka": Kind(library=Library.AIOKAFKA),
    "confluent-range": Kind(library=Library.CONFLUENT),
    "confluent-cooperative": Kind(library=Library.CONFLUENT, assignor="cooperative-sticky"),
    "confluent-consumer": Kind(library=Library.CONFLUENT, protocol=Protocol.CONSUMER),
    "java-default": Kind(library=Library.JAVA, assignor="default", upgraded="java-consumer"),
    "java-cooperative": Kind(library=Library.JAVA, assignor="cooperative-sticky", upgraded="java-consumer"),
    "java-consumer": Kind(library=Library.JAVA, protocol=Protocol.CONSUMER, upgraded="java-consumer"),
    "kafkajs": Kind(library=Library.KAFKAJS, assignor="roundrobin", static=False),
}
"""By the names that tests and the matrix show."""

CASTS: Mapping[str, tuple[str, ...]] = {
    **{name: (name,) for name in KINDS},
    "mixed-python": ("kafka-python-range", "confluent-cooperative", "aiokafka", "confluent-consumer"),
    "mixed-java": ("java-default", "confluent-range", "java-cooperative", "kafka-python-cooperative"),
}
"""Who plays seats 1, 2, 3, … of a story, over and over."""


class Wardrobe:
    """Gets programs ready: Java's class path and kafkajs are found or installed once, when first asked for."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._programs: dict[Library, tuple[str, ...]] = {
            Library.KAFKA_PYTHON: KAFKA_PYTHON,
            Library.AIOKAFKA: AIOKAFKA,
            Library.CONFLUENT: CONFLUENT,
        }

    def spec(self, seat: str, kind: str, session_timeout_ms: int, *, static: bool = False) -> MemberSpec:
        """The member in a seat; a static one has a session long enough to be started anew in. May block."""
        chosen = KINDS[kind]
        return MemberSpec(
            seat=seat,
            program=self._program(chosen.library),
            protocol=chosen.protocol,
            assignor=chosen.assignor,
            instance_id=seat if static else None,
            session_timeout_ms=BOUNCE_SESSION_MS if static else session_timeout_ms,
        )

    def _program(self, library: Library) -> tuple[str, ...]:
        if library not in self._programs:
            self._programs[library] = self._java() if library is Library.JAVA else self._kafkajs()
        return self._programs[library]

    def _java(self) -> tuple[str, ...]:
        tools = find_tools(DEFAULT_VERSION, directory=self._directory)
        return java_program(tools.java, tools.classpath, tools.version)

    def _kafkajs(self) -> tuple[str, ...]:
        if shutil.which("node") is None or shutil.which("npm") is None:
            pytest.fail("kafkajs needs node and npm on PATH: install Node.js 20 or newer, or run without --matrix=all")
        return kafkajs_program(self._directory)
