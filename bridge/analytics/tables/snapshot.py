"""Which versions of the tables belong together: what a reader sees while the next ones are being made.

Delta changes one table at a time. Whoever makes them all writes down their versions when all of them stand, and who
reads them keeps to those. It needs no Spark, and knows tables on this machine only.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from bridge.analytics.tables.definitions import Table
from bridge.analytics.tables.table_log import TableLog

SNAPSHOT = "_snapshot"
VERSIONS = "versions"
_UNREADY = f"{SNAPSHOT}-unready"


def versions_of(told: Mapping[str, object]) -> dict[str, int]:
    """The versions that a snapshot names."""
    versions = told.get(VERSIONS, {})
    assert isinstance(versions, dict)
    return {str(name): int(version) for name, version in versions.items()}


def read_snapshot(root: str) -> dict[str, object]:
    """What was written down last below a root, nothing if nothing was."""
    note = Path(root) / SNAPSHOT
    told: dict[str, object] = json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}
    return told


def write_snapshot(root: str, told: Mapping[str, object]) -> None:
    """Write it down, at once or not at all."""
    unready = Path(root) / _UNREADY
    unready.write_text(json.dumps(told), encoding="utf-8")
    unready.replace(Path(root) / SNAPSHOT)


def pinned_log(root: str, table: Table, told: Mapping[str, object] | None = None) -> TableLog:
    """The log of a table below a root, as it belongs to the others by a snapshot; by the newest if none is given."""
    versions = versions_of(read_snapshot(root) if told is None else told)
    return TableLog(f"{root}/{table.name}", table, versions.get(table.name))
