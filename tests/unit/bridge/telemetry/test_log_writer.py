"""Lines on their way to a pipe that somebody reads late, not at all, or no more."""

import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from bridge.telemetry.log_writer import LineWriter
from bridge.telemetry.logs import LogFormat, LogStream, configure_logs, drain_logs, dropped_lines, end_logs

LOG = logging.getLogger("epochbridge.test")
PATIENCE_S = 120.0
PIPE_BYTES = 65_536
LINE = "x" * 1_023 + "\n"


@pytest.fixture(autouse=True)
def untouched_logging() -> Iterator[None]:
    """The root logger as it was."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers, root.level = handlers, level


class Pipe:
    """One with nobody at its other end, until somebody reads there."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        self._open = {self.reading, self.writing}
        self.read = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def fill(self) -> None:
        """Have no room in it, whenever the thread comes to write: lines without a word."""
        os.set_blocking(self.writing, False)
        with suppress(BlockingIOError):
            while True:
                os.write(self.writing, b"\n" * PIPE_BYTES)
        os.set_blocking(self.writing, True)

    def begin_to_read(self) -> None:
        """Take whatever comes, until the writing end is closed."""
        self._thread.start()

    def _read(self) -> None:
        while some := os.read(self.reading, PIPE_BYTES):
            self.read += some

    def lines(self) -> list[bytes]:
        """What came until the writing end was closed, which this does."""
        self.end(self.writing)
        self._thread.join(PATIENCE_S)
        return bytes(self.read).lstrip(b"\n").splitlines(keepends=True)

    def end(self, descriptor: int) -> None:
        """Close one end, once: its number may be another file's by the next time."""
        self._open.remove(descriptor)
        os.close(descriptor)

    def close(self) -> None:
        """Close what is open."""
        for descriptor in tuple(self._open):
            self.end(descriptor)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """A pipe that nobody reads."""
    one = Pipe()
    yield one
    one.close()


def until(holds: Callable[[], bool]) -> None:
    """Wait for the thread."""
    waited = threading.Event()
    while not holds():
        waited.wait(0.001)


def test_nobody_waits_for_a_reader_who_is_told_what_was_dropped(pipe: Pipe) -> None:
    """A bridge whose log nobody read stood still at the 65,537th byte. What came first is kept, in its order."""
    pipe.fill()
    with os.fdopen(os.dup(pipe.writing), "w", encoding="utf-8") as stream:
        configure_logs(LogFormat.JSON, "info", stream)
        for number in range(4_000):
            LOG.info("%d %s", number, "x" * 1_900)
        dropped = dropped_lines()
        assert 0 < dropped < 4_000
        pipe.begin_to_read()
        drain_logs()
        until(lambda: b"EB-LOG-001" in pipe.read)
        LOG.info("and on")
        logging.getLogger().handlers[0].close()
    *kept, told, last = [json.loads(line) for line in pipe.lines()]
    assert [int(line["event"].partition(" ")[0]) for line in kept] == list(range(4_000 - dropped))
    assert (told["code"], told["event"].partition(" ")[0], told["level"]) == ("EB-LOG-001", str(dropped), "error")
    assert last["event"] == "and on"
    assert dropped_lines() == dropped


def test_whoever_closes_waits_for_no_thread_that_waits_for_it(pipe: Pipe) -> None:
    """`logging.shutdown` holds the handler's lock, and the thread wanted that to tell what was dropped: where the
    log was read again just as the process ended, its end took two seconds longer, and its last lines were lost.
    """
    with os.fdopen(os.dup(pipe.writing), "w", encoding="utf-8") as stream:
        configure_logs(LogFormat.JSON, "info", stream)
        handler = logging.getLogger().handlers[0]
        assert isinstance(handler, LogStream)
        writer = handler.stream
        assert isinstance(writer, LineWriter)
        for number in range(4_000):
            LOG.info("%d %s", number, "x" * 1_900)
        dropped = dropped_lines()
        assert handler.lock is not None
        with handler.lock:
            pipe.begin_to_read()
            assert writer.drain(PATIENCE_S)
            LOG.info("the last")
            handler.close()
            assert writer.drain(0.0)
    *_, last, told = [json.loads(line) for line in pipe.lines()]
    assert last["event"] == "the last"
    assert (told["code"], told["event"].partition(" ")[0]) == ("EB-LOG-001", str(dropped))


def test_why_the_process_ends_is_said_to_whoever_reads(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bridge that had crashed while nobody read its log waited for ever to say so, and was not started again."""
    with os.fdopen(os.dup(pipe.writing), "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        configure_logs(LogFormat.JSON, "info", stream)
        for _ in range(200):
            LOG.info(LINE)
        end_logs(0.0)
        assert sys.stderr is not stream
        for _ in range(200):
            print(LINE, file=sys.stderr)
        sys.stderr.close()
        monkeypatch.setattr(sys, "stderr", stream)
        pipe.begin_to_read()
        end_logs(PATIENCE_S)
        assert sys.stderr is stream
        logging.getLogger().handlers[0].close()
    assert len(pipe.lines()) == 200


def test_descriptor_that_does_not_block_is_waited_for(pipe: Pipe) -> None:
    """Whoever starts the process may have made it so, for itself."""
    os.set_blocking(pipe.writing, False)
    writer = LineWriter(pipe.writing, "utf-8")
    for _ in range(200):
        writer.write(LINE)
    pipe.begin_to_read()
    writer.close()
    assert (b"".join(pipe.lines()), writer.dropped) == (200 * LINE.encode(), 0)


def test_lines_that_nobody_can_read_any_more_are_counted(pipe: Pipe) -> None:
    """And told to nobody: that line would be lost, too, for ever."""
    pipe.end(pipe.reading)
    writer = LineWriter(pipe.writing, "utf-8")
    for _ in range(3):
        writer.write(LINE)
    assert writer.drain(PATIENCE_S)
    assert writer.dropped == 3
    writer.close()


def test_one_line_is_taken_whatever_its_size(pipe: Pipe) -> None:
    """Else nothing of it would ever be seen; what comes behind it waits for room."""
    writer = LineWriter(pipe.writing, "utf-8", waiting_max=100)
    writer.write("y" * PIPE_BYTES + LINE)
    writer.write(LINE)
    assert writer.dropped == 1
    assert not writer.drain(0.01)
    pipe.begin_to_read()
    assert writer.drain(PATIENCE_S)
    writer.flush()
    writer.close()
    assert len(b"".join(pipe.lines())) == PIPE_BYTES + len(LINE)


def test_text_that_is_none_is_written_all_the_same(pipe: Pipe) -> None:
    """A name that a client chose can't end the log."""
    writer = LineWriter(pipe.writing, "ascii")
    writer.write("Grüße \udc80\n")
    pipe.begin_to_read()
    writer.close()
    assert pipe.lines() == [b"Gr\\xfc\\xdfe \\udc80\n"]
