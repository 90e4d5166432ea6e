"""The files of the event log: names, rights and order, the lines in them, and what the last run left open there."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from bridge.telemetry.event_log.codec import Flaw, Rejected, decode_line
from bridge.telemetry.schema.facts import Event, RebalanceBegan, RebalanceEnded

NAME = re.compile(r"events-(?P<boot>[0-9A-Za-z]+)-(?P<index>[0-9]{6,})\.jsonl")
LINE_BYTES_MAX = 16_777_216
"""Longest line that is read; a member with a hundred thousand partitions takes a tenth of it."""


PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700


@dataclass(frozen=True, slots=True, order=True)
class LogFile:
    """One file: the run of the bridge, and its place in it."""

    boot: str
    index: int

    @property
    def name(self) -> str:
        """The file's name."""
        return f"events-{self.boot}-{self.index:06d}.jsonl"


def make_folder(folder: Path) -> None:
    """Have a folder for events; one that is made here is for this user alone, whatever the umask. Raises OSError."""
    if not folder.is_dir():
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        folder.chmod(PRIVATE_FOLDER)


def create_file(path: Path) -> int:
    """A new file to append to, as a descriptor; nobody else has to read what members are called. Raises OSError."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, PRIVATE_FILE)
    os.fchmod(file, PRIVATE_FILE)
    return file


def log_file(name: str) -> LogFile | None:
    """What a file's name says, None for a file that is none of the log's."""
    found = NAME.fullmatch(name)
    return LogFile(found["boot"], int(found["index"])) if found else None


def event_files(path: Path) -> list[Path]:
    """The files of a log in the order they were written, by run and index; `path` itself if it is a file.

    Raises OSError if there is nothing to list.
    """
    if path.is_file():
        return [path]
    found = [(log_file(entry.name), entry) for entry in path.iterdir()]
    return [entry for known, entry in sorted((known, entry) for known, entry in found if known is not None)]


def read_file(path: Path) -> Iterator[Event | Rejected]:
    """Every line of one file; a last line that lacks its newline is torn, or being written, and is skipped."""
    with path.open("rb") as file:
        while line := file.readline(LINE_BYTES_MAX):
            if line.endswith(b"\n"):
                yield decode_line(line)
            elif len(line) == LINE_BYTES_MAX:
                _skip_line(file)
                yield Rejected(Flaw.FOREIGN, f"a line longer than {LINE_BYTES_MAX} bytes")


def read_log(path: Path) -> Iterator[Event | Rejected]:
    """Every line of a log, or of one file, in order."""
    for file in event_files(path):
        yield from read_file(file)


def _skip_line(file: BufferedReader) -> None:
    while (rest := file.readline(LINE_BYTES_MAX)) and not rest.endswith(b"\n"):
        pass


FILES_MAX = 2
"""How many files are looked at, from the last on."""
_MARK = b'"kind":"rebalance-'


def find_unfinished(folder: Path, boot: str) -> list[RebalanceBegan]:
    """The rebalances that the last run before `boot` began and did not end; raises OSError."""
    known = [(log_file(path.name), path) for path in event_files(folder)]
    former = [(file, path) for file, path in known if file is not None and file.boot != boot]
    if not former:
        return []
    last_boot = former[-1][0].boot
    found: dict[str, RebalanceBegan] = {}
    for file, path in former[-FILES_MAX:]:
        if file.boot == last_boot:
            _read(path, found)
    return list(found.values())


def _read(path: Path, found: dict[str, RebalanceBegan]) -> None:
    with path.open("rb") as lines:
        while line := lines.readline(LINE_BYTES_MAX):
            # Most lines are something else, and decoding is what takes time.
            event = decode_line(line) if _MARK in line else None
            if not isinstance(event, Event):
                continue
            if isinstance(event.fact, RebalanceBegan):
                found[event.fact.rebalance_id] = event.fact
            elif isinstance(event.fact, RebalanceEnded):
                found.pop(event.fact.rebalance_id, None)
