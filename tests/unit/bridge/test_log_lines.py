"""Lines that are said once a minute."""

import gc
import logging
from weakref import WeakSet

import pytest

from bridge.log_lines import NAMED_MAX, REPEAT_MS, Line, RateLimitedLog, cause_by_names

LOG = logging.getLogger("epochbridge.test")


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was written since it was asked last."""
    lines = [record.getMessage() for record in caplog.records]
    caplog.clear()
    return lines


def test_line_of_one_cause_is_said_once_a_minute_with_how_often_it_came(caplog: pytest.LogCaptureFixture) -> None:
    """Another cause, or the same from another address, has a line of its own."""
    log = RateLimitedLog(LOG)
    for now_ms in range(0, 10_000, 10):
        log.write(now_ms, ("EB-X-1", "10.0.0.1"), Line(logging.WARNING, "closed %d", (now_ms,)))
    log.write(9_999, ("EB-X-1", "10.0.0.2"), Line(logging.WARNING, "closed elsewhere"))
    assert told(caplog) == ["closed 0", "closed elsewhere"]
    log.write(REPEAT_MS, ("EB-X-1", "10.0.0.1"), Line(logging.WARNING, "closed %d", (REPEAT_MS,)))
    assert told(caplog) == [f"closed {REPEAT_MS} (and 999 times more since this was last said)"]


def test_names_that_somebody_makes_up_have_a_bound(caplog: pytest.LogCaptureFixture) -> None:
    """Of one kind and address, of IPv6 its network; each name has the same place every time."""
    log = RateLimitedLog(LOG)
    for number in range(2_000):
        log.write(0, cause_by_names("kind", "10.0.0.1", f"group-{number}"), Line(logging.WARNING, "%d", (number,)))
        log.write(0, cause_by_names("kind", f"2001:db8::{number:x}", f"{number}"), Line(logging.WARNING, "six"))
    lines = told(caplog)
    assert lines.count("six") == NAMED_MAX
    assert len(lines) == 2 * NAMED_MAX
    log.write(0, cause_by_names("other", "10.0.0.1", "group-0"), Line(logging.WARNING, "of another kind"))
    log.write(0, cause_by_names("kind", "10.0.0.2", "group-0"), Line(logging.WARNING, "of another address"))
    log.write(0, cause_by_names("kind", "10.0.0.1", "group-0"), Line(logging.WARNING, "again"))
    assert told(caplog) == ["of another kind", "of another address"]


def test_what_came_again_is_told_though_it_has_ceased(caplog: pytest.LogCaptureFixture) -> None:
    """Within a minute, once, with the last line of its cause."""
    log = RateLimitedLog(LOG)
    for number in range(5):
        log.write(0, "cause", Line(logging.WARNING, "seen %d", (number,)))
    log.catch_up(REPEAT_MS - 1)
    assert told(caplog) == ["seen 0"]
    log.catch_up(REPEAT_MS)
    assert told(caplog) == ["seen 4 (and 3 times more since this was last said)"]
    log.catch_up(2 * REPEAT_MS)
    assert told(caplog) == []
    assert len(log) == 0


def test_memory_of_causes_is_bounded_and_loses_no_count(caplog: pytest.LogCaptureFixture) -> None:
    """Strangers have many addresses."""
    log = RateLimitedLog(LOG, remembered_max=2)
    for cause in (1, 1, 1, 2, 3):
        log.write(0, cause, Line(logging.WARNING, "from %d", (cause,)))
    assert told(caplog) == ["from 1", "from 2", "from 3", "from 1 (and 1 times more since this was last said)"]
    assert len(log) == 2


class Payload:
    """Bytes that a request came in, which an error's frames and a line's arguments name."""


def failing(payload: Payload) -> ValueError:
    """An error whose traceback has a frame that works on it."""
    try:
        raise ValueError(f"no sense in {type(payload).__name__}")
    except ValueError as problem:
        return problem


class Words(logging.Handler):
    """Keeps what lines say and nothing else of them."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[str, bool]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """A line, and whether a traceback is below it."""
        self.said.append((record.getMessage(), record.exc_info is not None))


@pytest.mark.parametrize("times", [1, 3])
def test_nothing_of_what_a_line_tells_is_kept_alive_by_it(times: int) -> None:
    """For a minute each of 10,000 causes had the frames of its error, with the requests that they worked on."""
    # What a test run catches of lines is kept with all that they name.
    words, quiet = Words(), logging.Logger("quiet")  # noqa: LOG001  # heard by nobody else
    quiet.addHandler(words)
    log, payloads = RateLimitedLog(quiet), WeakSet[Payload]()
    for _ in range(times):
        payload = Payload()
        payloads.add(payload)
        log.write(0, "as argument", Line(logging.ERROR, "failed: %s", ([payload],), problem=failing(payload)))
        log.write(0, "as error", Line(logging.ERROR, "failed: %s", (failing(payload),)))
        del payload
    assert [has_traceback for _, has_traceback in words.said] == [True, False]
    words.said.clear()
    gc.collect()
    assert len(payloads) == 0
    log.catch_up(REPEAT_MS)
    assert len(words.said) == (2 if times > 1 else 0)
    assert all("no sense in Payload" in line and "1 times more" in line for line, _ in words.said)
