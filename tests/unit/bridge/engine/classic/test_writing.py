"""Tests of the writer of classic groups: replay, roster and indexes."""

from dataclasses import replace

import pytest

from bridge.engine.apply import apply
from bridge.engine.classic.group import Roster
from bridge.engine.classic.model import Phase
from bridge.engine.classic.records import (
    AssignmentsHandedOut,
    ClassicGroupCreated,
    ClassicMemberForgotten,
    ClassicMemberReplaced,
)
from bridge.engine.classic.writing import _write
from bridge.engine.records import GroupDeleted
from tests.support.classic_bench import ClassicBench, join_of, offer
from tests.support.engine_bench import GROUP, Bench
from tests.support.snapshots import durable, snapshot
from translators.dialects.ids import MemberId


def test_replay_of_everything_equals_live_replay_of_durable_records_the_last_sync() -> None:
    """The law of the journal, on a group with a running rebalance."""
    bench = ClassicBench()
    first, _ = bench.form("A", "B")
    bench.promise()
    bench.join(join_of(first, "A"))
    replayed = bench.bench.replayed(durable_only=True)
    assert snapshot(bench.bench.replayed()) == snapshot(bench.bench.state)
    assert durable(replayed) == durable(bench.bench.state)
    group = replayed.classic_groups[GROUP]
    assert (group.phase, group.roster) == (Phase.STABLE, group.synced)


def test_replay_of_records_about_members_that_never_synced_changes_nothing() -> None:
    """A newcomer was volatile; its departure and replacement are durable."""
    bench = ClassicBench()
    bench.form("A")
    before = bench.bench.replayed(durable_only=True)
    stranger = replace(bench.group.members[MemberId("A-1")], member_id=MemberId("z"), instance_id=None)
    for record in (ClassicMemberForgotten(GROUP, MemberId("x")), ClassicMemberReplaced(GROUP, MemberId("x"), stranger)):
        apply(before, record)
    assert snapshot(before) == snapshot(bench.bench.replayed(durable_only=True))


def test_forgotten_leader_followed_by_the_oldest() -> None:
    """K1.61, deterministic."""
    bench = ClassicBench()
    first, second, _ = bench.form("A", "B", "C")
    bench.leave((first, "A"))
    assert (bench.group.roster.leader, bench.group.synced.leader) == (second, second)


def test_deleted_group_leaves_no_deadline_behind() -> None:
    """K12.9: a deadline never outlives its group."""
    bench = ClassicBench()
    bench.form("A", "B")
    bench.promise()
    bench.join(join_of("A-1", "A"))
    apply(bench.bench.state, GroupDeleted(GROUP))
    assert (bench.bench.state.classic_groups, bench.bench.state.deadlines.due) == ({}, {})


def test_offers_count_members_by_what_they_offer() -> None:
    """The index behind K1.15 and K1.38, through joins, changes, replacements and departures."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.join(replace(join_of(second, "B"), protocols=offer("range", "x")))
    bench.join(replace(join_of("", "C"), protocols=offer("range", "x")))
    assert bench.group.offers == {("range",): 1, ("range", "x"): 2}
    bench.leave((first, "A"), (second, "B"))
    assert bench.group.offers == {("range", "x"): 1}


def test_group_begins_empty() -> None:
    """K1.11."""
    state = Bench().state
    apply(state, ClassicGroupCreated(GROUP))
    group = state.classic_groups[GROUP]
    assert (group.phase, group.roster, group.last_generation) == (Phase.EMPTY, Roster(), 0)


def test_record_without_writer_is_named() -> None:
    """A new kind of record needs a writer before it can be used."""
    bench = ClassicBench()
    bench.form("A")
    with pytest.raises(TypeError, match="EB-ENGINE-007"):
        _write(object(), bench.bench.state, bench.group)
    apply(bench.bench.state, AssignmentsHandedOut(GROUP))
