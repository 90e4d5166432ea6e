"""Tests of the sync barrier: who waits for the leader, what is handed out, and commits that are on their way."""

from dataclasses import replace

from bridge.engine.classic.barriers import is_draining
from bridge.engine.classic.seats import refuse_join
from bridge.engine.model import Phase
from bridge.engine.outcome import RebalanceCompleted
from tests.support.classic_bench import (
    DELAY_MS,
    REBALANCE_MS,
    SESSION_MS,
    ClassicBench,
    commit_of,
    join_of,
    transaction_of,
)
from tests.support.engine_bench import GROUP
from translators.dialects.classic import SyncGroup, SyncGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId

NONE = ErrorCode.NONE


def completing(*names: str) -> tuple[ClassicBench, list[MemberId]]:
    """A group of static members that have joined their first generation and not synced."""
    bench = ClassicBench()
    refs = [bench.join(join_of("", name)) for name in names]
    bench.pass_time(2 * DELAY_MS)
    bench.pass_time(2 * DELAY_MS)
    return bench, [bench.admitted(ref).member_id for ref in refs]


def test_followers_wait_for_the_leader_in_either_order() -> None:
    """A follower's request is parked (K1.50) until the leader brings what it has dealt out (K1.51).

    As in Kafka's testSyncGroupLeaderAfterFollower and testSyncGroupFollowerAfterLeader.
    """
    bench, (first, second, third) = completing("A", "B", "C")
    early = bench.sync(second, "B")
    assert bench.synced(early) is None
    lead = bench.sync(first, "A", assigns={first: b"a", second: b"b", "unknown": b"x"})
    assert RebalanceCompleted(GROUP, 1) in bench.bench.outcome.notices
    late = bench.sync(third, "C")
    told = [bench.synced(ref) for ref in (lead, early, late)]
    blobs = [b"a", b"b", b""]
    assert told == [
        SyncGroupReply(error=NONE, protocol_type="consumer", protocol_name="range", assignment=blob) for blob in blobs
    ]
    assert (bench.phase, set(bench.group.members)) == (Phase.STABLE, {first, second, third})


def test_syncs_refused_in_order_of_kafka() -> None:
    """The request itself, its group, its member, its generation, its protocol, then the phase (K1.47 to K1.50)."""
    bench, (first, second) = completing("A", "B")
    good = SyncGroup(
        group_id=GROUP,
        generation=1,
        member_id=first,
        instance_id=InstanceId("A"),
        protocol_type="consumer",
        protocol_name="range",
        names_protocol=True,
    )
    cases = [
        (replace(good, protocol_name=None, group_id=GroupId("")), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (replace(good, group_id=GroupId("")), ErrorCode.INVALID_GROUP_ID),
        (replace(good, group_id=GroupId("other")), ErrorCode.UNKNOWN_MEMBER_ID),
        (replace(good, member_id=second, generation=9), ErrorCode.FENCED_INSTANCE_ID),
        (replace(good, member_id=MemberId("x"), instance_id=None), ErrorCode.UNKNOWN_MEMBER_ID),
        (replace(good, generation=9, protocol_name="x"), ErrorCode.ILLEGAL_GENERATION),
        (replace(good, protocol_name="x"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (replace(good, protocol_type="x"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ]
    assert [bench.sync_code(bench.sync_as(request)) for request, _ in cases] == [code for _, code in cases]
    bench.join(join_of("", "C"))
    assert bench.sync_code(bench.sync_as(good)) is ErrorCode.REBALANCE_IN_PROGRESS


def test_sync_of_empty_group_unknown() -> None:
    """An empty group has no members, not even one that was promised an id (K1.48)."""
    bench = ClassicBench()
    promised = bench.promise()
    assert bench.sync_code(bench.sync(promised)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_superseded_sync_answered_not_coordinator() -> None:
    """Kafka 4.3 forgets the first of two that are parked (K1.52); KAFKA-20938 has it answered, and so have we."""
    bench, (first, second) = completing("A", "B")
    parked, again = bench.sync(second, "B"), bench.sync(second, "B")
    assert bench.sync_code(parked) is ErrorCode.NOT_COORDINATOR
    bench.sync(first, "A")
    assert bench.sync_code(again) is NONE


def test_members_that_don_t_sync_are_evicted_static_ones_too() -> None:
    """They have as long as the rebalance may take (K1.53).

    As in Kafka's testRebalanceTimesOutWhenSyncRequestIsNotReceivedFromFollowers.
    """
    bench, (first, second, third) = completing("A", "B", "C")
    bench.sync(first, "A")
    bench.sync(second, "B")
    for _ in range(REBALANCE_MS // 6_000):
        bench.pass_time(6_000)
        for member, name in ((first, "A"), (second, "B"), (third, "C")):
            bench.beat(member, name)
    assert (bench.phase, set(bench.group.members)) == (Phase.PREPARING_REBALANCE, {first, second})


def test_leader_that_does_not_sync_is_evicted_and_who_waited_rebalances() -> None:
    """The leader has no longer than the others (K1.53); the oldest that is left leads (K1.61).

    As in Kafka's testRebalanceTimesOutWhenSyncRequestIsNotReceivedFromLeaders.
    """
    bench, (first, second, third) = completing("A", "B", "C")
    refs = [bench.sync(second, "B"), bench.sync(third, "C")]
    for _ in range(REBALANCE_MS // 6_000):
        bench.pass_time(6_000)
        bench.beat(first, "A")
    assert [bench.sync_code(ref) for ref in refs] == [ErrorCode.REBALANCE_IN_PROGRESS] * 2
    assert (bench.group.roster.leader, first in bench.group.members) == (second, False)


def test_absent_static_member_that_returns_has_to_sync_in_time() -> None:
    """Its successor is waited for in its stead (K1.41, K1.53)."""
    bench, (first, second) = completing("A", "B")
    bench.sync(first, "A")
    newcomer = bench.join_now(join_of("", "B")).member_id
    assert second not in bench.group.members
    for _ in range(REBALANCE_MS // 6_000):
        bench.pass_time(6_000)
        bench.beat(first, "A")
        bench.beat(newcomer, "B")
    assert list(bench.group.members) == [first]


def test_sync_deadline_goes_with_the_last_sync() -> None:
    """Nobody is evicted later (K1.50)."""
    bench, (first, second) = completing("A", "B")
    bench.sync(first, "A")
    bench.sync(second, "B")
    assert {key.member_id for key in bench.bench.state.deadlines.due} == {first, second}


def test_stable_sync_repeats_the_assignment_and_extends_no_session() -> None:
    """Whoever asks again gets what it has (K1.50), and is no more alive by that (K1.62; K11.4, row 2)."""
    bench = ClassicBench()
    (only,) = bench.form("A")
    bench.pass_time(SESSION_MS - 1)
    reply = bench.synced(bench.sync(only, "A"))
    assert reply is not None
    assert reply.assignment == only.encode()
    bench.pass_time(1)
    assert bench.phase is Phase.EMPTY


def test_hand_out_waits_for_commits_of_the_former_generation() -> None:
    """A commit that was let through lands before anybody new reads its partition's offset (decision 2)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    assert bench.commit(commit_of(second, 1, "B")) is NONE
    bench.join(join_of(first, "A"))
    bench.join(join_of(second, "B"))
    refs = [bench.sync(second, "B"), bench.sync(first, "A", assigns={second: b"new"})]
    assert (bench.phase, [bench.synced(ref) for ref in refs]) == (Phase.STABLE, [None, None])
    assert is_draining(bench.bench.state, bench.group)
    superseding = bench.sync(second, "B")
    assert bench.sync_code(refs[0]) is ErrorCode.NOT_COORDINATOR
    bench.end_commits()
    reply = bench.synced(superseding)
    assert reply is not None
    assert (reply.error, reply.assignment) == (NONE, b"new")
    assert bench.sync_code(refs[1]) is NONE


def test_replaced_member_s_commit_lands_before_its_successor_syncs() -> None:
    """A partition with a commit on its way is not free (decision 2): the successor waits, and nobody else notices."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.commit(commit_of(second, 1, "B"))
    newcomer = bench.join_now(join_of("", "B")).member_id
    ref = bench.sync(newcomer, "B")
    assert bench.synced(ref) is None
    assert bench.beat(first, "A") is NONE
    bench.end_commits()
    assert bench.sync_code(ref) is NONE


def test_rebalance_while_draining_calls_who_waits() -> None:
    """Whoever is parked hears of the next rebalance (K1.29), for whatever reason it is parked."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.commit(transaction_of())
    bench.join(join_of(first, "A"))
    bench.join(join_of(second, "B"))
    ref = bench.sync(first, "A")
    assert bench.synced(ref) is None
    bench.leave((second, "B"))
    assert bench.sync_code(ref) is ErrorCode.REBALANCE_IN_PROGRESS
    bench.end_commits()
    assert refuse_join(NONE) not in bench.replies.values()
