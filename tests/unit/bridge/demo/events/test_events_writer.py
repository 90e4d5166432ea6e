"""The writer of event logs. It must not know what the events mean."""

import io
from pathlib import Path

from bridge.demo.events import Ended, EventWriter, Failed, decode_event


def test_writer_two_events_are_two_lines_in_order() -> None:
    """One line per event."""
    stream = io.StringIO()
    writer = EventWriter(stream)
    writer.write(Failed(at_ns=1, reason="a"))
    writer.write(Ended(at_ns=2))
    assert [decode_event(line) for line in stream.getvalue().splitlines()] == [
        Failed(at_ns=1, reason="a"),
        Ended(at_ns=2),
    ]


def test_writer_event_written_is_flushed_at_once(tmp_path: Path) -> None:
    """A process that is killed has told all it knew."""
    path = tmp_path / "log"
    with path.open("w") as stream:
        EventWriter(stream).write(Ended(at_ns=2))
        assert decode_event(path.read_text()) == Ended(at_ns=2)
