"""Files that somebody names are read up to a bound, by the one reader that tells what is wrong with them.

Others are the bridge's own, or are read by lines that have a bound.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import SourceFile, source_files

ROOMS = ("admin", "analytics/shadow", "app", "cli", "config", "migration", "net", "telemetry", "whatif")
READS = {"read_text", "read_bytes", "open"}
READERS = {"named_files"}
"""Modules whose functions of these names have the bound."""
OWN: dict[str, str] = {
    "bridge/config/named_files.py: os.open": "the one reader, so that it waits for no pipe for ever",
    "bridge/cli/main.py: os.open": "the null device, in the place of streams that are closed",
    "bridge/net/broker_ports.py: self.open": "a port",
    "bridge/net/broker_side.py: self.open": "a connection",
    "bridge/net/client_questions.py: self._broker.open": "a connection",
    "bridge/net/descriptors.py: os.open": "the null device, kept as a spare descriptor",
    "bridge/net/proxy.py: self.broker_ports.open": "a port",
    "bridge/analytics/shadow/live.py: path.open": "lines of the event log, each with a bound",
    "bridge/telemetry/logs.py: Path(os.devnull).open": "the null device, to write",
    "bridge/telemetry/event_log/files.py: os.open": "its own files, to write",
    "bridge/telemetry/event_log/files.py: path.open": "lines of the event log, each with a bound",
    "bridge/telemetry/event_log/spool.py: segment.path.open": "its own files",
    "bridge/telemetry/trace/selection.py: opener.open": "a URL, whose answer has a bound",
    "bridge/telemetry/trace/page.py: files('bridge.telemetry.trace').joinpath('page.css').read_text": "of the wheel",
}


def reads(file: SourceFile) -> Iterator[str]:
    """Where something is opened, or read as a whole; those of the reader are others."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READS:
            whose = ast.unparse(node.func.value)
            if whose not in READERS:
                yield f"{file.path}: {ast.unparse(node.func)}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
            yield f"{file.path}: open"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("self.path.read_text()", ["a.py: self.path.read_text"]),
        ("proxy_path.open('rb')", ["a.py: proxy_path.open"]),
        ("open('a')", ["a.py: open"]),
        ("named_files.read_text(path, 9)", []),
    ],
)
def test_what_reads_a_file_is_found(line: str, found: list[str]) -> None:
    """Whatever its name begins with."""
    assert list(reads(SourceFile(path=Path("a.py"), text=line, tree=ast.parse(line)))) == found


def test_files_that_are_named_are_read_by_one_reader() -> None:
    """Two commands read theirs whole, be it a disk."""
    found = {each for room in ROOMS for file in source_files([f"bridge/{room}"]) for each in reads(file)}
    assert found - OWN.keys() == set(), "use bridge.config.named_files, which has a bound"
    assert OWN.keys() - found == set(), "gone: take it from the list"
