"""Log lines are parsed back; the loggers of the process are put back after each test.

Tracebacks that come again, by a clock of the test's own.
"""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.log_lines import Line, RateLimitedLog
from bridge.telemetry import logs
from bridge.telemetry.logs import (
    MEANINGS,
    MESSAGE_CHARS_MAX,
    VALUE_CHARS_MAX,
    LogFormat,
    LogKey,
    LogStream,
    configure_logs,
    lift_code,
    shortened,
)
from tests.support.kept_text import kept_chars

LOG = logging.getLogger("epochbridge.test")
NOBODY_KNOWS = dict.fromkeys(("member_id", "client_id", "road", "generation", "member_epoch", "group_epoch"))


@pytest.fixture(autouse=True)
def untouched_logging() -> Iterator[None]:
    """The root logger as it was."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers, root.level = handlers, level


@pytest.fixture
def lines() -> io.StringIO:
    """Where JSON lines go, from info up."""
    stream = io.StringIO()
    configure_logs(LogFormat.JSON, "info", stream)
    return stream


def read(stream: io.StringIO) -> dict[str, object]:
    """The one line that was written, without its time."""
    (line,) = stream.getvalue().splitlines()
    written: dict[str, object] = json.loads(line)
    assert str(written.pop("timestamp")).endswith("Z")
    return written


def test_traceback_that_comes_again_is_counted(lines: io.StringIO) -> None:
    """By every logger of the process."""
    for _ in range(3):
        try:
            raise KeyError("x")
        except KeyError:
            LOG.exception("EB-X-001: failed")
    assert len(lines.getvalue().splitlines()) == 1


def test_standard_library_line_is_json_with_code_lifted(lines: io.StringIO) -> None:
    """The code at the head of a message is its own key."""
    LOG.warning("EB-GROUP-001: group %r refused", "orders", extra={"group_id": "orders"})
    assert read(lines) == {
        "event": "group 'orders' refused",
        "code": "EB-GROUP-001",
        "group_id": "orders",
        **NOBODY_KNOWS,
        "level": "warning",
        "logger": "epochbridge.test",
    }


def test_line_about_nobody_has_no_fields_of_theirs(lines: io.StringIO) -> None:
    """Null would be said of a member that there is not."""
    LOG.warning("the disk is full")
    assert read(lines) == {"event": "the disk is full", "level": "warning", "logger": "epochbridge.test"}


def test_line_below_level_is_not_written(lines: io.StringIO) -> None:
    """The level is the operator's."""
    LOG.debug("nothing")
    assert lines.getvalue() == ""


def test_unknown_key_is_not_written(lines: io.StringIO) -> None:
    """No payload gets out under a name that nobody agreed on."""
    LOG.info("seen", extra={"payload": "secret"})
    assert "secret" not in lines.getvalue()


def test_bug_is_written_with_its_traceback(lines: io.StringIO) -> None:
    """Tracebacks are for the log."""
    try:
        raise ValueError("odd")
    except ValueError:
        LOG.exception("EB-NET-099: connection %d failed", 7)
    written = read(lines)
    assert str(written["exception"]).endswith("ValueError: odd")
    assert written["event"] == "connection 7 failed"


@pytest.mark.parametrize("log_format", LogFormat)
def test_traceback_obeys_no_stranger(log_format: LogFormat) -> None:
    """What a client calls itself may stand in the message of a bug: on a terminal it would clear the screen."""
    stream = io.StringIO()
    configure_logs(log_format, "info", stream)
    try:
        raise ValueError("no member a\x1b[2Jb\u202ec")
    except ValueError:
        LOG.exception("EB-NET-099: a turn failed")
    written = stream.getvalue()
    assert "a\x1b" not in written
    assert "\u202e" not in written
    assert written.replace("\\\\", "\\").count("ValueError: no member a\\x1b[2Jb\\u202ec") == 1
    assert written.count("Traceback (most recent call last):") == 1


def test_console_line_holds_message_and_keys_without_colours() -> None:
    """A file gets no escape sequences."""
    stream = io.StringIO()
    configure_logs(LogFormat.CONSOLE, "info", stream)
    LOG.info("broker is back", extra={"broker_id": 3})
    assert "broker is back" in stream.getvalue()
    assert "broker_id=3" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


class Terminal(io.StringIO):
    """Somebody looks."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def test_console_lines_are_words_in_order_with_what_would_be_misread_in_quotes() -> None:
    """The message has its column, keys are sorted, and a traceback stands below its line."""
    stream = io.StringIO()
    configure_logs(LogFormat.CONSOLE, "info", stream)
    LOG.info("EB-NET-001: hello %d", 5, extra={"group_id": "a b", "client_id": "", "api": "q'uote", "topic": "plain"})
    try:
        raise ValueError("odd")
    except ValueError:
        LOG.exception("boom", extra={"broker_id": 1, "member_id": None})
    first, second, *trace = stream.getvalue().splitlines()
    assert first.partition(" ")[2] == (
        "[info     ] hello 5                        [epochbridge.test]"
        " api=\"q'uote\" client_id= code=EB-NET-001 group_id='a b' topic=plain"
    )
    assert second.endswith("[error    ] boom                           [epochbridge.test] broker_id=1 member_id=None")
    assert (trace[0], trace[-1]) == ("Traceback (most recent call last):", "ValueError: odd")


def test_terminal_gets_colours() -> None:
    """The level is seen before it is read."""
    stream = Terminal()
    configure_logs(LogFormat.CONSOLE, "info", stream)
    LOG.warning("slow", extra={"broker_id": 3})
    written = stream.getvalue()
    assert "\x1b[33m\x1b[1mwarning  \x1b[0m" in written
    assert "\x1b[36mbroker_id\x1b[0m=\x1b[35m3\x1b[0m" in written


def test_message_of_a_client_breaks_no_line_and_turns_none_around() -> None:
    """Line breaks and escape sequences of strangers are shown, not obeyed."""
    event = shortened({"event": "a\nb\x1b[2J", "client_id": "x\r\ny\u202ez\udcff"})
    assert event == {"event": "a\\nb\\x1b[2J", "client_id": "x\\r\\ny\\u202ez\\udcff"}


def test_long_values_are_cut() -> None:
    """A group id of 300 kB does not fill the log."""
    event = shortened({"event": "e" * 5_000, "group_id": "g" * 300_000})
    assert event == {
        "event": "e" * MESSAGE_CHARS_MAX + "… (5000 characters)",
        "group_id": "g" * VALUE_CHARS_MAX + "… (300000 characters)",
    }


def test_bytes_are_counted_not_shown() -> None:
    """Never payloads."""
    assert shortened({"event": "e", "reason": b"secret"}) == {"event": "e", "reason": "<6 bytes>"}


def test_message_without_code_is_left_alone() -> None:
    """Only the head counts."""
    assert lift_code({"event": "see EB-NET-001: it"}) == {"event": "see EB-NET-001: it"}


def test_every_key_has_a_meaning() -> None:
    """The glossary is whole."""
    assert set(MEANINGS) == set(LogKey)


def test_page_of_log_lines_names_every_key() -> None:
    """docs/reference/logs.md."""
    page = (Path(__file__).parents[4] / "docs" / "reference" / "logs.md").read_text(encoding="utf-8")
    assert [key for key, meaning in MEANINGS.items() if f"| `{key.value}` | {meaning} |" not in page] == []


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
        assert logs.told_bugs() == {}
        root.addHandler(written.handler)
        written.log.removeHandler(written.handler)
        written.fail("c")
        told = logs.told_bugs()
        assert told == {"EB-X-001": 1}
        # Another thread logs while a scrape reads on.
        written.fail("c", "a library failed: %s")
        assert told == {"EB-X-001": 1}
        assert logs.told_bugs() == {"EB-X-001": 1, "": 1}
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
    named = [f"EB-X-001: group {number} failed" for number in range(logs.NAMED_MAX + 1)]
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
    monkeypatch.setattr(logs, "REMEMBERED_MAX", 2)
    for message in ("EB-X-001: %s", "EB-X-001: %s", "EB-X-002: %s", "EB-X-003: %s"):
        written.fail("x", message)
    told = "EB-X-001: x (and 1 times more since this was last said)"
    assert written.lines() == ["EB-X-001: x", "EB-X-002: x", "EB-X-003: x", told]


def test_little_is_kept_of_what_a_bug_quotes(written: Written) -> None:
    """A request that can't be carried out is quoted whole, and twenty of them are kept for a minute."""
    for number in range(30):
        written.fail(f"{number}{'x' * 1_000_000}")
    assert kept_chars(written.handler._written) < 200_000


def test_no_frame_of_a_traceback_is_kept(written: Written) -> None:
    """A frame keeps what it works on: requests of megabytes."""
    written.fail("one")
    written.fail("two")
    (one,) = written.handler._written.values()
    assert (one.line.exc_info, one.line.exc_text, one.line.args) == (None, None, ())
