"""Tests of the writer of classic groups: replay, roster and indexes."""

from dataclasses import replace

from bridge.engine.apply import apply
from bridge.engine.model import InitialDelay, Phase, ShownGeneration
from bridge.engine.records import (
    AssignmentsHandedOut,
    ClassicGenerationReserved,
    ClassicGenerationsAliased,
    ClassicGroupCreated,
    ClassicGroupSynced,
    ClassicMemberForgotten,
    ClassicMemberReplaced,
    ClassicMemberSeated,
    GroupDeleted,
    HandOutHeldUp,
    JoinDelayChanged,
    JoinPhaseCompleted,
    RebalancePrepared,
)
from bridge.engine.state import Roster, sync_key
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
    """In Kafka by any (K1.61); a replay of the journal has to come to the same leader."""
    bench = ClassicBench()
    first, second, _ = bench.form("A", "B", "C")
    bench.leave((first, "A"))
    assert (bench.group.roster.leader, bench.group.synced.leader) == (second, second)


def test_deleted_group_leaves_no_deadline_behind() -> None:
    """A deadline never outlives its group (K12.9)."""
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
    """As Kafka writes it: generation 0, no protocol, no members (K1.11)."""
    state = Bench().state
    apply(state, ClassicGroupCreated(GROUP))
    group = state.classic_groups[GROUP]
    assert (group.phase, group.roster, group.last_generation) == (Phase.EMPTY, Roster(), 0)


def test_new_generation_ends_what_members_were_shown_before() -> None:
    """From then on everybody is in the group's own generation (decision 8)."""
    bench = ClassicBench()
    (first,) = bench.form("A")
    apply(bench.bench.state, ClassicGenerationsAliased(GROUP, (ShownGeneration(first, 7),)))
    assert bench.group.generation_of(first) == 7
    apply(bench.bench.state, ClassicGenerationReserved(GROUP, 9))
    assert (bench.group.last_generation, bench.group.generation_of(first)) == (9, bench.generation)


def test_forgotten_member_is_not_waited_for_with_its_sync() -> None:
    """The last one takes the wait along, so that no deadline stands for nobody."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    for member, instance in ((first, "A"), (second, "B")):
        bench.join(replace(join_of(member, instance), protocols=offer("range", "x")))
    assert (bench.phase, set(bench.group.unsynced)) == (Phase.COMPLETING_REBALANCE, {first, second})
    apply(bench.bench.state, ClassicMemberForgotten(GROUP, first))
    assert set(bench.group.unsynced) == {second}
    assert sync_key(GROUP) in bench.bench.state.deadlines.due
    apply(bench.bench.state, ClassicMemberForgotten(GROUP, second))
    assert bench.group.unsynced == {}
    assert sync_key(GROUP) not in bench.bench.state.deadlines.due


def test_forgotten_member_takes_its_own_seat_along_and_no_other() -> None:
    """An instance id that somebody else has by now stays with it; who had none takes none."""
    bench = ClassicBench()
    first, second, third = bench.form("A", "B", None)
    heir = replace(bench.group.members[first], member_id=MemberId("heir"))
    seated = ClassicMemberSeated(group_id=GROUP, member=heir, protocol_type="consumer", leader=first, is_new=True)
    apply(bench.bench.state, seated)
    apply(bench.bench.state, ClassicMemberForgotten(GROUP, first))
    assert bench.group.instances == {"A": "heir", "B": second}
    apply(bench.bench.state, ClassicMemberForgotten(GROUP, third))
    assert bench.group.instances == {"A": "heir", "B": second}
    apply(bench.bench.state, ClassicMemberForgotten(GROUP, second))
    assert bench.group.instances == {"A": "heir"}


def test_subscriptions_are_those_of_the_last_join_phase_also_after_a_restart() -> None:
    """OffsetDelete asks for them (K5.22), before anybody has synced and when the journal is all there is."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    for member, instance in ((first, "A"), (second, "B")):
        bench.join(replace(join_of(member, instance), protocols=offer("range", says=b"new")))
    assert bench.phase is Phase.COMPLETING_REBALANCE
    assert bench.group.subscriptions == (b"new", b"new")
    bench.sync_all([first, second], ("A", "B"))
    assert bench.bench.replayed(durable_only=True).classic_groups[GROUP].subscriptions == (b"new", b"new")


def test_phase_that_is_over_leaves_nothing_of_itself() -> None:
    """Who succeeds whom, commits that are waited for, the initial delay: all end with what they were for."""
    bench = ClassicBench()
    first, _ = bench.form("A", "B")
    state, group = bench.bench.state, bench.group
    for over in (RebalancePrepared(GROUP, voids_assignments=False), AssignmentsHandedOut(GROUP)):
        apply(state, HandOutHeldUp(group_id=GROUP, commit_ids=frozenset({7}), member_id=first))
        assert (group.draining, group.succeeding) == (frozenset({7}), {first})
        apply(state, over)
        assert (group.draining, group.succeeding) == (frozenset(), set())
    delay = JoinDelayChanged(GROUP, InitialDelay(remaining_ms=1, last_delay_ms=1))
    apply(state, delay)
    apply(state, JoinPhaseCompleted(group_id=GROUP, generation=2, protocol_name="range", leader=first))
    assert group.delay is None
    apply(state, delay)
    emptied = ClassicGroupSynced(
        group_id=GROUP, generation=3, protocol_type="consumer", protocol_name=None, leader=None, members=()
    )
    apply(state, emptied)
    assert (group.delay, group.phase) == (None, Phase.EMPTY)
