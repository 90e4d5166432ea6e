"""Tests of the end of serving classic groups."""

from dataclasses import replace

from bridge.engine.classic.seats import refuse_join
from bridge.engine.commands import ClassicLeave, UnloadClassicGroups
from bridge.engine.model import Phase
from bridge.engine.queries import judge_offset_deletion
from tests.support.classic_bench import ClassicBench, commit_of, join_of
from tests.support.derived_indexes import find_stale
from tests.support.engine_bench import GROUP
from translators.dialects.classic import LeaveGroup, LeaveGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId

NOT_HERE, LATER = ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_parked_joins_and_syncs_hear_of_it() -> None:
    """NOT_COORDINATOR, so that they look for who is (K1.75).

    As in Kafka's testClassicGroupOnUnloadedEmptyAndPreparingRebalance and …CompletingRebalance.
    """
    joining, syncing = ClassicBench(), ClassicBench()
    first, second = joining.form("A", "B")
    parked = joining.join(join_of(first, "A"))
    syncing.form("A", "B")
    syncing.join(join_of(first, "A"))
    syncing.join(join_of(second, "B"))
    waiting = syncing.sync(second, "B")
    joining.tell(UnloadClassicGroups())
    syncing.tell(UnloadClassicGroups(), UnloadClassicGroups())
    assert joining.joined(parked) == refuse_join(NOT_HERE, first)
    assert syncing.sync_code(waiting) is NOT_HERE
    assert joining.bench.state.deadlines.due == {}


def test_dead_group_sends_everybody_on() -> None:
    """COORDINATOR_NOT_AVAILABLE to whatever it is asked (K1.17, K1.49, K1.55, K1.58, K5.4).

    The journal has the group as it was.
    """
    bench = ClassicBench()
    (only,) = bench.form("A")
    bench.tell(UnloadClassicGroups())
    assert bench.phase is Phase.DEAD
    ref = bench.bench.ref()
    bench.tell(ClassicLeave(ref, LeaveGroup(group_id=GROUP, members=())))
    assert bench.replies[ref] == LeaveGroupReply(error=LATER)
    codes = [bench.join_code(join_of(only, "A")), bench.sync_code(bench.sync(only, "A")), bench.beat(only, "A")]
    assert [*codes, bench.commit(commit_of(only, 1))] == [LATER] * 4
    bench.restart()
    assert bench.beat(only, "A") is ErrorCode.NONE


def test_group_that_came_after_the_first_end_hears_of_the_second() -> None:
    """Who is dead already is passed over, and nobody behind it."""
    bench = ClassicBench()
    bench.form("A")
    bench.tell(UnloadClassicGroups())
    other = replace(join_of(), group_id=GroupId("z"), instance_id=InstanceId("B"))
    parked = bench.join(other)
    bench.tell(UnloadClassicGroups())
    joined = bench.joined(parked)
    assert joined is not None
    assert joined.error is NOT_HERE


def test_offsets_of_a_dead_group_are_not_deleted() -> None:
    """It is somebody else's by now (K5.22)."""
    bench = ClassicBench()
    bench.form("A")
    bench.tell(UnloadClassicGroups())
    assert judge_offset_deletion(bench.bench.state, GROUP) is ErrorCode.GROUP_ID_NOT_FOUND


def test_nobody_waits_at_a_dead_group() -> None:
    """What was parked was answered, and no deadline is left."""
    bench = ClassicBench()
    first, _ = bench.form("A", "B")
    bench.join(join_of(first, "A"))
    assert bench.group.joining
    bench.tell(UnloadClassicGroups())
    assert find_stale(bench.bench.state) == []
