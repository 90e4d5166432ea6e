"""Tests of deadlines of classic groups."""

from dataclasses import replace

import pytest

from bridge.engine.model import NEW_MEMBER_JOIN_TIMEOUT_MS, Phase
from bridge.engine.outcome import MemberRemoved, RemovalCause
from bridge.engine.queries import next_deadline
from bridge.engine.settings import EngineSettings
from tests.support.classic_bench import SESSION_MS, ClassicBench, join_of, old_join_of
from tests.support.engine_bench import GROUP
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId


def test_session_over_member_gone_others_rebalance() -> None:
    """Static members expire like any other (K1.46, K1.60)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.pass_time(SESSION_MS - 1)
    bench.beat(first, "A")
    outcome = bench.pass_time(1)
    expired = MemberRemoved(
        group_id=GROUP,
        member_id=second,
        instance_id=InstanceId("B"),
        cause=RemovalCause.SESSION_EXPIRED,
        client_id="client",
        generation=1,
    )
    assert expired in outcome.notices
    assert (bench.phase, list(bench.group.members)) == (Phase.PREPARING_REBALANCE, [first])


def test_session_over_while_preparing_ends_the_wait_for_it() -> None:
    """Who never came back is not waited for until the rebalance timeout (K1.60)."""
    bench = ClassicBench()
    first, _ = bench.form("A", "B")
    ref = bench.join(join_of(first, "A"))
    bench.pass_time(SESSION_MS)
    assert bench.admitted(ref).generation == 2


def test_parked_member_lives_on_and_gets_a_session_with_its_answer() -> None:
    """Parked in JoinGroup or SyncGroup it can't heartbeat; nothing overdue is left behind (K1.60)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    ref = bench.join(replace(join_of(first, "A"), rebalance_timeout_ms=200_000))
    for _ in range(12):
        bench.pass_time(SESSION_MS - 1)
        bench.beat(second, "B")
    due_ms = next_deadline(bench.bench.state)
    assert bench.joined(ref) is None
    assert due_ms is not None
    assert due_ms > bench.bench.now_ms
    bench.join(join_of(second, "B"))
    assert bench.admitted(ref).generation == 2
    bench.beat(second, "B")
    bench.pass_time(SESSION_MS - 1)
    assert first in bench.group.members
    bench.pass_time(1)
    assert first not in bench.group.members


def test_deadline_that_an_earlier_one_moved_does_not_pass() -> None:
    """The shell comes late, and the end of the join phase has just extended a session that was also over (K0.3.3)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    ref = bench.join(join_of(first, "A"))
    for _ in range(6):
        bench.pass_time(9_000)
        bench.beat(second, "B")
    bench.pass_time(11_000)
    assert bench.admitted(ref).generation == 2
    assert list(bench.group.members) == [first, second]


def test_expired_promise_is_forgotten() -> None:
    """An id that nobody came back with for a session is nobody's (K1.60).

    As in Kafka's testHeartbeatExpirationShouldRemovePendingMember.
    """
    bench = ClassicBench()
    promised = bench.promise()
    bench.pass_time(SESSION_MS)
    assert bench.group.pending == {}
    assert bench.join_code(join_of(promised)) is ErrorCode.UNKNOWN_MEMBER_ID


LONG_DELAY_MS = 30_000
LONGER_DELAY_MS = NEW_MEMBER_JOIN_TIMEOUT_MS + 10_000


@pytest.mark.parametrize(
    ("another_after_ms", "held_until_ms", "goes_on_at_ms"),
    [
        (None, 0, SESSION_MS),
        (None, SESSION_MS, SESSION_MS),
        (None, SESSION_MS + 1, LONG_DELAY_MS),
        (4_000, 0, SESSION_MS + 4_000),
    ],
)
def test_expired_promise_ends_the_initial_delay_if_everybody_is_there(
    another_after_ms: int | None, held_until_ms: int, goes_on_at_ms: int
) -> None:
    """As in Kafka, which asks who is there and not how long it has waited (K1.60); not while other ids are promised,
    nor before survivors of a restart had their time (decision 9).
    """
    bench = ClassicBench(EngineSettings(group_initial_rebalance_delay_ms=LONG_DELAY_MS), held_until_ms)
    bench.promise()
    ref = bench.join(old_join_of())
    if another_after_ms is not None:
        bench.pass_time(another_after_ms)
        bench.promise()
    while bench.bench.now_ms < goes_on_at_ms - 1:
        bench.pass_time(min(SESSION_MS, goes_on_at_ms - 1 - bench.bench.now_ms))
    assert bench.joined(ref) is None
    bench.pass_time(1)
    assert (bench.admitted(ref).generation, bench.phase) == (1, Phase.COMPLETING_REBALANCE)


def test_expired_promise_ends_the_initial_delay_of_a_group_that_everybody_has_left() -> None:
    """Nobody is there, and nobody is waited for: the group is Empty at once (K1.36, K1.60)."""
    bench = ClassicBench(EngineSettings(group_initial_rebalance_delay_ms=LONG_DELAY_MS))
    bench.promise()
    bench.join(old_join_of())
    (member,) = bench.group.members
    bench.leave((member, None))
    assert bench.phase is Phase.PREPARING_REBALANCE
    bench.pass_time(SESSION_MS)
    assert (bench.phase, next_deadline(bench.bench.state)) == (Phase.EMPTY, None)


@pytest.mark.parametrize(
    ("held_until_ms", "goes_on_at_ms"),
    [
        (0, NEW_MEMBER_JOIN_TIMEOUT_MS),
        (NEW_MEMBER_JOIN_TIMEOUT_MS, NEW_MEMBER_JOIN_TIMEOUT_MS),
        (NEW_MEMBER_JOIN_TIMEOUT_MS + 1, LONGER_DELAY_MS),
    ],
)
def test_newcomer_that_waited_too_long_ends_the_initial_delay_if_everybody_is_there(
    held_until_ms: int, goes_on_at_ms: int
) -> None:
    """As a promise that nobody kept does, in Kafka too: of LeaveGroup alone it says that a first rebalance waits
    (K1.59, K1.60). Not before survivors of a restart had their time (decision 9).
    """
    bench = ClassicBench(EngineSettings(group_initial_rebalance_delay_ms=LONGER_DELAY_MS), held_until_ms)
    first = bench.join(old_join_of())
    bench.pass_time(200_000)
    second = bench.join(old_join_of())
    bench.pass_time(NEW_MEMBER_JOIN_TIMEOUT_MS - 1 - bench.bench.now_ms)
    assert (bench.joined(first), bench.joined(second)) == (None, None)
    bench.pass_time(1)
    expired = bench.joined(first)
    assert expired is not None
    assert (expired.error, expired.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    if goes_on_at_ms > bench.bench.now_ms:
        bench.pass_time(goes_on_at_ms - 1 - bench.bench.now_ms)
        assert bench.joined(second) is None
        bench.pass_time(1)
    assert (bench.admitted(second).generation, bench.phase) == (1, Phase.COMPLETING_REBALANCE)


def test_newcomer_that_waited_too_long_is_waited_for_by_nobody() -> None:
    """Nobody else came: the group is Empty at once (K1.36, K1.60), and not at the end of its delay."""
    bench = ClassicBench(EngineSettings(group_initial_rebalance_delay_ms=LONGER_DELAY_MS))
    ref = bench.join(old_join_of())
    bench.pass_time(NEW_MEMBER_JOIN_TIMEOUT_MS)
    assert bench.joined(ref) is not None
    assert (bench.phase, next_deadline(bench.bench.state)) == (Phase.EMPTY, None)
