"""Writes down which versions of the tables belong together, and opens them so, wherever they lie."""

import json
from collections.abc import Mapping

from bridge.analytics.tables.definitions import CARRIED, TABLES
from bridge.analytics.tables.snapshot import (
    SNAPSHOT,
    VERSIONS,
    parse_snapshot,
    read_snapshot,
    versions_of,
    write_snapshot,
)
from bridge.analytics.tables.store import Store
from bridge.analytics.tables.table_log import TableLog


def publish(store: Store, more: Mapping[str, object] | None = None, versions: Mapping[str, int] | None = None) -> None:
    """Write down the tables as they are now, but for those that are shown at other `versions`, with more that is true
    of these versions only.
    """
    told = {VERSIONS: {**current_versions(store.root), **(versions or {})}, **(more or {})}
    if store.is_here:
        write_snapshot(store.root, told)
    else:
        store.files.write(store.path(SNAPSHOT), json.dumps(told))


def published(store: Store) -> dict[str, object]:
    """What was written down last, nothing if nothing was."""
    if store.is_here:
        return read_snapshot(store.root)
    if not store.files.exists(store.path(SNAPSHOT)):
        return {}
    return parse_snapshot(store.files.read(store.path(SNAPSHOT)).encode(), store.path(SNAPSHOT))


def pinned(store: Store) -> Store:
    """The tables as they were written down last; as they are now where nobody did."""
    return Store(store.spark, store.root, versions_of(published(store)))


def current_versions(root: str) -> dict[str, int]:
    """The newest version of each table that is there."""
    found = {
        table.name: TableLog(f"{root.rstrip('/')}/{table.name}", table).version for table in (*TABLES.values(), CARRIED)
    }
    return {name: version for name, version in found.items() if version is not None}
