"""Tests of the join barrier: the initial delay, early completion, who is dropped, who leads, what is answered."""

from dataclasses import replace

from bridge.engine.model import Phase
from bridge.engine.outcome import GenerationBegun, GroupEmptied, RebalanceBegun
from bridge.engine.records import DeadlineSet
from bridge.engine.state import join_key
from tests.support.classic_bench import (
    DELAY_MS,
    NO_DELAY,
    REBALANCE_MS,
    SESSION_MS,
    ClassicBench,
    join_of,
    offer,
    old_join_of,
)
from tests.support.engine_bench import GROUP
from translators.dialects.classic import JoinedMember
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, MemberId


def test_first_rebalance_waits_the_initial_delay_and_again_for_newcomers() -> None:
    """A newcomer within the delay makes it begin again (K1.30); the first member itself does not lengthen the wait."""
    alone, joined = ClassicBench(), ClassicBench()
    ref = alone.join(join_of("", "A"))
    alone.pass_time(DELAY_MS - 1)
    assert alone.joined(ref) is None
    alone.pass_time(1)
    assert alone.admitted(ref).generation == 1
    refs = [joined.join(join_of("", "A"))]
    joined.pass_time(DELAY_MS - 1)
    refs.append(joined.join(join_of("", "B")))
    joined.pass_time(1)
    assert joined.joined(refs[0]) is None
    joined.pass_time(DELAY_MS)
    assert [joined.admitted(one).generation for one in refs] == [1, 1]


def test_initial_delay_bounded_by_first_rebalance_timeout() -> None:
    """Newcomers every second keep a group waiting no longer than the first member's rebalance timeout (K1.30)."""
    bench = ClassicBench()
    first = bench.join(replace(join_of("", "A"), rebalance_timeout_ms=10_000))
    waited = 0
    while bench.joined(first) is None:
        bench.join(replace(join_of("", f"B{waited}"), rebalance_timeout_ms=10_000))
        bench.pass_time(1_000)
        waited += 1_000
    assert waited == 10_000
    assert len(bench.group.members) == 11


def test_without_initial_delay_the_first_member_is_answered_at_once() -> None:
    """`group.initial.rebalance.delay.ms` 0 leaves nothing to wait for (K1.30)."""
    assert ClassicBench(NO_DELAY).join_now(join_of("", "A")).generation == 1


def test_start_without_journal_holds_the_first_rebalance() -> None:
    """Survivors come first, also in a group without initial delay (decision 9)."""
    bench = ClassicBench(NO_DELAY, no_assignment_before_ms=2_000)
    ref = bench.join(join_of("", "A"))
    bench.pass_time(1_999)
    assert bench.joined(ref) is None
    bench.pass_time(1)
    assert bench.admitted(ref).generation == 1


def test_rebalance_completes_early_when_everybody_has_joined() -> None:
    """The leader alone is told of all members, with the bytes of the chosen protocol (K1.33)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    refs = [bench.join(join_of("", "C"))]
    refs += [bench.join(replace(join_of(second, "B"), protocols=offer("range", says=b"bar")))]
    assert bench.phase is Phase.PREPARING_REBALANCE
    refs += [bench.join(join_of(first, "A"))]
    replies = [bench.admitted(ref) for ref in refs]
    assert {(one.generation, one.leader, one.protocol_name, one.protocol_type) for one in replies} == {
        (2, first, "range", "consumer")
    }
    seats = [(first, "A", b"foo"), (second, "B", b"bar"), (replies[0].member_id, "C", b"foo")]
    listed = {JoinedMember(member_id=one, instance_id=InstanceId(name), metadata=blob) for one, name, blob in seats}
    assert (set(replies[2].members), replies[0].members, replies[1].members) == (listed, (), ())


def test_promised_id_holds_up_completion_until_its_time_is_over() -> None:
    """A JoinGroup under it is still to come (K1.20); the end of its session lets the others go on (K1.33).

    As in Kafka's testJoinGroupCompletionWhenPendingMemberTimesOut.
    """
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.promise()
    refs = [bench.join(join_of(first, "A")), bench.join(join_of(second, "B"))]
    assert [bench.joined(ref) for ref in refs] == [None, None]
    bench.pass_time(SESSION_MS)
    assert [bench.admitted(ref).generation for ref in refs] == [2, 2]


def test_join_deadline_completes_regardless_of_promised_ids() -> None:
    """The timer does not wait for them (K1.33)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.join_now(replace(join_of(), session_timeout_ms=1_800_000))
    refs = [bench.join(join_of(first, "A")), bench.join(join_of(second, "B"))]
    bench.pass_time(REBALANCE_MS)
    assert [bench.admitted(ref).generation for ref in refs] == [2, 2]


def test_dynamic_members_that_did_not_join_are_dropped_static_ones_stay() -> None:
    """A static one keeps its seat until its session ends (K1.34).

    As in Kafka's testCompleteJoinRemoveNotYetRejoinedDynamicMembers.
    """
    bench = ClassicBench()
    static, dynamic, rejoining = bench.form("A", None, "C")
    ref = bench.join(replace(join_of(rejoining, "C"), protocols=offer("range", says=b"bar")))
    for _ in range(REBALANCE_MS // 6_000):
        bench.pass_time(6_000)
        bench.beat(static, "A")
        if dynamic in bench.group.members:
            bench.beat(dynamic)
    assert set(bench.group.members) == {static, rejoining}
    assert (bench.admitted(ref).generation, bench.group.roster.leader) == (2, rejoining)
    assert bench.group.roster.protocol_name == "range"


def test_only_absent_static_members_left_joins_go_on_in_the_same_generation() -> None:
    """With nobody to lead there is no new generation: the join phase begins again (K1.35).

    As in Kafka's testGroupStuckInRebalanceTimeoutDueToNonjoinedStaticMember.
    """
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.leave((first, "A"))
    for _ in range(REBALANCE_MS // 6_000):
        assert bench.beat(second, "B") is ErrorCode.REBALANCE_IN_PROGRESS
        bench.pass_time(6_000)
    assert (bench.phase, bench.generation, set(bench.group.members)) == (Phase.PREPARING_REBALANCE, 1, {second})
    due = bench.bench.state.deadlines.due[join_key(GROUP)]
    assert due == bench.bench.now_ms + REBALANCE_MS, "the join phase has an end again"
    assert bench.join_now(join_of(second, "B")).generation == 2


def test_last_member_gone_group_empty_in_a_new_generation() -> None:
    """The protocol is gone, the type stays, and the next first joiner goes on from that generation (K1.36)."""
    bench = ClassicBench()
    (only,) = bench.form(None)
    bench.leave((only, None))
    roster = bench.group.roster
    assert (bench.phase, roster.generation, roster.protocol_name, roster.leader) == (Phase.EMPTY, 2, None, None)
    assert roster.protocol_type == "consumer"
    assert GroupEmptied(GROUP) in bench.bench.outcome.notices
    ref = bench.join(replace(old_join_of(), protocol_type="connect"))
    bench.pass_time(DELAY_MS)
    assert (bench.admitted(ref).generation, bench.group.roster.protocol_type) == (3, "connect")


def test_rebalance_from_completing_voids_assignments_and_calls_who_waits() -> None:
    """Parked SyncGroups get 27 and run a new session; what was synced last is kept (K1.29, decision 7)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.join(join_of(first, "A"))
    bench.join(join_of(second, "B"))
    ref = bench.sync(second, "B")
    bench.pass_time(SESSION_MS - 1)
    bench.join(join_of("", "C"))
    reply = bench.synced(ref)
    assert reply is not None
    assert (reply.error, reply.assignment) == (ErrorCode.REBALANCE_IN_PROGRESS, b"")
    assert {member.assignment for member in bench.group.members.values()} == {b""}
    assert bench.group.synced.members[second].assignment == second.encode()
    assert any(isinstance(one, DeadlineSet) and one.key.member_id == second for one in bench.bench.outcome.records)


def test_rebalance_from_stable_keeps_assignments_on_show() -> None:
    """Only assignments that nobody got are void (K1.29); a description shows the others (K11.4, first row)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.join(join_of(first, "A"))
    assert [member.assignment for member in bench.group.members.values()] == [first.encode(), second.encode()]


def test_completion_extends_sessions_of_absent_members_too() -> None:
    """Every member's session begins anew (K1.37)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.join(replace(join_of(first, "A"), rebalance_timeout_ms=5_000))
    bench.join(replace(join_of(second, "B"), rebalance_timeout_ms=5_000))
    for member in (first, second):
        due = bench.bench.state.deadlines.due
        assert {at_ms for key, at_ms in due.items() if key.member_id == member} == {bench.bench.now_ms + SESSION_MS}


def test_rebalance_is_noticed_from_begin_to_new_generation() -> None:
    """Whoever watches hears of each rebalance."""
    bench = ClassicBench(NO_DELAY)
    bench.join(join_of("", "A"))
    member = MemberId("A-1")
    assert bench.bench.outcome.notices == (RebalanceBegun(GROUP, 0), GenerationBegun(GROUP, 1, frozenset({member})))


def test_rebalance_of_nobody_over_at_once() -> None:
    """Without members nobody is waited for, not even a promised id (K1.4, K1.36)."""
    bench = ClassicBench()
    (only,) = bench.form("A")
    promised = bench.promise()
    bench.leave((only, "A"))
    assert (bench.phase, list(bench.group.pending)) == (Phase.EMPTY, [promised])
