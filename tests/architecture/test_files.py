"""Files that somebody names are read up to a bound, by the one reader that tells what is wrong with them.

Others are the bridge's own, or are read by lines that have a bound.
"""

import ast
from collections.abc import Iterator

from tests.architecture.source_tree import SourceFile, source_files

ROOMS = ("admin", "app", "cli", "config", "migration", "net", "shadow", "telemetry", "whatif")
READS = {"read_text", "read_bytes", "open"}
READERS = {"named_files"}
"""Modules whose functions of these names have the bound."""
OWN: dict[str, str] = {
    "bridge/net/listener.py: os.open": "the null device, kept as a spare descriptor",
    "bridge/shadow/live.py: path.open": "lines of the event log, each with a bound",
    "bridge/telemetry/event_log/files.py: os.open": "its own files, to write",
    "bridge/telemetry/event_log/files.py: path.open": "lines of the event log, each with a bound",
    "bridge/telemetry/event_log/spool.py: segment.path.open": "its own files",
    "bridge/telemetry/trace/page.py: files('bridge.telemetry.trace').joinpath('page.css').read_text": "of the wheel",
}


def reads(file: SourceFile) -> Iterator[str]:
    """Where something is opened, or read as a whole; methods of this project's own and the reader's are others."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READS:
            whose = ast.unparse(node.func.value)
            if whose not in READERS and not whose.startswith(("self", "opener", "proxy")):
                yield f"{file.path}: {ast.unparse(node.func)}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
            yield f"{file.path}: open"


def test_files_that_are_named_are_read_by_one_reader() -> None:
    """Two commands read theirs whole, be it a disk."""
    found = {each for room in ROOMS for file in source_files([f"bridge/{room}"]) for each in reads(file)}
    assert found - OWN.keys() == set(), "use bridge.named_files, which has a bound"
    assert OWN.keys() - found == set(), "gone: take it from the list"
