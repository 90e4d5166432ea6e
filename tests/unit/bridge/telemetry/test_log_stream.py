"""Tracebacks that come again, by a clock of the test's own."""

import io
import logging
from collections.abc import Iterator

import pytest

from bridge.log_lines import Line, RateLimitedLog
from bridge.telemetry import log_stream
from bridge.telemetry.log_stream import LogStream

MINUTE_MS = 60_000


class Written:
    """A logger whose lines go to a stream at times that a test sets."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.stream = io.StringIO()
        self.handler = LogStream(self.stream)
        self.handler.addFilter(self._stamp)
        self.log = logging.getLogger("epochbridge.test.stream")
        self.log.addHandler(self.handler)

    def _stamp(self, record: logging.LogRecord) -> bool:
        record.created = self.now_ms / 1000
        return True

    def fail(self, who: str, message: str = "EB-X-001: %s failed") -> None:
        """A bug, always at the same place."""
        try:
            raise KeyError(who)
        except KeyError:
            self.log.exception(message, who)

    def tracebacks(self) -> int:
        """How many were written."""
        return self.stream.getvalue().count("Traceback")

    def lines(self) -> list[str]:
        """What was written beside tracebacks."""
        return [line for line in self.stream.getvalue().splitlines() if line.startswith(("EB-", "other"))]


@pytest.fixture
def written() -> Iterator[Written]:
    """Nothing as yet."""
    one = Written()
    yield one
    one.log.removeHandler(one.handler)
    one.handler.close()


def test_every_traceback_is_counted_by_its_code(written: Written) -> None:
    """Also one that is not written; what is counted elsewhere is not counted again."""
    for number in range(3):
        written.fail(f"client {number}")
    written.fail("c", "a library failed: %s")
    written.log.error("EB-X-002: no bug")
    RateLimitedLog(written.log).write(0, "cause", Line(logging.ERROR, "EB-X-003: a task", problem=KeyError()))
    assert written.handler.bugs == {"EB-X-001": 3, "": 1}


def test_bugs_are_those_of_the_process_log(written: Written) -> None:
    """They are read from where its lines go."""
    root = logging.getLogger()
    before = list(root.handlers)
    try:
        root.handlers[:] = []
        assert log_stream.told_bugs() == {}
        root.addHandler(written.handler)
        written.log.removeHandler(written.handler)
        written.fail("c")
        told = log_stream.told_bugs()
        assert told == {"EB-X-001": 1}
        # Another thread logs while a scrape reads on.
        written.fail("c", "a library failed: %s")
        assert told == {"EB-X-001": 1}
        assert log_stream.told_bugs() == {"EB-X-001": 1, "": 1}
    finally:
        root.handlers[:] = before


def test_traceback_is_written_once_a_minute_with_its_count(written: Written) -> None:
    """The next line after the minute tells how often it came, whatever line that is; it is not told again."""
    for number in range(1_000):
        written.now_ms = number
        written.fail("client 0")
    assert (written.tracebacks(), written.lines()) == (1, ["EB-X-001: client 0 failed"])
    written.now_ms = MINUTE_MS - 1
    written.log.warning("other")
    assert written.lines()[1:] == ["other"]
    written.now_ms = MINUTE_MS
    written.log.warning("other")
    told = "EB-X-001: client 0 failed (and 999 times more since this was last said)"
    assert written.lines()[2:] == [told, "other"]
    written.now_ms = 2 * MINUTE_MS
    written.log.warning("other")
    assert (written.tracebacks(), written.lines()[4:]) == (1, ["other"])
    written.fail("again")
    assert (written.tracebacks(), written.lines()[5:]) == (2, ["EB-X-001: again failed"])
    written.now_ms = 0
    written.fail("a clock that was put back")
    assert written.tracebacks() == 3


def test_whom_the_same_bug_meets_is_named_so_many_times(written: Written) -> None:
    """The line says at which group to look; a thousand of them would be a flood again."""
    for number in range(1_000):
        for _ in range(2):
            written.fail(f"group {number}")
    named = [f"EB-X-001: group {number} failed" for number in range(log_stream.NAMED_MAX + 1)]
    assert (written.tracebacks(), written.lines()) == (1, named)
    written.now_ms = MINUTE_MS
    written.log.warning("other")
    count = 2_000 - len(named)
    assert written.lines()[len(named)] == f"EB-X-001: group 0 failed (and {count} times more since this was last said)"


def test_traceback_itself_tells_what_was_counted_before(written: Written) -> None:
    """A flood that goes on is a traceback and a count each minute."""
    written.fail("one")
    written.fail("one")
    written.now_ms = MINUTE_MS
    written.fail("three")
    told = "EB-X-001: one failed (and 1 times more since this was last said)"
    assert (written.tracebacks(), written.lines()) == (2, ["EB-X-001: one failed", told, "EB-X-001: three failed"])


def test_another_place_or_message_is_another_cause(written: Written) -> None:
    """Only what is the same is counted away; lines without a traceback are no matter of this."""
    written.fail("one")
    written.fail("one", "EB-X-002: %s failed")
    try:
        raise KeyError("one")
    except KeyError:
        written.log.exception("EB-X-001: %s failed", "one")
    written.log.warning("other")
    written.log.warning("other")
    assert (written.tracebacks(), written.lines()[3:]) == (3, ["other", "other"])


def test_what_was_counted_is_told_at_the_end(written: Written) -> None:
    """A process that ends within the minute has told all it knew."""
    written.fail("one")
    written.fail("one")
    written.handler.close()
    assert written.lines()[1:] == ["EB-X-001: one failed (and 1 times more since this was last said)"]


def test_what_is_counted_elsewhere_is_not_counted_twice(written: Written) -> None:
    """A log with limits of its own may write the same traceback for two clients."""
    limited = RateLimitedLog(written.log)
    for who in ("a", "b"):
        try:
            raise KeyError(who)
        except KeyError as problem:
            limited.write(0, who, Line(logging.ERROR, "EB-X-001: %s", (who,), problem=problem))
    assert (written.tracebacks(), written.lines()) == (2, ["EB-X-001: a", "EB-X-001: b"])


def test_no_more_causes_are_remembered_than_may_be(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest goes, with its count."""
    monkeypatch.setattr(log_stream, "REMEMBERED_MAX", 2)
    for message in ("EB-X-001: %s", "EB-X-001: %s", "EB-X-002: %s", "EB-X-003: %s"):
        written.fail("x", message)
    told = "EB-X-001: x (and 1 times more since this was last said)"
    assert written.lines() == ["EB-X-001: x", "EB-X-002: x", "EB-X-003: x", told]


def test_no_frame_of_a_traceback_is_kept(written: Written) -> None:
    """A frame keeps what it works on: requests of megabytes."""
    written.fail("one")
    written.fail("two")
    (one,) = written.handler._written.values()
    assert (one.line.exc_info, one.line.exc_text, one.line.args) == (None, None, ())
