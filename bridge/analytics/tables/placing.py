"""New folders into the place of old ones, so that a process that dies in between loses neither.

What is to be moved is written down first. Whoever finds that note does the rest: a folder that is still beside its
place stands there whole, one that is not has been moved already.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from bridge.analytics.tables.file_system import FileSystem

NOTE = "moves-"
_UNREADY = "unready-"


class Move(NamedTuple):
    """The folder that takes a place, None for nothing, and the place; both below the root."""

    fresh: str | None
    final: str


def put_in_place(files: FileSystem, folder: str, name: str, moves: Sequence[Move]) -> None:
    """Make all moves, or leave a note in the folder by which they are made later; raise OSError if one is refused.

    The folder has one note of each name, so that several tables can be put in place at once.
    """
    unready, note = f"{folder}/{_UNREADY}{name}", f"{folder}/{NOTE}{name}"
    files.delete(note)
    files.write(unready, json.dumps(moves))
    files.move(unready, note)
    _make(files, note, moves)


def finish(files: FileSystem, folder: str, name: str) -> None:
    """Make the moves that somebody who died has left in the note of this name, or in those of a pattern."""
    for note in files.find(f"{folder}/{NOTE}{name}"):
        _make(files, note, [Move(*pair) for pair in json.loads(files.read(note))])


def _make(files: FileSystem, note: str, moves: Sequence[Move]) -> None:
    for fresh, final in moves:
        place = f"{files.root}/{final}"
        if fresh is None:
            files.delete(place)
        elif files.exists(beside := f"{files.root}/{fresh}"):
            files.delete(place)
            files.move(beside, place)
    files.delete(note)
