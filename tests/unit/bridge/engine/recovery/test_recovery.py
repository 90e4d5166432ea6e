"""Tests of a shard rebuilt from its journal: full sessions, and nothing forgotten that was due."""

from bridge.engine.advance import advance
from bridge.engine.commands import EndSessions, Speaks
from bridge.engine.model import DeadlineKey, DeadlineKind
from bridge.engine.recovery import lapsed_sessions, resume
from tests.support.engine_bench import GROUP, Bench, join_request
from translators.dialects.ids import MemberId

A, B, C = MemberId("a"), MemberId("b"), MemberId("c")


def test_native_members_get_full_sessions_and_revocations_full_time() -> None:
    """K7: after load every session starts anew; a member found revoking gets its rebalance timeout."""
    bench = Bench()
    bench.join("a")
    bench.join("b")
    bench.beat("a")
    bench.ask(join_request("c"), Speaks.CLASSIC)
    state = bench.replayed(durable_only=True)
    resume(state, 1_000)
    assert state.deadlines.due == {
        DeadlineKey(DeadlineKind.SESSION, GROUP, A): 46_000,
        DeadlineKey(DeadlineKind.REBALANCE, GROUP, A): 61_000,
        DeadlineKey(DeadlineKind.SESSION, GROUP, B): 46_000,
    }


def test_group_behind_its_epoch_gets_its_target_with_the_next_deadline() -> None:
    """What a crash left between a leave and its target is made up for."""
    bench = Bench(no_assignment_before_ms=3_000)
    bench.join("a")
    state = bench.replayed(durable_only=True)
    resume(state, 5_000)
    assert state.deadlines.due[DeadlineKey(DeadlineKind.TARGET, GROUP)] == 5_000


def test_sessions_that_ended_in_the_time_away_end_soon() -> None:
    """All that are no longer than that; who has a longer one keeps it."""
    bench = Bench()
    bench.join("a")
    state = bench.replayed(durable_only=True)
    resume(state, 1_000)
    key = DeadlineKey(DeadlineKind.SESSION, GROUP, A)
    assert lapsed_sessions(state, 44_999, 1_000) == ()
    assert lapsed_sessions(state, 45_000, 1_000) == (key,)
    advance(state, [EndSessions(away_ms=44_999, until_ms=7_000)], 1_000)
    assert state.deadlines.due[key] == 46_000
    advance(state, [EndSessions(away_ms=45_000, until_ms=7_000)], 1_000)
    assert state.deadlines.due[key] == 7_000
