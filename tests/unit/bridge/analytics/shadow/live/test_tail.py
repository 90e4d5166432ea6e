"""An event log read as it grows."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from bridge.analytics.shadow import live
from bridge.analytics.shadow.live import Tail
from bridge.telemetry.event_log.codec import encode_event
from bridge.telemetry.schema.facts import Event
from bridge.whatif.comparison import OF_GROUPS, OF_NO_GROUP
from tests.support.event_stories import Story
from tests.support.whatif_log import of_group, one_run, write_whatif_log

NAME = "events-b1-000001.jsonl"


def played(events: Iterable[Event], group: str) -> list[Event]:
    """What of a log a play of the group is made of."""
    return [event for event in of_group(events, group) if event.fact.kind in (*OF_GROUPS, *OF_NO_GROUP)]


def test_events_of_one_group_and_of_none_are_taken_once(tmp_path: Path) -> None:
    """The other group's stay where they are."""
    events = write_whatif_log(tmp_path)
    one = Tail(tmp_path, "orders1")
    assert one.read() > 0
    assert list(one.events) == played(events, "orders1")
    assert (one.read(), len(one.events)) == (0, len(played(events, "orders1")))


def test_line_that_is_being_written_is_taken_when_it_is_whole(tmp_path: Path) -> None:
    """At any byte, and in any file: the next one begins before the last line of the former is looked at again."""
    lines = [encode_event(event) for event in of_group(one_run(1), "orders0")]
    file, later = tmp_path / NAME, tmp_path / "events-b1-000002.jsonl"
    one = Tail(tmp_path, "orders0")
    half = len(lines) // 2
    whole = b"".join(lines[:half])
    for cut in range(0, len(whole), 997):
        file.write_bytes(whole[:cut])
        one.read()
    file.write_bytes(whole)
    later.write_bytes(b"no event\n" + b"".join(lines[half:]))
    one.read()
    assert list(one.events) == played(one_run(1), "orders0")


def test_line_that_is_too_long_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows it is taken."""
    monkeypatch.setattr("bridge.telemetry.event_log.files.LINE_BYTES_MAX", 2_000)
    events = of_group(one_run(1), "orders0")
    (tmp_path / NAME).write_bytes(b"x" * 9_999 + b"\n" + b"".join(map(encode_event, events)))
    one = Tail(tmp_path, "orders0")
    one.read()
    assert list(one.events) == played(events, "orders0")


def test_file_that_was_deleted_is_forgotten(tmp_path: Path) -> None:
    """The bridge deletes the oldest; one of its name would be read from its beginning."""
    write_whatif_log(tmp_path, 1)
    one = Tail(tmp_path, "orders0")
    count = one.read()
    (tmp_path / NAME).unlink()
    assert one.read() == 0
    write_whatif_log(tmp_path, 1)
    assert one.read() == count


def test_file_that_its_bridge_deletes_in_this_moment_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the folder and the look into the file: it ended whoever had followed a group for days."""
    write_whatif_log(tmp_path, 1)
    one = Tail(tmp_path, "orders0")
    monkeypatch.setattr(live, "event_files", lambda folder: [folder / "events-a0-000001.jsonl", folder / NAME])
    assert one.read() > 0
    assert list(one.events) == played(one_run(1), "orders0")


def test_newest_events_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to a limit."""
    monkeypatch.setattr(live, "EVENTS_MAX", 3)
    events = write_whatif_log(tmp_path, 1)
    one = Tail(tmp_path, "orders0")
    one.read()
    assert list(one.events) == played(events, "orders0")[-3:]


def test_group_is_known_by_its_name_alone(tmp_path: Path) -> None:
    """Text of another field, or another group whose name begins so, is none of its events."""
    story = Story()
    story.at(1).began(2)
    (tmp_path / NAME).write_bytes(b"".join(map(encode_event, story.events)))
    one = Tail(tmp_path, "order")
    assert (one.read(), list(one.events)) == (0, [])
