"""Tables against what is true of the log they were made from, and against one another."""

from collections import Counter
from collections.abc import Iterable, Mapping

from bridge.analytics.tables.definitions import (
    BATCH,
    EVENTS,
    FLAPS,
    MEMBERS,
    PHASES,
    REBALANCES,
    REJECTED,
    STALLS,
    TABLES,
    Table,
)
from bridge.analytics.tables.store import Store
from tests.support.fleet_log import Truth

Said = Mapping[str, object]


def said_by_tables(store: Store) -> Said:
    """What the tables say, in the words of the truth."""
    phases = store.read(PHASES).groupBy("phase").agg({"*": "count", "duration_us": "sum"}).collect()
    rebalances = store.read(REBALANCES).collect()
    columns = ("group_id", "rebalance_id", "cause", "moved", "told", "disturbed_members", "duration_us")
    stalls = store.read(STALLS).select("group_id", "partition", "before", "after", "stall_us").collect()
    return {
        "events": store.read(EVENTS).count(),
        "phases": {row["phase"]: (row["count(1)"], row["sum(duration_us)"]) for row in phases},
        "rebalances": sorted(
            tuple(tuple(row[name]) if name == "disturbed_members" else row[name] for name in columns)
            for row in rebalances
        ),
        "stalls": Counter(tuple(row) for row in stalls),
        "flaps": store.read(FLAPS).count(),
        "members": store.read(MEMBERS).count(),
    }


def said_by_truth(truth: Truth) -> Said:
    """The same of the log."""
    return {
        "events": truth.events,
        "phases": {phase: (count, truth.phase_us[phase]) for phase, count in truth.phase_count.items()},
        "rebalances": sorted(
            (one.group_id, one.rebalance_id, one.cause, one.moved, one.told, one.disturbed_members, one.duration_us)
            for one in truth.rebalances
        ),
        "stalls": Counter((one.group_id, one.partition, one.before, one.after, one.stall_us) for one in truth.stalls),
        "flaps": truth.flaps,
        "members": truth.members,
    }


def contents(store: Store, tables: Iterable[Table] = tuple(TABLES.values())) -> dict[str, Counter[str]]:
    """All rows of tables but for the batch that brought them, which a run and a stream count differently.

    Of what was set aside only how often and why: which of two copies is the surplus one depends on their order.
    """
    rows: dict[str, Counter[str]] = {}
    for table in tables:
        columns = (
            ["reason", "event_id", "count"] if table is REJECTED else [c for c in table.column_names if c != BATCH]
        )
        rows[table.name] = Counter(str(row) for row in store.read(table).select(*columns).collect())
    return rows
