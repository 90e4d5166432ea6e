"""Which versions of the tables belong together: what a reader sees while the next ones are being made.

Delta changes one table at a time. Whoever makes them all writes down their versions when all of them stand, and who
reads them keeps to those. It needs no Spark, and knows tables on this machine only.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.tables.definitions import Table
from bridge.analytics.tables.table_log import TableLog

SNAPSHOT = "_snapshot"
VERSIONS = "versions"
_UNREADY = f"{SNAPSHOT}-unready"


def versions_of(told: Mapping[str, object]) -> dict[str, int]:
    """The versions that a snapshot names."""
    versions = told.get(VERSIONS, {})
    assert isinstance(versions, dict), "as it was parsed"
    return {str(name): int(version) for name, version in versions.items()}


def parse_snapshot(text: bytes, path: str) -> dict[str, object]:
    """What the text of a snapshot says; raise AnalyticsError if it is none, as of a disk that lost its end."""
    try:
        told = json.loads(text)
        if isinstance(told, dict) and isinstance(told.get(VERSIONS, {}), dict):
            versions_of(told)
            return told
    except (ValueError, TypeError, RecursionError) as problem:
        why = str(problem)
    else:
        why = "it names no versions"
    raise AnalyticsError(
        f"EB-ANALYTICS-037: {path}, which says what versions of the tables belong together, can't be read ({why}); it "
        "was damaged: put a copy of it back, or remove it, and tables are read as they are now, until a stream or a "
        "run has made them anew"
    )


def read_snapshot(root: str) -> dict[str, object]:
    """What was written down last below a root, nothing if nothing was; raise AnalyticsError if it is damaged."""
    note = Path(root) / SNAPSHOT
    return parse_snapshot(note.read_bytes(), str(note)) if note.exists() else {}


def write_snapshot(root: str, told: Mapping[str, object]) -> None:
    """Write it down, at once or not at all, also where the machine loses its power."""
    unready = Path(root) / _UNREADY
    with unready.open("w", encoding="utf-8") as file:
        json.dump(told, file)
        file.flush()
        os.fsync(file.fileno())
    unready.replace(Path(root) / SNAPSHOT)


def pinned_log(root: str, table: Table, told: Mapping[str, object] | None = None) -> TableLog:
    """The log of a table below a root, as it belongs to the others by a snapshot; by the newest if none is given."""
    versions = versions_of(read_snapshot(root) if told is None else told)
    return TableLog(f"{root}/{table.name}", table, versions.get(table.name))
