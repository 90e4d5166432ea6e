"""Files are whole, bounded in number and size, and a full disk costs events and nothing else."""

import errno
import os
from pathlib import Path

import pytest

from bridge.telemetry.event_log.files import SYNC_US, FileLimits, FileSink
from bridge.telemetry.event_log.sinks import Line, SinkUnusable
from bridge.telemetry.schema.facts import BridgeStopped, Event, Stamp

EVENT = Event(Stamp("7f", 1, 2, 3), BridgeStopped(reason="test"))
LINES = [Line(EVENT, b'{"a":1}\n'), Line(EVENT, b'{"a":2}\n')]


class Wall:
    def __init__(self) -> None:
        self.now_us = 1_700_000_000_000_000

    def __call__(self) -> int:
        return self.now_us


def _sink(folder: Path, **limits: int) -> tuple[FileSink, Wall]:
    wall = Wall()
    return FileSink(folder, "7f", FileLimits(**limits), wall), wall


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_lines_are_in_the_file_as_soon_as_they_are_written(tmp_path: Path) -> None:
    """Nothing waits in a buffer that a kill would lose."""
    sink, _ = _sink(tmp_path / "new" / "folder")
    sink.write(LINES)
    assert (tmp_path / "new" / "folder" / "events-7f-000001.jsonl").read_bytes() == b'{"a":1}\n{"a":2}\n'
    assert (sink.fate.written, sink.fate.lost) == (2, 0)
    sink.close()


def test_disk_is_asked_to_keep_lines_about_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a machine that loses its power may lose; also at the end of a file and of the run, and never for nothing."""
    kept: list[int] = []
    monkeypatch.setattr(os, "fsync", kept.append)
    sink, wall = _sink(tmp_path, file_bytes_max=32)
    sink.tend()
    counts: list[int] = []
    for later_us in (0, SYNC_US - 1, 1, 1):
        wall.now_us += later_us
        sink.write(LINES[:1])
        sink.tend()
        counts.append(len(kept))
    sink.write(LINES)
    assert (counts, len(kept)) == ([0, 0, 1, 1], 2)
    sink.close()
    assert len(kept) == 3


def test_disk_that_keeps_nothing_is_told_of_and_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The lines are written; whether they would outlive a power failure is not known."""

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    sink, wall = _sink(tmp_path)
    sink.write(LINES)
    wall.now_us += SYNC_US
    sink.tend()
    assert (sink.fate.written, sink.fate.lost) == (2, 0)
    assert "EB-EVENTS-002" in caplog.text
    sink.close()


def test_full_or_old_file_ends_with_the_next_write(tmp_path: Path) -> None:
    """Rotation by size and by age; a file without a line goes on."""
    sink, wall = _sink(tmp_path, file_bytes_max=16, file_age_max_s=60)
    wall.now_us += 61_000_000
    sink.write(LINES)
    sink.write(LINES[:1])
    wall.now_us += 61_000_000
    sink.write(LINES[:1])
    sink.close()
    assert [path.stat().st_size for path in sorted(tmp_path.iterdir())] == [16, 8, 8]


def test_oldest_files_of_any_run_are_deleted_beyond_the_total(tmp_path: Path) -> None:
    """Retention by size; files of others stay."""
    for number, name in enumerate(("events-00-000001.jsonl", "events-00-000002.jsonl", "notes.txt")):
        (tmp_path / name).write_bytes(b"x" * 100)
        os.utime(tmp_path / name, ns=(10**18 + number, 10**18 + number))
    sink, wall = _sink(tmp_path, total_bytes_max=100, total_age_max_s=10**9)
    assert _names(tmp_path) == ["events-00-000002.jsonl", "events-7f-000001.jsonl", "notes.txt"]
    sink.close()
    del wall


def test_files_are_deleted_beyond_the_age(tmp_path: Path) -> None:
    """Retention by age."""
    old = tmp_path / "events-00-000001.jsonl"
    old.write_bytes(b"x")
    os.utime(old, ns=(10**18, 10**18))
    sink, _ = _sink(tmp_path, total_age_max_s=3600)
    assert _names(tmp_path) == ["events-7f-000001.jsonl"]
    sink.close()


def test_disk_full_is_counted_and_leaves_no_torn_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a batch is taken back; with room again the log goes on in the same file."""
    sink, _ = _sink(tmp_path)
    sink.write(LINES)
    real = os.write

    def write_half(file: int, data: memoryview) -> int:
        if len(data) < 16:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, data[:11])

    monkeypatch.setattr(os, "write", write_half)
    sink.write(LINES)
    monkeypatch.undo()
    sink.write(LINES[:1])
    sink.close()
    assert (tmp_path / "events-7f-000001.jsonl").read_bytes() == b'{"a":1}\n{"a":2}\n{"a":1}\n'
    assert (sink.fate.written, sink.fate.lost) == (3, 2)


def test_place_that_is_no_folder_is_refused_at_start(tmp_path: Path) -> None:
    """One sentence with the next step."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SinkUnusable, match=r"^EB-EVENTS-001: events can't be written to .*; name a folder"):
        FileSink(tmp_path / "file", "7f", FileLimits(), Wall())


@pytest.mark.parametrize(("file_bytes_max", "total_bytes_max"), [(64, 256), (1_000, 256), (200, 256)])
def test_folder_never_grows_beyond_its_bound(tmp_path: Path, file_bytes_max: int, total_bytes_max: int) -> None:
    """The file that is being written counts too, and so does what a batch is about to add to it."""
    (tmp_path / "events-6e-000001.jsonl").write_bytes(b"{}\n" * 60)
    sink, _ = _sink(tmp_path, file_bytes_max=file_bytes_max, total_bytes_max=total_bytes_max)
    most = 0
    for count in (1, 2, 7, 3, 20, 1, 5, 40, 2):
        sink.write(LINES[:1] * count)
        most = max(most, sum(path.stat().st_size for path in tmp_path.iterdir()))
    assert total_bytes_max // 2 <= most <= total_bytes_max
    assert (sink.fate.written, sink.fate.lost) == (81, 0)
    sink.close()


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_files_are_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    """And a folder that is made for them; one that was there keeps the rights that somebody gave it."""
    made, found = tmp_path / "made", tmp_path / "found"
    found.mkdir(mode=0o755)
    found.chmod(0o755)
    before = os.umask(mask)
    try:
        for folder in (made, found):
            sink, _ = _sink(folder, file_bytes_max=len(LINES[0].data))
            sink.write(LINES)
            sink.close()
            assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
        assert (made.stat().st_mode & 0o777, found.stat().st_mode & 0o777) == (0o700, 0o755)
    finally:
        os.umask(before)
