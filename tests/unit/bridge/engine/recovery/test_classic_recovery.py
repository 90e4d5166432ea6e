"""Tests of classic groups after a restart of the bridge."""

from dataclasses import replace

from bridge.engine.model import Phase
from bridge.engine.settings import EngineSettings
from tests.support.classic_bench import DELAY_MS, SESSION_MS, ClassicBench, join_of, offer, old_join_of
from translators.dialects.errors import ErrorCode

NONE, REBALANCE = ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS


def test_restart_felt_by_nobody_in_a_stable_group() -> None:
    """Ids, generation and assignments are kept, and every session begins anew (K1.70, K1.71)."""
    bench = ClassicBench()
    first, second = bench.form("A", None)
    bench.pass_time(SESSION_MS - 1)
    bench.restart()
    bench.pass_time(SESSION_MS - 1)
    assert [bench.beat(first, "A"), bench.beat(second)] == [NONE, NONE]
    reply = bench.synced(bench.sync(second))
    assert reply is not None
    assert reply.assignment == second.encode()


def test_restart_keeps_every_protocol_a_member_offers() -> None:
    """A plain rejoin of a follower still matches; Kafka keeps the chosen one only, and rebalances the group (K1.72)."""
    bench = ClassicBench()
    refs = [bench.join(replace(join_of("", name), protocols=offer("range", "sticky"))) for name in ("A", "B")]
    bench.pass_time(DELAY_MS)
    bench.pass_time(DELAY_MS)
    first, second = (bench.admitted(ref).member_id for ref in refs)
    bench.sync_all([first, second], ("A", "B"))
    bench.restart()
    assert bench.join_now(replace(join_of(second, "B"), protocols=offer("range", "sticky"))).generation == 1


def test_restart_during_a_rebalance_goes_back_but_never_repeats_a_generation() -> None:
    """Stable at the last synced generation; the number that was under way is not used again (K7.31)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.join(join_of(first, "A"))
    bench.join(join_of(second, "B"))
    assert bench.generation == 2
    bench.restart()
    assert (bench.phase, bench.generation, bench.beat(first, "A", generation=2)) == (
        Phase.STABLE,
        1,
        ErrorCode.ILLEGAL_GENERATION,
    )
    bench.join(join_of(first, "A"))
    bench.join(replace(join_of(second, "B"), protocols=offer("range", says=b"bar")))
    assert bench.generation == 3


def test_restart_forgets_newcomers_promises_and_delays() -> None:
    """They join again (K7.31)."""
    bench = ClassicBench()
    bench.form("A")
    promised = bench.promise()
    bench.join(old_join_of())
    bench.restart()
    assert (bench.phase, bench.group.pending, len(bench.group.members)) == (Phase.STABLE, {}, 1)
    assert bench.join_code(join_of(promised)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_restart_after_a_departure_rebalances_at_once() -> None:
    """Kafka brings the departed back for a session; here what it held is given out now."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.leave((second, "B"))
    bench.restart()
    assert (bench.phase, list(bench.group.members), bench.beat(first, "A")) == (
        Phase.PREPARING_REBALANCE,
        [first],
        REBALANCE,
    )


def test_restart_after_the_last_departure_leaves_an_empty_group() -> None:
    """The same while a promised id held up the end of the join phase."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.promise()
    bench.leave((first, "A"))
    bench.leave((second, "B"))
    assert bench.phase is Phase.PREPARING_REBALANCE
    bench.restart()
    assert (bench.phase, bench.generation) == (Phase.EMPTY, 2)


def test_restart_with_a_smaller_limit_rebalances() -> None:
    """More members than may be have to meet anew (K1.71).

    As in Kafka's testOnLoadedExceedGroupMaxSizeTriggersRebalance.
    """
    bench = ClassicBench()
    bench.form("A", "B")
    bench.bench.settings = EngineSettings(group_max_size=1)
    bench.restart()
    assert bench.phase is Phase.PREPARING_REBALANCE
