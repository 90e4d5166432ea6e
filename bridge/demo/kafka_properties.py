"""The files a one-node KRaft broker reads: server.properties and a log configuration, as text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

DEFAULT_VERSION = "4.3.1"
LOG4J2_SINCE_MAJOR = 4

LOG4J2_TEMPLATE = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.target = {target}
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{ISO8601}} %p %m (%c)%n
rootLogger.level = {level}
rootLogger.appenderRef.console.ref = console
"""

LOG4J1_TEMPLATE = """\
log4j.rootLogger={level}, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.Target={target}
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{{ISO8601}} %p %m (%c)%n
"""

Level = Literal["error", "info"]
Stream = Literal["System.err", "System.out"]
LOG4J2_TARGETS: Mapping[Stream, str] = {"System.err": "SYSTEM_ERR", "System.out": "SYSTEM_OUT"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """Which Kafka to run and how: version, node id, and server.properties entries that win over the defaults."""

    version: str = DEFAULT_VERSION
    node_id: int = 1
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerPlace:
    """Where a broker lives: its two loopback ports and its directory."""

    client_port: int
    controller_port: int
    directory: Path


def major_version(version: str) -> int:
    """Return 4 for 4.3.1."""
    return int(version.partition(".")[0])


def server_properties(settings: BrokerSettings, place: BrokerPlace) -> dict[str, str]:
    """Return all entries of server.properties: sized for one small node, overridden by the settings' own.

    The group protocol stays at the version's default (KIP-848 on from 4.0, off in 3.9). Only the wait for first joins
    is shortened from Kafka's 3 s, because a test that doesn't look at it should not pay for it.
    """
    node_id = str(settings.node_id)
    defaults = {
        "process.roles": "broker,controller",
        "node.id": node_id,
        "controller.quorum.voters": f"{node_id}@127.0.0.1:{place.controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://127.0.0.1:{place.client_port},CONTROLLER://127.0.0.1:{place.controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{place.client_port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": str(place.directory / "data"),
        "auto.create.topics.enable": "false",
        "num.partitions": "1",
        "offsets.topic.num.partitions": "5",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "5",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "5",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "200",
        "log.cleaner.dedupe.buffer.size": "2097152",
    }
    return {**defaults, **settings.properties}


def escape_property(text: str, *, key: bool) -> str:
    """Escape one key or value as java.util.Properties.store does, so that it reads back unchanged."""
    named = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f", "=": "\\=", ":": "\\:"}
    named |= {"#": "\\#", "!": "\\!"}
    leading = len(text) - len(text.lstrip(" "))
    escaped: list[str] = []
    for index, char in enumerate(text):
        if char == " ":
            escaped.append("\\ " if key or index < leading else " ")
        elif char in named:
            escaped.append(named[char])
        elif " " < char <= "~":
            escaped.append(char)
        else:
            units = char.encode("utf-16-be")
            escaped.extend(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    return "".join(escaped)


def render_properties(properties: Mapping[str, str]) -> str:
    """Return the text of a properties file, one entry a line, in the given order."""
    return "".join(
        f"{escape_property(key, key=True)}={escape_property(value, key=False)}\n" for key, value in properties.items()
    )


def render_logging(version: str, *, level: Level, stream: Stream) -> str:
    """Return the text of a log configuration: Log4j 2 for Kafka 4, reload4j (Log4j 1) for Kafka 3."""
    if major_version(version) >= LOG4J2_SINCE_MAJOR:
        return LOG4J2_TEMPLATE.format(level=level, target=LOG4J2_TARGETS[stream])
    return LOG4J1_TEMPLATE.format(level=level.upper(), target=stream)


def write_logging(version: str, path: Path, *, level: Level, stream: Stream) -> str:
    """Write a log configuration and return the -D option that makes Java read it."""
    path.write_text(render_logging(version, level=level, stream=stream), encoding="utf-8")
    if major_version(version) >= LOG4J2_SINCE_MAJOR:
        return f"-Dlog4j2.configurationFile={path}"
    return f"-Dlog4j.configuration=file:{path}"
