"""Which files of a log are complete."""

import os
from pathlib import Path

import pytest

from bridge.analytics.intake.closed_files import Inbox, closed, ends_with_stop, files_in, link

OLD_S = 1_000_000
STOP = '{"kind":"bridge-stopped"}\n'


def log_file(folder: Path, name: str, text: str = '{"kind":"member-told"}\n') -> Path:
    """A file that was touched long ago."""
    path = folder / f"events-{name}.jsonl"
    path.write_text(text)
    os.utime(path, (OLD_S, OLD_S))
    return path


def test_file_with_a_successor_is_complete(tmp_path: Path) -> None:
    """Within its run; the last file of each run may grow."""
    files = [log_file(tmp_path, name) for name in ("a-000001", "a-000002", "b-000001")]
    assert closed(files, OLD_S + 10, 60) == files[:1]


def test_file_that_nobody_touched_for_long_is_complete(tmp_path: Path) -> None:
    """Its bridge is dead."""
    files = [log_file(tmp_path, "a-000001")]
    assert (closed(files, OLD_S + 60, 60), closed(files, OLD_S + 61, 60)) == ([], files)


def test_file_that_ends_with_the_stop_is_complete(tmp_path: Path) -> None:
    """A whole last line, and no other."""
    stop = '{"kind":"bridge-stopped"}'
    stopped, torn, empty = (
        log_file(tmp_path, name, text)
        for name, text in (("a-000001", f"x\n{stop}\n"), ("b-000001", stop), ("c-000001", ""))
    )
    assert [ends_with_stop(path) for path in (stopped, torn, empty)] == [True, False, False]
    assert closed([stopped, torn, empty], OLD_S, 60) == [stopped]


def test_inbox_gets_each_complete_file_once(tmp_path: Path) -> None:
    """Links, so that nothing is lost when the bridge deletes old files."""
    events = tmp_path / "events"
    events.mkdir()
    inbox = Inbox(events, tmp_path / "links")
    first = log_file(events, "a-000001")
    log_file(events, "a-000002").touch()
    assert (inbox.feed(), inbox.feed()) == (1, 0)
    assert (tmp_path / "links" / first.name).samefile(first)


def test_file_is_copied_where_it_can_not_be_linked(tmp_path: Path) -> None:
    """The place is taken: the link fails, and the copy comes in one piece."""
    path, place = log_file(tmp_path, "a-000001", "new\n"), tmp_path / "place"
    place.write_text("old")
    link(path, place)
    assert place.read_text() == "new\n"


def test_link_to_a_file_elsewhere_is_held_on_to_itself(tmp_path: Path) -> None:
    """Of logs that are gathered by symbolic links: a second name for such a link leads nowhere from another folder."""
    events, links = tmp_path / "events", tmp_path / "links"
    (tmp_path / "pod").mkdir()
    events.mkdir()
    file = log_file(tmp_path / "pod", "a-000001", STOP)
    (events / file.name).symlink_to(f"../pod/{file.name}")
    assert Inbox(events, links).feed() == 1
    file.unlink()
    assert (links / file.name).read_text() == STOP
    assert Inbox(events, links).feed() == 0


def test_other_things_of_such_names_are_no_files_of_a_log(tmp_path: Path) -> None:
    """Somebody keeps old files in a folder that is called like one of them."""
    file = log_file(tmp_path, "b-000001")
    log_file(tmp_path, "a-000001").rename(tmp_path / "notes.txt")
    (tmp_path / "events-a-000001.jsonl").mkdir()
    (tmp_path / "events-c-000001.jsonl").symlink_to(tmp_path / "nowhere")
    assert files_in(tmp_path) == [file]
    assert Inbox(tmp_path, tmp_path / "links").feed() == 1
    assert Inbox(tmp_path, tmp_path / "links").linked() == {file.name}


def test_file_that_its_bridge_deletes_in_this_moment_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it is looked at, linked or copied; where it is there a fault is one."""
    path, place = log_file(tmp_path, "a-000001"), tmp_path / "links" / "a"
    with pytest.raises(FileNotFoundError):
        link(path, place)
    place.parent.mkdir()
    path.unlink()
    assert (closed([path], OLD_S + 61, 60), link(path, place)) == ([], False)
    monkeypatch.setattr(
        "bridge.analytics.intake.closed_files.files_in", lambda _: [path, log_file(tmp_path, "a-000002")]
    )
    assert Inbox(tmp_path, tmp_path / "links").feed() == 1
