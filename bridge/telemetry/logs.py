"""Log lines: a glossary of keys, and two ways to write what rooms log through the standard library or structlog."""

import logging
import re
import sys
from collections.abc import MutableMapping
from enum import StrEnum
from typing import TextIO

import structlog
from structlog.types import Processor

Event = MutableMapping[str, object]

VALUE_CHARS_MAX = 300
MESSAGE_CHARS_MAX = 2_000
CODE = re.compile(r"^(EB-[A-Z]+-\d{3}): ")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class LogFormat(StrEnum):
    """How a line is written: one JSON object, or words for a terminal."""

    JSON = "json"
    CONSOLE = "console"


class LogKey(StrEnum):
    """Every key that a log line may carry besides its message; `MEANINGS` says what each holds."""

    TIMESTAMP = "timestamp"
    LEVEL = "level"
    LOGGER = "logger"
    CODE = "code"
    GROUP_ID = "group_id"
    MEMBER_ID = "member_id"
    INSTANCE_ID = "instance_id"
    CLIENT_ID = "client_id"
    CLIENT_HOST = "client_host"
    CONNECTION = "connection"
    BROKER_ID = "broker_id"
    ROAD = "road"
    API = "api"
    VERSION = "version"
    GENERATION = "generation"
    MEMBER_EPOCH = "member_epoch"
    GROUP_EPOCH = "group_epoch"
    TOPIC = "topic"
    PARTITION = "partition"
    REASON = "reason"
    ADDRESS = "address"
    DURATION_MS = "duration_ms"
    EXCEPTION = "exception"


MEANINGS: dict[LogKey, str] = {
    LogKey.TIMESTAMP: "when it was written, UTC, ISO 8601",
    LogKey.LEVEL: "debug, info, warning, error or critical",
    LogKey.LOGGER: "the room that speaks, as epochbridge.ROOM",
    LogKey.CODE: "stable code to search for, EB-ROOM-NUMBER",
    LogKey.GROUP_ID: "consumer group",
    LogKey.MEMBER_ID: "member of the group",
    LogKey.INSTANCE_ID: "group.instance.id of a static member",
    LogKey.CLIENT_ID: "client.id that the client gave",
    LogKey.CLIENT_HOST: "address the client connects from",
    LogKey.CONNECTION: "number of the client connection in this process",
    LogKey.BROKER_ID: "node id of the broker",
    LogKey.ROAD: "pass or embedded",
    LogKey.API: "Kafka api, by name or key",
    LogKey.VERSION: "version of the api",
    LogKey.GENERATION: "generation that a classic member sees",
    LogKey.MEMBER_EPOCH: "epoch of the member",
    LogKey.GROUP_EPOCH: "epoch of the group",
    LogKey.TOPIC: "topic name",
    LogKey.PARTITION: "partition number",
    LogKey.REASON: "why, in words",
    LogKey.ADDRESS: "HOST:PORT",
    LogKey.DURATION_MS: "how long it took, in milliseconds",
    LogKey.EXCEPTION: "traceback of a bug",
}
NAMING = frozenset({LogKey.GROUP_ID.value, LogKey.MEMBER_ID.value, LogKey.CLIENT_ID.value})
"""A line with one of these is about a group, member or client."""
IDENTITY = (
    *(LogKey.GROUP_ID.value, LogKey.MEMBER_ID.value, LogKey.CLIENT_ID.value, LogKey.ROAD.value),
    *(LogKey.GENERATION.value, LogKey.MEMBER_EPOCH.value, LogKey.GROUP_EPOCH.value),
)
"""What such a line says in any case."""
MESSAGE = "event"
_WRITTEN = frozenset({MESSAGE, *LogKey})


def configure_logs(log_format: LogFormat, level: str, stream: TextIO = sys.stderr) -> None:
    """Send all logging of this process to `stream`, from `level` (debug, info, warning, error) up.

    Rooms that use the standard library's `logging` and those that use structlog write the same lines.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_facts(),
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_writers(log_format, stream)],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_facts(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


def _facts() -> list[Processor]:
    return [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(allow=list(LogKey)),
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        lift_code,
        keep_glossary,
    ]


def _writers(log_format: LogFormat, stream: TextIO) -> list[Processor]:
    if log_format is LogFormat.JSON:
        return [fill_identity, structlog.processors.JSONRenderer(ensure_ascii=False)]
    return [structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback)]


def lift_code(_logger: object, _method: str, event: Event) -> Event:
    """Move the stable code from the head of a message to its own key."""
    message = str(event.get(MESSAGE, ""))
    found = CODE.match(message)
    if found:
        event[LogKey.CODE.value] = found.group(1)
        event[MESSAGE] = message[found.end() :]
    return event


def keep_glossary(_logger: object, _method: str, event: Event) -> Event:
    """Drop keys that the glossary does not name, and shorten what remains; structlog's own `_…` keys stay."""
    for key in list(event):
        if key.startswith("_"):
            continue
        if key not in _WRITTEN:
            del event[key]
        elif key != LogKey.EXCEPTION:
            event[key] = _shown(event[key], MESSAGE_CHARS_MAX if key == MESSAGE else VALUE_CHARS_MAX)
    return event


def fill_identity(_logger: object, _method: str, event: Event) -> Event:
    """Give a line about a group, member or client all the keys by which such lines are searched, null for unknown."""
    if not NAMING.isdisjoint(event):
        for key in IDENTITY:
            event.setdefault(key, None)
    return event


def _shown(value: object, chars_max: int) -> object:
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    text = CONTROL.sub(_escaped, str(value))
    return text if len(text) <= chars_max else f"{text[:chars_max]}… ({len(text)} characters)"


def _escaped(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode()
