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
from tests.support.clients.programs import AIOKAFKA, go_programs, java_program, kafkajs_program

BOUNCE_SESSION_MS = 20_000


class Library(StrEnum):
    """Client libraries."""

    KAFKA_PYTHON = "kafka-python"
    AIOKAFKA = "aiokafka"
    CONFLUENT = "confluent"
    JAVA = "java"
    KAFKAJS = "kafkajs"
    FRANZ_GO = "franz-go"
    SARAMA = "sarama"


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

GO_KINDS: Mapping[str, Kind] = {
    "franz-go": Kind(library=Library.FRANZ_GO),
    "franz-go-cooperative": Kind(library=Library.FRANZ_GO, assignor="cooperative-sticky"),
    "sarama": Kind(library=Library.SARAMA),
    "sarama-sticky": Kind(library=Library.SARAMA, assignor="sticky"),
}
"""Who plays where groups are moved: they are built first, so the stories do without them."""

CASTS: Mapping[str, tuple[str, ...]] = {
    **{name: (name,) for name in KINDS},
    "mixed-python": ("kafka-python-range", "confluent-cooperative", "aiokafka", "confluent-consumer"),
    "mixed-java": ("java-default", "confluent-range", "java-cooperative", "kafka-python-cooperative"),
}
"""Who plays seats 1, 2, 3, … of a story, over and over."""


class Wardrobe:
    """Gets programs ready: Java's class path is found, kafkajs installed and Go's built once, when first asked for."""

    def __init__(self, directory: Path) -> None:
        self.least_session_ms = 0
        """No member has a shorter session: on a busy machine a broker may take longer to start than most live."""
        self._directory = directory
        self._programs: dict[Library, tuple[str, ...]] = {
            Library.KAFKA_PYTHON: KAFKA_PYTHON,
            Library.AIOKAFKA: AIOKAFKA,
            Library.CONFLUENT: CONFLUENT,
        }

    def spec(self, seat: str, kind: str, session_timeout_ms: int, *, static: bool = False) -> MemberSpec:
        """The member in a seat; a static one has a session long enough to be started anew in. May block."""
        chosen = KINDS[kind] if kind in KINDS else GO_KINDS[kind]
        return MemberSpec(
            seat=seat,
            program=self._program(chosen.library),
            protocol=chosen.protocol,
            assignor=chosen.assignor,
            instance_id=seat if static else None,
            session_timeout_ms=max(self.least_session_ms, BOUNCE_SESSION_MS if static else session_timeout_ms),
        )

    def _program(self, library: Library) -> tuple[str, ...]:
        if library not in self._programs:
            match library:
                case Library.JAVA:
                    self._programs[library] = self._java()
                case Library.FRANZ_GO | Library.SARAMA:
                    self._programs |= self._go()
                case _:
                    self._programs[library] = self._kafkajs()
        return self._programs[library]

    def _java(self) -> tuple[str, ...]:
        tools = find_tools(DEFAULT_VERSION, directory=self._directory)
        return java_program(tools.java, tools.classpath, tools.version)

    def _go(self) -> Mapping[Library, tuple[str, ...]]:
        if shutil.which("go") is None:
            pytest.fail("franz-go and sarama need go on PATH: install Go 1.26 or newer, or leave their fleets out")
        built = go_programs(self._directory)
        return {Library.FRANZ_GO: (str(built / "franz"),), Library.SARAMA: (str(built / "sarama"),)}

    def _kafkajs(self) -> tuple[str, ...]:
        if shutil.which("node") is None or shutil.which("npm") is None:
            pytest.fail("kafkajs needs node and npm on PATH: install Node.js 20 or newer, or run without --matrix=all")
        return kafkajs_program(self._directory)
