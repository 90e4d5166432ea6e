"""Which files of a log are complete."""

import os
from pathlib import Path

from bridge.analytics.intake.closed_files import Inbox, closed, ends_with_stop, link

OLD_S = 1_000_000


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
