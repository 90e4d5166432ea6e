"""A log is read in the order it was written, whatever else lies in its folder."""

from pathlib import Path

import pytest

from bridge.telemetry.event_log import files
from bridge.telemetry.event_log.codec import Flaw, Rejected, encode_event
from bridge.telemetry.event_log.files import LogFile, event_files, log_file, read_file, read_log
from bridge.telemetry.schema.facts import BridgeStopped, Event, Stamp
from bridge.telemetry.schema.fields import LINE_BYTES_MAX


def _event(number: int, boot: str = "7f") -> Event:
    return Event(Stamp(boot=boot, number=number, wall_us=1, mono_us=2), BridgeStopped(reason="test"))


def test_file_name_says_run_and_place_and_nothing_else_is_taken() -> None:
    """Names go both ways, also beyond six digits."""
    assert log_file(LogFile("7f", 12).name) == LogFile("7f", 12)
    assert LogFile("7f", 12).name == "events-7f-000012.jsonl"
    assert log_file("events-7f-1234567.jsonl") == LogFile("7f", 1_234_567)
    assert [log_file(name) for name in ("events-7f-12.jsonl", "events.jsonl", "events-7f-000012.jsonl.gz")] == [
        None
    ] * 3


def test_files_come_in_order_of_run_and_place(tmp_path: Path) -> None:
    """Strangers are left alone."""
    for name in ("events-b-000001.jsonl", "events-a-000010.jsonl", "events-a-000002.jsonl", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    assert [path.name for path in event_files(tmp_path)] == [
        "events-a-000002.jsonl",
        "events-a-000010.jsonl",
        "events-b-000001.jsonl",
    ]


def test_torn_tail_is_skipped_and_the_rest_read(tmp_path: Path) -> None:
    """The last line may be half written."""
    path = tmp_path / "events-7f-000001.jsonl"
    path.write_bytes(encode_event(_event(1)) + b"garbage\n" + encode_event(_event(2)) + encode_event(_event(3))[:-5])
    found = list(read_file(path))
    assert [found[0], found[2]] == [_event(1), _event(2)]
    assert isinstance(found[1], Rejected)
    assert list(read_log(tmp_path)) == found


def test_file_that_its_bridge_deletes_in_this_moment_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest make room while somebody reads, and one that was never there would be missed as little."""
    (tmp_path / "events-7f-000002.jsonl").write_bytes(encode_event(_event(2)))
    names = [tmp_path / f"events-7f-00000{number}.jsonl" for number in (1, 2)]
    monkeypatch.setattr(files, "event_files", lambda _: names)
    assert list(read_log(tmp_path)) == [_event(2)]


def test_line_of_endless_length_is_rejected_without_being_held(tmp_path: Path) -> None:
    """What follows such a line is read."""
    path = tmp_path / "events-7f-000001.jsonl"
    with path.open("wb") as file:
        file.truncate(2 * LINE_BYTES_MAX + 1)
        file.seek(0, 2)
        file.write(b"\n" + encode_event(_event(2)))
    rejected, event = read_file(path)
    assert isinstance(rejected, Rejected)
    assert (rejected.flaw, event) == (Flaw.FOREIGN, _event(2))


def test_log_of_nothing_is_an_error(tmp_path: Path) -> None:
    """A folder that is not there is not an empty log."""
    with pytest.raises(FileNotFoundError):
        event_files(tmp_path / "missing")
