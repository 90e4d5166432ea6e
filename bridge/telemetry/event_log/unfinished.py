"""Which rebalances the run before left open: it ended in their middle.

It must not know why it ended.
"""

from pathlib import Path

from bridge.telemetry.event_log.decoding import decode_line
from bridge.telemetry.event_log.files import LINE_BYTES_MAX, event_files, log_file
from bridge.telemetry.schema.facts import RebalanceBegan, RebalanceEnded
from bridge.telemetry.schema.stamps import Event

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
