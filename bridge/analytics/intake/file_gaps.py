"""What the folder of a log no longer held when a stream came to it, or a run to reading it: files of a run of a bridge,
told by the places of the others.

A bridge counts the files of a run, and the events in them, without gaps, and deletes the oldest files.
"""

import json
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path

from bridge.analytics.intake.closed_files import place_of
from bridge.analytics.intake.columns import LogFile
from bridge.analytics.intake.gaps import Gap
from bridge.analytics.intake.numbers import Seen
from bridge.telemetry.schema.fields import LINE_BYTES_MAX

NUMBER = "number"
TAIL_BYTES = 64 * 2**10
"""So much of the end of a file is read at first; its last line may be longer."""
LINES_LOOKED_AT = 16
"""An event is among so many lines at the begin of a file, or none is looked for: a log may be a stranger's."""


def file_gaps(
    files: Sequence[LogFile], known: Collection[str], seen: Mapping[str, Seen], *, is_first: bool
) -> list[Gap]:
    """What is missing before the files of a batch, where `known` names all that have come or will.

    What had gone before a stream came to a log for the first time (`is_first`) was never next.
    """
    paths = {place_of(file.source): Path(file.path) for file in files}
    places = sorted({*paths, *map(place_of, known)})
    gaps: list[Gap] = []
    for boot, index in sorted(paths):
        before = bisect_left(places, (boot, index)) - 1
        former = places[before][1] if before >= 0 and places[before][0] == boot else 0
        if index - former > 1 and (former or not is_first):
            first = _last_number(paths.get((boot, former)), seen.get(boot, Seen())) + 1
            behind = _number_of(_lines(paths[boot, index]))
            # A file in which no event came is one that lost nothing with it.
            if behind is None or behind > first:
                gaps.append(Gap(f"boot {boot}", first, behind, _words(former + 1, index - 1), NUMBER))
    return gaps


def first_numbers(files: Iterable[LogFile]) -> dict[str, int]:
    """By source the number of the first event of each file that is there, and has one at its begin."""
    found: dict[str, int] = {}
    for file in files:
        try:
            number = _number_of(islice(_lines(Path(file.path)), LINES_LOOKED_AT))
        except FileNotFoundError:
            continue  # As if it had been deleted before anybody looked.
        if number is not None:
            found[file.source] = number
    return found


def deleted_gaps(first: Mapping[str, int], gone: Collection[str]) -> list[Gap]:
    """What is missing by files that were deleted (`gone`) between a look at the folder, which found the `first` number
    of each, and the reading of them.
    """
    places = sorted((place_of(source), source, number) for source, number in first.items())
    gaps: list[Gap] = []
    for (boot, is_gone), group in groupby(places, lambda one: (one[0][0], one[1] in gone)):
        if is_gone:
            lost = list(group)
            later = (number for place, _, number in places if place > lost[-1][0] and place[0] == boot)
            words = _deleted_words(lost[0][1], lost[-1][1])
            gaps.append(Gap(f"boot {boot}", lost[0][2], next(later, None), words, NUMBER))
    return gaps


def _deleted_words(first: str, last: str) -> str:
    were = f"{first} was" if first == last else f"{first} to {last} were"
    return (
        f"{were} deleted while the log was read, and what had not been read of it by then is missing: its bridge keeps "
        "less than there was, or somebody removed it"
    )


def _words(first: int, last: int) -> str:
    were = f"file {first:06d} of this run was" if first == last else f"files {first:06d} to {last:06d} of this run were"
    return f"{were} gone from the folder before the stream came: its bridge keeps less, or somebody removed what it had"


def _last_number(path: Path | None, seen: Seen) -> int:
    """Of the file before, or where an earlier batch had that, of all that came."""
    found = None if path is None else _number_of(_last_lines(path))
    return seen.highest if found is None else found


def _number_of(lines: Iterable[bytes]) -> int | None:
    """The number of the first of these lines that is an event."""
    for line in lines:
        try:
            number = json.loads(line).get(NUMBER)
        except (ValueError, AttributeError, RecursionError):
            continue  # Not every line is an event: strangers, or one that a full disk has cut off.
        if isinstance(number, int):
            return number
    return None


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while line := file.readline(LINE_BYTES_MAX):
            yield line


def _last_lines(path: Path) -> list[bytes]:
    """The last lines of a file, the very last one first."""
    size, tail = path.stat().st_size, TAIL_BYTES
    with path.open("rb") as file:
        while True:
            file.seek(max(0, size - tail))
            lines = file.read(tail).splitlines()
            if len(lines) > 1 or tail >= min(size, LINE_BYTES_MAX):
                return lines[::-1]
            tail *= 2
