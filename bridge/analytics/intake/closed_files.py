"""Which files of a log will not grow any more, and a folder of links to them for a stream to watch.

A stream reads a file once, so one that is still written to would lose its end.
"""

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bridge.telemetry.schema.fields import FILE_NAME

FILES = "events-*.jsonl"
STOPPED = b'"kind":"bridge-stopped"'
TAIL_BYTES = 4096
SETTLED_S = 3_900
"""A bridge begins a new file after an hour at the latest; one untouched for longer belongs to a run that is dead."""


@dataclass(frozen=True, slots=True)
class Inbox:
    """The folder of a log, the folder of links, and when an untouched file counts as complete (seconds)."""

    events: Path
    links: Path
    settled_s: int = SETTLED_S

    def feed(self) -> int:
        """Link what has been completed since the last time; return how many files that were.

        What time it is the file system says, for it also says when a file was written.
        """
        self.links.mkdir(parents=True, exist_ok=True)
        probe = self.links / ".now"
        probe.touch()
        now_s = probe.stat().st_mtime
        complete = closed(files_in(self.events), now_s, self.settled_s)
        fresh = [path for path in complete if not (self.links / path.name).exists()]
        return sum(link(path, self.links / path.name) for path in fresh)

    def linked(self) -> frozenset[str]:
        """The names of the files that count already, whatever becomes of them in the folder of the log."""
        return frozenset(path.name for path in files_in(self.links))


def files_in(folder: Path, pattern: str = FILES) -> list[Path]:
    """What of a log lies in a folder, in order; no folders, and nothing that its bridge has deleted meanwhile.

    Raise OSError where nobody may look.
    """
    return sorted(path for path in folder.glob(pattern) if path.is_file())


def closed(files: Iterable[Path], now_s: float, settled_s: int) -> list[Path]:
    """The files that have a successor in their run, that end with the stop of the bridge, or that nobody touched; not
    what is gone by now.
    """
    known = {path: place_of(path.name) for path in files}
    last = dict(sorted(known.values()))
    return [path for path, (boot, index) in known.items() if index < last[boot] or _is_at_rest(path, now_s, settled_s)]


def _is_at_rest(path: Path, now_s: float, settled_s: int) -> bool:
    try:
        return now_s - path.stat().st_mtime > settled_s or ends_with_stop(path)
    except FileNotFoundError:
        return False  # Bridges delete their oldest files, also in this moment.


def ends_with_stop(path: Path) -> bool:
    """Whether the last line says that the bridge stopped."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL_BYTES))
        lines = file.read().splitlines(keepends=True)
    return bool(lines) and lines[-1].endswith(b"\n") and STOPPED in lines[-1]


def link(path: Path, place: Path) -> bool:
    """A second name for a file; a copy, made at once, where the file system has no links or is another one.

    Of a symbolic link that of the file behind it: one of its own would lead elsewhere from another folder, and hold on
    to nothing. False if the file is gone. Raises OSError.
    """
    try:
        os.link(path.resolve(), place)
    except OSError:
        return _copy(path, place)
    return True


def let_go(place: Path) -> None:
    """Leave of a file that has been taken nothing but this name of it, which says that it counts already.

    Else nothing that a bridge deletes would ever free its room, and a copy take that of the log a second time. What the
    log itself has under the name stays as it is. Raises OSError.
    """
    empty = _unready(place)
    empty.write_bytes(b"")
    empty.replace(place)


def _unready(place: Path) -> Path:
    """A name beside a place that nobody takes for a file of a log."""
    return place.with_name(f".{place.name}.part")


def _copy(path: Path, place: Path) -> bool:
    part = _unready(place)
    try:
        shutil.copyfile(path, part)
    except FileNotFoundError:
        if path.exists():
            raise
        return False
    part.replace(place)
    return True


def place_of(name: str) -> tuple[str, int]:
    """The run that a file is of, and its place among the files of that, from 1; 0 for one that is called otherwise."""
    found = FILE_NAME.fullmatch(name)
    return (found["boot"], int(found["index"])) if found else (name, 0)
