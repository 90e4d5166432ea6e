"""Tests of snapshots: they tell states apart, and the durable one leaves out what a restart loses."""

from dataclasses import fields

from bridge.engine.state import ClassicGroup, Roster
from tests.support.classic_bench import ClassicBench
from tests.support.engine_bench import GROUP, Bench
from tests.support.snapshots import durable, snapshot


def test_session_extended_changes_only_the_volatile_part() -> None:
    """Deadlines are volatile."""
    bench = Bench()
    bench.join("a")
    before = (durable(bench.state), snapshot(bench.state))
    bench.now_ms = 10
    bench.beat("a")
    assert durable(bench.state) == before[0]
    assert snapshot(bench.state) != before[1]


def test_snapshot_is_not_changed_by_what_follows() -> None:
    """A snapshot is a value."""
    bench = Bench()
    bench.join("a")
    before, again = durable(bench.state), durable(bench.state)
    bench.join("b")
    assert before == again
    assert durable(bench.state) != before


def test_snapshot_of_a_classic_group_shares_nothing_that_changes() -> None:
    """Whatever a field is called: a container that both have would change with the group, and differ from nothing."""
    bench = ClassicBench()
    bench.form("A", "B")
    group, kept = bench.group, snapshot(bench.bench.state).classic_groups[GROUP]
    lent = {
        f"{kind.__name__}.{one.name}"
        for kind, live, copy in (
            (ClassicGroup, group, kept),
            (Roster, group.roster, kept.roster),
            (Roster, group.synced, kept.synced),
        )
        for one in fields(kind)
        if getattr(live, one.name) is getattr(copy, one.name)
        and isinstance(getattr(live, one.name), dict | set | list | Roster)
    }
    assert lent == set()
    assert kept == group


def test_durable_records_replayed_give_the_durable_part() -> None:
    """The law of the journal, on one history (the rest is in the properties)."""
    bench = Bench()
    bench.join("a")
    bench.join("b")
    bench.leave("a")
    assert durable(bench.replayed(durable_only=True)) == durable(bench.state)
