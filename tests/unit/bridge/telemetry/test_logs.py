"""Log lines are parsed back; the loggers of the process are put back after each test."""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.telemetry.logs import (
    MEANINGS,
    MESSAGE_CHARS_MAX,
    VALUE_CHARS_MAX,
    LogFormat,
    LogKey,
    configure_logs,
    lift_code,
    shortened,
)

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
    """By every logger of the process, see `log_stream`."""
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


def test_message_of_a_client_breaks_no_line() -> None:
    """Line breaks and escape sequences of strangers are shown, not obeyed."""
    event = shortened({"event": "a\nb\x1b[2J", "client_id": "x\r\ny"})
    assert event == {"event": "a\\nb\\x1b[2J", "client_id": "x\\r\\ny"}


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
