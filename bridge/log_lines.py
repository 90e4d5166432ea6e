"""Log lines: the fields by which they are searched, and how one that comes again and again is written once a minute."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypedDict
from zlib import crc32

from translators.dialects.kept_names import kept_name
from translators.dialects.places import place_of

EMBEDDED, PASSING, UPSTREAM = "embedded", "pass", "upstream"
REPEAT_MS = 60_000
"""How long the same line is not written again."""
REMEMBERED_MAX = 10_000
"""Causes that are remembered; a cause that makes room for another is told with its count."""
NAMED_MAX = 64
"""Causes of one kind and address that differ by names alone."""
MORE = " (and %d times more since this was last said)"
ARGUMENT_CHARS_MAX = 2_000
"""So much of what a line says is kept until it may be said again."""
COUNTED = "is_counted"
"""What a record of the standard library has that was counted here already."""


class LogFields(TypedDict, total=False):
    """What a line's place knows of whom it is about, for `extra` of the standard library's loggers.

    The names are those of `telemetry.logs`, whose lines have all of them, null where nobody knows.
    """

    group_id: str
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    connection: int
    principal: str
    road: str
    generation: int
    member_epoch: int
    group_epoch: int


def of_embedded(group_id: str) -> LogFields:
    """What a line says that knows no more than the name of an embedded group."""
    return LogFields(group_id=group_id, road=EMBEDDED)


def cause_by_names(kind: Hashable, host: str, *names: str) -> Hashable:
    """The cause of a line about what a client calls itself or its group: of one kind and address so many are told in a
    minute, whoever makes up names. 1,200 groups that nobody had were a line each, ten a second.
    """
    return kind, place_of(host), crc32("\0".join(names).encode(errors="replace")) % NAMED_MAX


def cause_of(code: str, problem: Exception, group_id: str) -> Hashable:
    """The cause of a line about one of many groups that a broker was asked about: who does not answer for one does so
    for all, and names each in its words.
    """
    return code, str(problem).replace(group_id, "")


@dataclass(frozen=True, slots=True)
class Line:
    """A log line: its message with arguments, the fields beside it (`LogFields`), the error whose traceback it has."""

    level: int
    message: str
    args: tuple[object, ...] = ()
    fields: Mapping[str, object] = field(default_factory=dict)
    problem: BaseException | None = None


Say = Callable[[Hashable, Line], None]
"""Writes a line by its cause, or counts it."""


def _kept(cause: Hashable) -> Hashable:
    if isinstance(cause, tuple):
        return tuple(map(_kept, cause))
    return kept_name(cause) if isinstance(cause, str) else cause


def _short(line: Line) -> Line:
    """Of 10,000 clients that were refused under names of 32 kB a gigabyte was kept for a minute."""
    args = tuple(one[:ARGUMENT_CHARS_MAX] if isinstance(one, str) else one for one in line.args)
    fields = {name: kept_name(value) if isinstance(value, str) else value for name, value in line.fields.items()}
    return replace(line, args=args, fields=fields)


_PLAIN = (str, int, float, type(None))


def _as_text(line: Line) -> Line:
    """The same in words: an error's frames keep alive what they work on, and requests the bytes that they came in."""
    if line.problem is None and all(isinstance(one, _PLAIN) for one in line.args):
        return line
    words = line.message % line.args if line.args else line.message
    if line.problem is not None:
        words = f"{words[:ARGUMENT_CHARS_MAX]} ({type(line.problem).__name__}: {line.problem})"
    return replace(line, message="%s", args=(words[: 2 * ARGUMENT_CHARS_MAX],), problem=None)


def _is_cheap(line: Line) -> bool:
    """Whether it takes no time to put it in words each time it comes: a poisonous request may be large."""
    return all(isinstance(one, (*_PLAIN, BaseException)) for one in line.args)


@dataclass(slots=True)
class _Written:
    """A line that was written, in words, with its last repetition's where those cost nothing."""

    at_ms: int
    line: Line
    repeats: int = 0


class RateLimitedLog:
    """Writes to one log; a cause is anything that can be compared, such as a code with an address."""

    def __init__(self, log: logging.Logger, remembered_max: int = REMEMBERED_MAX) -> None:
        self._log = log
        self._remembered_max = remembered_max
        self._written: OrderedDict[Hashable, _Written] = OrderedDict()

    def __len__(self) -> int:
        """How many causes are remembered."""
        return len(self._written)

    def write(self, now_ms: int, cause: Hashable, line: Line) -> None:
        """Write this line, or count it if one of the same cause was written within the last minute."""
        cause, line = _kept(cause), _short(line)
        written = self._written.get(cause)
        if written is not None and now_ms - written.at_ms < REPEAT_MS:
            if _is_cheap(line):
                written.line = _as_text(line)
            written.repeats += 1
            return
        self._write(line, 0 if written is None else written.repeats)
        self._written[cause] = _Written(now_ms, _as_text(line))
        self._written.move_to_end(cause)
        if len(self._written) > self._remembered_max:
            _, oldest = self._written.popitem(last=False)
            self._write_count(oldest)

    def catch_up(self, now_ms: int) -> None:
        """Write how often each line came again since it was written a minute ago; to be called now and then."""
        while self._written:
            cause, written = next(iter(self._written.items()))
            if now_ms - written.at_ms < REPEAT_MS:
                return
            del self._written[cause]
            if written.repeats:
                self._write_count(written)
                self._written[cause] = _Written(now_ms, written.line)

    def _write_count(self, written: _Written) -> None:
        if written.repeats:
            self._write(written.line, written.repeats - 1)

    def _write(self, line: Line, repeats: int) -> None:
        message, args = line.message, line.args
        if repeats:
            message, args = message + MORE, (*args, repeats)
        self._log.log(line.level, message, *args, extra={**line.fields, COUNTED: True}, exc_info=line.problem)


def bare(problem: BaseException) -> BaseException:
    """What a group with a single error is about."""
    while isinstance(problem, BaseExceptionGroup) and len(problem.exceptions) == 1:
        problem = problem.exceptions[0]
    return problem


def origin_of(problem: BaseException) -> tuple[str, str, int]:
    """What an error is, and the file and line that raised it: the same for a bug that shows again."""
    problem = bare(problem)
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = ("", 0) if trace is None else (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
    return type(problem).__name__, *place
