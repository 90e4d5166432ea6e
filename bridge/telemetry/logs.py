"""Log lines: a glossary of keys, two ways to write what rooms log, and a bound for tracebacks that come again."""

import logging
import os
import re
import sys
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from json import dumps
from pathlib import Path
from typing import TextIO

from bridge.log_lines import COUNTED, MORE, REMEMBERED_MAX, REPEAT_MS, origin_of
from bridge.telemetry.log_writer import CLOSE_S, LineWriter, Written
from translators.dialects.printable import printable

# --------------------------------------------------------------------------------------- log stream
# Where log lines are written: a traceback that comes again and again is written once a minute, wherever it is logged.
#
# Others whom it meets meanwhile are named, so many as `NAMED_MAX` says: which group to look at stands in the words.
# Whoever reaches a bug may reach it as often as it likes, and each traceback is some kilobytes. What `RateLimitedLog`
# has counted is written as it comes. Every other traceback is counted here by the code of its line, for the metrics.

CODE = re.compile(r"^(EB-[A-Z]+-\d{3}): ")
"""What a message with a stable code begins with."""
Cause = tuple[str, str, tuple[str, str, int]]
"""The logger, the message without what is put into it, and the place that raised."""
KEPT_CHARS_MAX = 4_000
"""More than a line shows."""
NAMED_MAX = 20
"""So many of those whom one cause meets within a minute are named, each by a line without its traceback."""


@dataclass(slots=True)
class _Written:
    at_ms: int
    line: logging.LogRecord
    """Without its traceback, whose frames would keep alive what they work on."""
    repeats: int = 0
    named: set[str] = field(default_factory=set)


class LogStream(logging.StreamHandler[Written]):
    """Writes records to a stream; counts are told with the next line after the minute, and at the end."""

    def __init__(self, stream: Written) -> None:
        super().__init__(stream)
        if isinstance(stream, LineWriter) and self.lock is not None:
            stream.lock = self.lock
        self.bugs: Counter[str] = Counter()
        """Tracebacks by the code of their line, "" for a library's; those that were not written are among them."""
        self._written: OrderedDict[Cause, _Written] = OrderedDict()

    def emit(self, record: logging.LogRecord) -> None:
        """Write this record, unless its traceback was written within the last minute."""
        now_ms = int(record.created * 1000)
        problem = record.exc_info[1] if record.exc_info else None
        if problem is None or hasattr(record, COUNTED):
            self._tell_older(now_ms - REPEAT_MS)
            super().emit(record)
            return
        code = CODE.match(str(record.msg))
        self.bugs[code.group(1) if code else ""] += 1
        cause = record.name, str(record.msg), origin_of(problem)
        written = self._written.get(cause)
        # A clock that was put back is no reason to be silent for longer.
        if written is not None and 0 <= now_ms - written.at_ms < REPEAT_MS:
            self._name_or_count(record, written)
            return
        self._tell_older(now_ms - REPEAT_MS)
        super().emit(record)
        self._written[cause] = _Written(now_ms, _without_traceback(record))
        if len(self._written) > REMEMBERED_MAX:
            self._tell_count(self._written.popitem(last=False)[1])

    def copied_bugs(self) -> Mapping[str, int]:
        """`bugs` as they are now: every thread may log, and add a code while somebody reads on."""
        self.acquire()
        try:
            return dict(self.bugs)
        finally:
            self.release()

    def close(self) -> None:
        """Tell what was counted; the process ends."""
        while self._written:
            self._tell_count(self._written.popitem(last=False)[1])
        if isinstance(self.stream, LineWriter):
            self.stream.close()
        super().close()

    def _name_or_count(self, record: logging.LogRecord, written: _Written) -> None:
        words = _kept_words(record)
        if words == written.line.msg or words in written.named or len(written.named) >= NAMED_MAX:
            written.repeats += 1
            return
        written.named.add(words)
        super().emit(_without_traceback(record))

    def _tell_older(self, than_ms: int) -> None:
        """Forget and tell what was written before that; the oldest come first."""
        while self._written and next(iter(self._written.values())).at_ms <= than_ms:
            self._tell_count(self._written.popitem(last=False)[1])

    def _tell_count(self, written: _Written) -> None:
        if written.repeats:
            written.line.msg, written.line.args = "%s" + MORE, (written.line.msg, written.repeats)
            super().emit(written.line)


def told_bugs() -> Mapping[str, int]:
    """The bugs that this process's log told since its start; nothing where its lines go elsewhere."""
    return next((one.copied_bugs() for one in logging.getLogger().handlers if isinstance(one, LogStream)), {})


def dropped_lines() -> int:
    """How many lines of this process's log nobody took, so that they are lost."""
    return sum(one.dropped for one in _writers())


def drain_logs(within_s: float = CLOSE_S) -> bool:
    """Have all lines written before something else is; False if nobody reads them in that time."""
    return all(one.drain(within_s) for one in _writers())


def end_logs(within_s: float = CLOSE_S) -> None:
    """The process says on standard error why it ends: behind what led to it, and to nobody if nobody reads there. It
    would wait for that, and a bridge that had crashed would not end, so that nobody started it again.
    """
    if not drain_logs(within_s):
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - as long as the process lives


def _writers() -> Iterator[LineWriter]:
    for handler in logging.getLogger().handlers:
        if isinstance(handler, LogStream) and isinstance(handler.stream, LineWriter):
            yield handler.stream


def _without_traceback(record: logging.LogRecord) -> logging.LogRecord:
    line = copy(record)
    line.msg, line.args, line.exc_info, line.exc_text = _kept_words(record), (), None, None
    # Formatters of the standard library leave it there, whole.
    line.__dict__.pop("message", None)
    return line


def _kept_words(record: logging.LogRecord) -> str:
    """Its words, as far as they are kept for a minute: a line may quote a request of megabytes."""
    return record.getMessage()[:KEPT_CHARS_MAX]


# --------------------------------------------------------------------------------------------- logs
# Log lines: a glossary of keys, and two ways to write what rooms log through the standard library.

Event = dict[str, object]

VALUE_CHARS_MAX = 300
MESSAGE_CHARS_MAX = 2_000


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
    PRINCIPAL = "principal"
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
    LogKey.PRINCIPAL: "name that the client logs in with, where the bridge is told it",
    LogKey.BROKER_ID: "node id of the broker",
    LogKey.ROAD: "pass, embedded or upstream",
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
_QUOTED = frozenset(" \t=\r\n\"'")
"""What makes a value in words hard to read unless it stands in quotes."""
EVENT_WIDTH, LEVEL_WIDTH = 30, 9
DIM, BRIGHT, CYAN, MAGENTA, BLUE, PLAIN = "\x1b[2m", "\x1b[1m", "\x1b[36m", "\x1b[35m", "\x1b[34m", "\x1b[0m"
COLOURS = {"debug": "\x1b[32m", "info": "\x1b[32m", "warning": "\x1b[33m", "error": "\x1b[31m", "critical": "\x1b[31m"}


def configure_logs(log_format: LogFormat, level: str, stream: TextIO = sys.stderr) -> None:
    """Send all logging of this process to `stream`, from `level` (debug, info, warning, error) up.

    Lines for a descriptor are written by a thread: nobody waits for whoever reads them.
    """
    handler = LogStream(_patient(stream))
    handler.setFormatter(JsonLines() if log_format is LogFormat.JSON else ConsoleLines(has_colours=stream.isatty()))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())


def _patient(stream: TextIO) -> Written:
    try:
        return LineWriter(stream.fileno(), stream.encoding)
    except (OSError, ValueError):
        # It is in memory only, and takes everything at once.
        return stream


class JsonLines(logging.Formatter):
    """One JSON object a line, nothing but the glossary's keys in it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        return dumps(fill_identity(facts_of(record)), ensure_ascii=False)


class ConsoleLines(logging.Formatter):
    """Words for a terminal, the message first; tracebacks below."""

    def __init__(self, *, has_colours: bool) -> None:
        super().__init__()
        self._has_colours = has_colours

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        facts = facts_of(record)
        at, level, logger = (str(facts.pop(key.value)) for key in (LogKey.TIMESTAMP, LogKey.LEVEL, LogKey.LOGGER))
        message, trace = str(facts.pop(MESSAGE)), facts.pop(LogKey.EXCEPTION.value, None)
        place = self._in(BRIGHT + BLUE, logger)
        head = f"{self._in(DIM, at)} [{self._in(COLOURS.get(level, '') + BRIGHT, level.ljust(LEVEL_WIDTH))}] "
        head += f"{self._in(BRIGHT, message.ljust(EVENT_WIDTH))} [{place}]"
        pairs = (f" {self._in(CYAN, key)}={self._in(MAGENTA, _word(value))}" for key, value in sorted(facts.items()))
        return head + "".join(pairs) + ("" if trace is None else f"\n{trace}")

    def _in(self, style: str, text: str) -> str:
        return f"{style}{text}{PLAIN}" if self._has_colours else text


def facts_of(record: logging.LogRecord) -> Event:
    """What a record says under the keys of the glossary; whatever else was given to it is dropped."""
    facts: Event = {MESSAGE: record.getMessage(), LogKey.LEVEL.value: record.levelname.lower()}
    facts[LogKey.LOGGER.value] = record.name
    given = record.__dict__
    facts |= {key.value: given[key.value] for key in LogKey if key.value in given}
    facts[LogKey.TIMESTAMP.value] = (
        datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    )
    if record.exc_info:
        facts[LogKey.EXCEPTION.value] = logging.Formatter().formatException(record.exc_info)
    return shortened(lift_code(facts))


def lift_code(event: Event) -> Event:
    """Move the stable code from the head of a message to its own key."""
    message = str(event.get(MESSAGE, ""))
    found = CODE.match(message)
    if found:
        event[LogKey.CODE.value] = found.group(1)
        event[MESSAGE] = message[found.end() :]
    return event


def shortened(event: Event) -> Event:
    """No value is longer than a line bears, and no stranger's text breaks it; tracebacks have any length."""
    for key, value in event.items():
        if key == LogKey.EXCEPTION:
            event[key] = "\n".join(map(printable, str(value).split("\n")))
        else:
            event[key] = _shown(value, MESSAGE_CHARS_MAX if key == MESSAGE else VALUE_CHARS_MAX)
    return event


def fill_identity(event: Event) -> Event:
    """Give a line about a group, member or client all the keys by which such lines are searched, null for unknown."""
    if not NAMING.isdisjoint(event):
        for key in IDENTITY:
            event.setdefault(key, None)
    return event


def _word(value: object) -> str:
    """A value as a word: in quotes if it would not be read as one."""
    return value if isinstance(value, str) and _QUOTED.isdisjoint(value) else repr(value)


def _shown(value: object, chars_max: int) -> object:
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"<{len(value)} bytes>"
    text = printable(str(value))
    return text if len(text) <= chars_max else f"{text[:chars_max]}… ({len(text)} characters)"
