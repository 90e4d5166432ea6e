"""Lines wait on disk in order, survive the process, and are bounded."""

from pathlib import Path

import pytest

from bridge.telemetry.event_log import spool as spooling
from bridge.telemetry.event_log.sinks import SinkUnusable
from bridge.telemetry.event_log.spool import Segment, Spool

LINES = [b"1\n", b"22\n", b"333\n"]


def _taken(spool: Spool) -> list[tuple[Segment, bytes]]:
    found = []
    while (taken := spool.take()) is not None:
        found.append(taken)
    return found


def test_lines_come_back_in_order_once(tmp_path: Path) -> None:
    """What was taken is not given again."""
    spool = Spool(tmp_path, "7f", 1_000)
    assert spool.append(LINES[:2]) == 2
    assert [line for _, line in _taken(spool)] == LINES[:2]
    assert spool.append(LINES[2:]) == 1
    assert [line for _, line in _taken(spool)] == LINES[2:]
    spool.close()


def test_settled_lines_leave_nothing_behind(tmp_path: Path) -> None:
    """A run in which everything was acknowledged leaves an empty folder."""
    spool = Spool(tmp_path, "7f", 1_000)
    spool.append(LINES)
    for segment, _ in _taken(spool):
        spool.settle(segment)
    spool.close()
    assert list(tmp_path.iterdir()) == []


def test_unsettled_lines_are_read_again_by_the_next_run_first(tmp_path: Path) -> None:
    """Nothing is lost with the process; half a line is."""
    first = Spool(tmp_path, "7a", 1_000)
    first.append(LINES[:2])
    _taken(first)
    first.close()
    (left,) = tmp_path.iterdir()
    left.write_bytes(left.read_bytes() + b"torn")
    second = Spool(tmp_path, "7b", 1_000)
    second.append(LINES[2:])
    taken = _taken(second)
    assert [line for _, line in taken] == LINES
    for segment, _ in taken:
        second.settle(segment)
    second.close()
    assert list(tmp_path.iterdir()) == []


def test_rewind_gives_everything_that_is_kept_again(tmp_path: Path) -> None:
    """A producer that failed sends all of it anew."""
    spool = Spool(tmp_path, "7f", 1_000)
    spool.append(LINES)
    spool.settle(_taken(spool)[0][0])
    spool.rewind()
    assert [line for _, line in _taken(spool)] == LINES
    spool.close()


def test_segments_end_and_go_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room comes back as soon as the oldest segment is settled."""
    monkeypatch.setattr(spooling, "SEGMENT_BYTES_MAX", 2)
    spool = Spool(tmp_path, "7f", 6)
    for line in LINES[:2]:
        assert spool.append([line]) == 1
    assert spool.append(LINES[2:]) == 0
    (first, _), _ = _taken(spool)
    spool.settle(first)
    assert spool.size == 3
    assert len(list(tmp_path.iterdir())) == 1
    spool.close()


def test_full_spool_keeps_what_fits(tmp_path: Path) -> None:
    """The rest is for the caller to count."""
    spool = Spool(tmp_path, "7f", 6)
    assert spool.append(LINES) == 2
    assert spool.size == 5
    spool.close()


def test_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    """One sentence with the next step."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SinkUnusable, match=r"^EB-EVENTS-008: .*events\.spool\.path"):
        Spool(tmp_path / "file", "7f", 10)
