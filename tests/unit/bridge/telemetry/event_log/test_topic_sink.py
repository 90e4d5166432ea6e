"""A topic that nobody answers for costs nothing but disk; what reaches it is `tests/endtoend/test_event_topic`'s."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.telemetry.event_log import topic_sink
from bridge.telemetry.event_log.codec import encode_event
from bridge.telemetry.event_log.sinks import Line
from bridge.telemetry.event_log.spool import Spool
from bridge.telemetry.event_log.topic_sink import IN_FLIGHT_BYTES_MAX, open_topic
from bridge.telemetry.schema.facts import BridgeStopped, Event, GroupDeleted, Stamp
from bridge.telemetry.schema.terms import Road


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An address where nothing listens, and no patience at the end."""
    monkeypatch.setattr(topic_sink, "CLOSE_S", 0.0)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def _lines(count: int) -> list[Line]:
    events = [
        Event(Stamp("7f", number, 1, 2), GroupDeleted(group_id="g", road=Road.PASSING)) for number in range(1, count)
    ]
    events.append(Event(Stamp("7f", count, 1, 2), BridgeStopped(reason="test")))
    return [Line(event, encode_event(event)) for event in events]


def test_unreachable_topic_keeps_events_on_disk(nowhere: str, tmp_path: Path) -> None:
    """Nothing is written, nothing is lost, and the next run finds it."""
    sink = open_topic((nowhere,), "events", Spool(tmp_path, "7f", 100_000))
    lines = _lines(3)
    sink.write(lines)
    sink.tend()
    sink.close()
    assert (sink.fate.written, sink.fate.lost) == (0, 0)
    assert b"".join(path.read_bytes() for path in tmp_path.iterdir()) == b"".join(line.data for line in lines)


def test_full_spool_counts_what_is_lost(nowhere: str, tmp_path: Path) -> None:
    """The stated limit holds."""
    lines = _lines(3)
    spool = Spool(tmp_path, "7f", len(lines[0].data))
    sink = open_topic((nowhere,), "events", spool)
    sink.write(lines)
    sink.close()
    assert sink.fate.lost == 2


def test_long_events_wait_on_disk(nowhere: str, tmp_path: Path) -> None:
    """Names are their clients' to choose: of a topic that was away all that the spool may keep stood in memory, too."""
    stamps = (Stamp("7f", number, 1, 2) for number in range(100))
    events = [Event(stamp, GroupDeleted(group_id="g" * 1_000_000, road=Road.PASSING)) for stamp in stamps]
    spool = Spool(tmp_path, "7f", 200_000_000)
    sink = open_topic((nowhere,), "events", spool)
    for event in events:
        sink.write([Line(event, encode_event(event))])
    sink.tend()
    assert spool.size > 100_000_000
    assert len(sink._producer) == -(-IN_FLIGHT_BYTES_MAX // (spool.size // len(events)))
    sink.close()
    assert sink.fate.lost == 0


def test_spooled_line_that_is_no_event_is_lost_alone(nowhere: str, tmp_path: Path) -> None:
    """What somebody else put there does not stop the rest."""
    (tmp_path / "spool-7a-000001.jsonl").write_bytes(b"garbage\n")
    sink = open_topic((nowhere,), "events", Spool(tmp_path, "7f", 100_000))
    sink.write(_lines(1))
    sink.close()
    assert sink.fate.lost == 1
    assert [path.name for path in tmp_path.iterdir()] == ["spool-7f-000001.jsonl"]
