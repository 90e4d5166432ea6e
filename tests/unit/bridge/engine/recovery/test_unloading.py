"""Tests of the end of serving classic groups."""

from bridge.engine.classic.seats import refuse_join
from bridge.engine.commands import ClassicLeave, UnloadClassicGroups
from bridge.engine.model import Phase
from tests.support.classic_bench import ClassicBench, commit_of, join_of
from tests.support.engine_bench import GROUP
from translators.dialects.classic import LeaveGroup, LeaveGroupReply
from translators.dialects.errors import ErrorCode

NOT_HERE, LATER = ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_parked_joins_and_syncs_hear_of_it() -> None:
    """K1.75 (testClassicGroupOnUnloadedEmptyAndPreparingRebalance, …CompletingRebalance)."""
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
    """K1.17, K1.49, K1.55, K1.58, K5.4; and the journal has the group as it was."""
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
