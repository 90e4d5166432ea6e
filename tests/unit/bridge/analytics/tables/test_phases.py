"""Begins and ends of phases, paired."""

from bridge.analytics.tables.phases import phases
from bridge.analytics.tables.store import Store
from bridge.telemetry.schema.terms import Phase, Protocol
from tests.support.fleet_words import MemberWords
from tests.support.spark import START_US, python_nodes, stamped, taken

ANNA = MemberWords("g", "r1", 1, Protocol.CLASSIC, "anna")
BORIS = MemberWords("g", "r1", 1, Protocol.CLASSIC, "boris")
JOIN, JOINED = ANNA.phase(Phase.JOINING)
SYNC, SYNCED = ANNA.phase(Phase.SYNCING)
OTHER, OTHER_END = BORIS.phase(Phase.JOINING)


def test_begin_and_end_make_one_row(store: Store) -> None:
    """Of each member and phase, also when they overlap."""
    events = stamped([(1, JOIN), (2, OTHER), (10, JOINED), (10, SYNC), (30, OTHER_END), (50, SYNCED)])
    rows = phases(taken(store, events)).sort("began_us", "phase").collect()
    found = [(row["member_id"], row["phase"], row["duration_us"], row["is_closed"]) for row in rows]
    assert found == [
        ("anna", "joining", 9_000, True),
        ("boris", "joining", 28_000, True),
        ("anna", "syncing", 40_000, True),
    ]
    assert (rows[0]["began_us"], rows[0]["ended_event"]) == (START_US + 1_000, "b1-3")


def test_phase_twice_in_a_rebalance_makes_two_rows(store: Store) -> None:
    """One after another."""
    events = stamped([(1, JOIN), (4, JOINED), (6, JOIN), (16, JOINED)])
    rows = phases(taken(store, events)).sort("began_us").collect()
    assert [row["duration_us"] for row in rows] == [3_000, 10_000]


def test_begin_without_end_stays_open(store: Store) -> None:
    """A restart of the bridge in the middle: the second begin is no end of the first."""
    events = [*stamped([(1, JOIN)]), *stamped([(1, JOIN), (5, JOINED)], "b2", START_US + 9_000_000)]
    rows = phases(taken(store, events)).sort("began_us").collect()
    assert [(row["duration_us"], row["is_closed"], row["ended_us"]) for row in rows] == [
        (None, False, None),
        (4_000, True, START_US + 9_005_000),
    ]


def test_end_after_a_restart_closes_by_the_wall_clock(store: Store) -> None:
    """The monotonic clock begins anew with each run."""
    events = [*stamped([(1, JOIN)]), *stamped([(1, JOINED)], "b2", START_US + 9_000_000)]
    (row,) = phases(taken(store, events)).collect()
    assert (row["duration_us"], row["boot"]) == (9_000_000, "b1")


def test_phases_call_no_python(store: Store) -> None:
    """Native expressions only."""
    assert python_nodes(phases(taken(store, stamped([JOIN])))) == []
