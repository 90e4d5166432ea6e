"""Log lines: one glossary of keys, two ways to write them, and everything that rooms log through the standard library.

It must not know payloads or secrets: keys that the glossary does not name are not written.
"""

import json
import logging
import re
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import TextIO

Event = dict[str, object]
Write = Callable[[Event], str]

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
MESSAGE = "event"
_OWN = frozenset({LogKey.TIMESTAMP, LogKey.LEVEL, LogKey.LOGGER, LogKey.EXCEPTION})
_FREE = frozenset(LogKey) - _OWN
"""The keys that who logs gives as `extra`; any other is not written."""
_WHOLE = frozenset({LogKey.TIMESTAMP, LogKey.EXCEPTION})
COLUMNS = (LogKey.TIMESTAMP, LogKey.LEVEL, MESSAGE, LogKey.LOGGER)
LEVEL_CHARS, MESSAGE_CHARS = 9, 30
QUOTED = frozenset(" \t=\r\n\"'")
RESET = "reset"
COLOURS: Mapping[str, str] = {
    RESET: "\x1b[0m",
    "bold": "\x1b[1m",
    "dim": "\x1b[2m",
    "blue": "\x1b[34m",
    "magenta": "\x1b[35m",
    "cyan": "\x1b[36m",
    "debug": "\x1b[32m\x1b[1m",
    "info": "\x1b[32m\x1b[1m",
    "warning": "\x1b[33m\x1b[1m",
    "error": "\x1b[31m\x1b[1m",
    "critical": "\x1b[31m\x1b[1m",
}
"""How a terminal is told to show each level and each part of a line."""
PLAIN: Mapping[str, str] = dict.fromkeys(COLOURS, "")


class Lines(logging.Formatter):
    """Makes one line of a record, with `write` for the form."""

    def __init__(self, write: Write) -> None:
        super().__init__()
        self._write = write

    def format(self, record: logging.LogRecord) -> str:
        """The line, or several for a traceback on a terminal."""
        event: Event = {
            MESSAGE: record.getMessage(),
            LogKey.LEVEL: record.levelname.lower(),
            LogKey.LOGGER: record.name,
        }
        event |= {key: value for key, value in vars(record).items() if key in _FREE}
        event[LogKey.TIMESTAMP] = datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z")
        if record.exc_info:
            event[LogKey.EXCEPTION] = self.formatException(record.exc_info)
        return self._write(keep_short(lift_code(event)))


def configure_logs(log_format: LogFormat, level: str, stream: TextIO = sys.stderr) -> None:
    """Send all logging of this process to `stream`, from `level` (debug, info, warning, error) up."""
    handler = logging.StreamHandler(stream)
    words = partial(as_words, styles=COLOURS if stream.isatty() else PLAIN)
    handler.setFormatter(Lines(as_json if log_format is LogFormat.JSON else words))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())


def as_json(event: Event) -> str:
    """One JSON object."""
    return json.dumps(event, ensure_ascii=False)


def as_words(event: Event, styles: Mapping[str, str]) -> str:
    """Time, level, message and logger in columns, the other keys after them; a traceback below."""
    rest = dict(event)
    timestamp, level, message, logger = (str(rest.pop(key)) for key in COLUMNS)
    trace = rest.pop(LogKey.EXCEPTION, None)

    def styled(text: str, *names: str) -> str:
        # A library may have a level of its own, which has no style.
        return f"{''.join(styles.get(name, '') for name in names)}{text}{styles[RESET]}"

    head = (
        f"{styled(timestamp, 'dim')} [{styled(level.ljust(LEVEL_CHARS), level)}] "
        f"{styled(message.ljust(MESSAGE_CHARS), 'bold')} [{styled(logger, 'bold', 'blue')}]"
    )
    pairs = [f"{styled(key, 'cyan')}={styled(_quoted(value), 'magenta')}" for key, value in sorted(rest.items())]
    line = " ".join([head, *pairs])
    return line if trace is None else f"{line}\n{trace}"


def _quoted(value: object) -> str:
    """As it is, in quotes where it would not be told apart from what is beside it."""
    text = str(value)
    return repr(text) if set(text) & QUOTED else text


def lift_code(event: Event) -> Event:
    """Move the stable code from the head of a message to its own key."""
    found = CODE.match(str(event[MESSAGE]))
    if found is None:
        return event
    return {**event, MESSAGE: str(event[MESSAGE])[found.end() :], LogKey.CODE: found.group(1)}


def keep_short(event: Event) -> Event:
    """Shorten what may be long and show what would break a line; a traceback stays whole."""
    return {key: value if key in _WHOLE else _shown(value, _chars_max(key)) for key, value in event.items()}


def _chars_max(key: str) -> int:
    return MESSAGE_CHARS_MAX if key == MESSAGE else VALUE_CHARS_MAX


def _shown(value: object, chars_max: int) -> object:
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    text = CONTROL.sub(_escaped, str(value))
    return text if len(text) <= chars_max else f"{text[:chars_max]}… ({len(text)} characters)"


def _escaped(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode()
