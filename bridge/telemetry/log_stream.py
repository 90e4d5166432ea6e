"""Where log lines are written: a traceback that comes again and again is written once a minute, wherever it is logged.

Others whom it meets meanwhile are named, so many as `NAMED_MAX` says: which group to look at stands in the words.
Whoever reaches a bug may reach it as often as it likes, and each traceback is some kilobytes. What `RateLimitedLog` has
counted is written as it comes. Every other traceback is counted here by the code of its line, for the metrics.
"""

import logging
import re
from collections import Counter, OrderedDict
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import TextIO

from bridge.log_lines import COUNTED, MORE, REMEMBERED_MAX, REPEAT_MS, origin_of

CODE = re.compile(r"^(EB-[A-Z]+-\d{3}): ")
"""What a message with a stable code begins with."""
Cause = tuple[str, str, tuple[str, str, int]]
"""The logger, the message without what is put into it, and the place that raised."""
NAMED_MAX = 20
"""So many of those whom one cause meets within a minute are named, each by a line without its traceback."""


@dataclass(slots=True)
class _Written:
    at_ms: int
    line: logging.LogRecord
    """Without its traceback, whose frames would keep alive what they work on."""
    repeats: int = 0
    named: set[str] = field(default_factory=set)


class LogStream(logging.StreamHandler[TextIO]):
    """Writes records to a stream; counts are told with the next line after the minute, and at the end."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
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
        super().close()

    def _name_or_count(self, record: logging.LogRecord, written: _Written) -> None:
        words = record.getMessage()
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


def _without_traceback(record: logging.LogRecord) -> logging.LogRecord:
    line = copy(record)
    line.msg, line.args, line.exc_info, line.exc_text = record.getMessage(), (), None, None
    return line
