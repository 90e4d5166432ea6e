"""Tests of which commits and offset fetches pass, and what a commit on its way holds up."""

from dataclasses import replace

import pytest

from bridge.engine.commands import BeginCommit, EndCommit, Speaks
from bridge.engine.commits import check_fetch
from bridge.engine.outcome import PartitionsFreed
from bridge.engine.settings import EngineSettings
from tests.support.engine_bench import (
    FOO,
    GROUP,
    Bench,
    beat_request,
    join_request,
    parts,
    static_join_request,
    topic_id,
)
from translators.dialects.coordinator import CommitAdmitted, CommitRefused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import STATIC_LEAVE_EPOCH, GroupId, InstanceId, MemberId, TopicName
from translators.dialects.offsets import OffsetCommit, PartitionCommit, TopicCommit, TxnOffsetCommit

A, B = MemberId("a"), MemberId("b")
NO_DELAY = EngineSettings(group_initial_rebalance_delay_ms=0)


def commit(member: str, epoch: int, *numbers: int) -> OffsetCommit:
    """A commit of partitions of foo, in a version that knows member epochs."""
    partitions = tuple(PartitionCommit(partition=number, offset=1) for number in numbers or (0,))
    return OffsetCommit(
        group_id=GROUP,
        generation=epoch,
        member_id=MemberId(member),
        instance_id=None,
        topics=(TopicCommit(name=FOO, partitions=partitions),),
    )


def transaction(member: str, epoch: int) -> TxnOffsetCommit:
    """The same within a transaction."""
    plain = commit(member, epoch)
    return TxnOffsetCommit(
        transactional_id="t",
        group_id=GROUP,
        producer_id=1,
        producer_epoch=1,
        topics=plain.topics,
        generation=epoch,
        member_id=plain.member_id,
    )


def begin(bench: Bench, request: OffsetCommit | TxnOffsetCommit) -> ErrorCode | int:
    """A commit's id, or why it was refused."""
    message = bench.tell(BeginCommit(bench.ref(), request)).replies[0][1]
    assert isinstance(message, CommitAdmitted | CommitRefused)
    return message.commit_id if isinstance(message, CommitAdmitted) else message.code


def two_members() -> Bench:
    """Native a with the older partitions and b with those it was given later, both settled at epoch 3."""
    bench = Bench()
    bench.join("a")
    bench.join("b")
    bench.settle("a", "b")
    assert (bench.current("a").epoch, bench.current("b").epoch) == (3, 3)
    return bench


def test_commit_at_own_epoch_is_admitted_with_a_new_id_each() -> None:
    """Every commit has its own id."""
    bench = two_members()
    own = min(bench.assigned("a")).partition
    assert [begin(bench, commit("a", 3, own)), begin(bench, commit("a", 3, own))] == [1, 2]


@pytest.mark.parametrize("lag", [-1, 9])
def test_commit_at_newer_or_unknown_epoch_is_stale(lag: int) -> None:
    """Newer always fails, older only with partitions of its own (K5.11 with 11.4)."""
    bench = two_members()
    other = next(iter(bench.assigned("b"))).partition
    assert begin(bench, commit("a", 3 - lag, other)) is ErrorCode.STALE_MEMBER_EPOCH


def test_commit_at_own_epoch_fails_for_partitions_of_another_member() -> None:
    """It may have waited behind another commit until its partition was released and given away (decision 2)."""
    bench = two_members()
    other = next(iter(bench.assigned("b"))).partition
    assert begin(bench, commit("a", 3, other)) is ErrorCode.STALE_MEMBER_EPOCH


def test_commit_at_older_epoch_passes_for_partitions_kept_since_then() -> None:
    """What `a` keeps was assigned at epoch 2, and is still its own at 3 (decision 3)."""
    bench = two_members()
    kept = sorted(partition.partition for partition in bench.assigned("a"))
    assert begin(bench, commit("a", 2, *kept)) == 1
    lost = next(iter(bench.assigned("b"))).partition
    assert begin(bench, commit("a", 2, *kept, lost)) is ErrorCode.STALE_MEMBER_EPOCH


def test_commit_at_older_epoch_fails_for_partitions_assigned_later() -> None:
    """b got its partitions at epoch 3: nothing it sent under 2 can be about them."""
    bench = two_members()
    mine = next(iter(bench.assigned("b"))).partition
    assert begin(bench, commit("b", 2, mine)) is ErrorCode.STALE_MEMBER_EPOCH


def test_commit_at_older_epoch_passes_for_partitions_pending_revocation() -> None:
    """What it must give up it may still commit (K5.11)."""
    bench = Bench()
    bench.join("a")
    bench.join("b")
    bench.beat("a")
    pending = next(iter(bench.current("a").pending_revocation)).partition
    assert begin(bench, commit("a", 2, pending)) == 1


def test_wrong_epoch_is_told_in_the_speaker_s_words() -> None:
    """113 to native members, 22 to classic ones and to transactions (K5.11, K5.16)."""
    bench = Bench(settings=NO_DELAY)
    bench.join("a")
    bench.ask(join_request("b"), Speaks.CLASSIC)
    refused = [begin(bench, commit("a", 9)), begin(bench, commit("b", 9)), begin(bench, transaction("a", 9))]
    generation = ErrorCode.ILLEGAL_GENERATION
    assert refused == [ErrorCode.STALE_MEMBER_EPOCH, generation, generation]


def test_commit_of_old_version_is_for_classic_members() -> None:
    """Before version 9 a commit names no epoch, so a KIP-848 member's is refused (K5.10)."""
    bench = Bench(settings=NO_DELAY)
    bench.ask(join_request("b"), Speaks.CLASSIC)
    bench.join("a")
    old = replace(commit("a", 3), knows_member_epoch=False)
    assert begin(bench, old) is ErrorCode.UNSUPPORTED_VERSION
    assert begin(bench, replace(commit("b", 2), knows_member_epoch=False)) == 1


def test_commit_to_unknown_group_depends_on_identity_and_version() -> None:
    """Simple commits pass, others get what makes their clients join again (K5.3)."""
    bench = Bench()
    seen = [begin(bench, commit("", -1)), begin(bench, commit("a", 1))]
    seen.append(begin(bench, replace(commit("a", 1), knows_member_epoch=False)))
    seen.append(begin(bench, transaction("a", 1)))
    seen.append(begin(bench, transaction("a", 0)))
    generation = ErrorCode.ILLEGAL_GENERATION
    assert seen == [1, ErrorCode.UNKNOWN_MEMBER_ID, generation, generation, generation]


def test_commit_to_unknown_group_just_after_start_asks_to_rejoin() -> None:
    """The memory was lost, not the group (decision 9)."""
    assert begin(Bench(no_assignment_before_ms=3_000), commit("a", 4)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_commit_without_identity_passes_only_where_nobody_is_or_in_a_transaction() -> None:
    """An admin sets offsets of an empty group (K5.9); a producer need not name its group's member (K5.17 with 11.4)."""
    bench = Bench()
    bench.join("a")
    assert begin(bench, commit("", -1)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert begin(bench, transaction("", -1)) == 1
    assert begin(bench, transaction("nobody", -1)) is ErrorCode.UNKNOWN_MEMBER_ID
    bench.leave("a")
    assert begin(bench, commit("", -1)) == 2


def test_static_member_away_may_commit_with_its_epoch() -> None:
    """Its epoch is -2, and counts as any other (K5.13 with 11.4)."""
    bench = Bench()
    bench.ask(static_join_request("a", "seat"))
    bench.ask(replace(beat_request("a", STATIC_LEAVE_EPOCH), instance_id=InstanceId("seat")))
    assert begin(bench, commit("a", -2)) == 1


def test_partition_released_with_commit_on_its_way_is_given_when_that_ends() -> None:
    """The leaver's commit can't land after the newcomer has the partition (decision 2)."""
    bench = two_members()
    partition = next(iter(bench.assigned("a")))
    commit_id = begin(bench, commit("a", 3, partition.partition))
    assert isinstance(commit_id, int)
    bench.leave("a")
    answer = bench.beat("b", bench.assigned("b"))
    assert (answer.pending, len(bench.assigned("b"))) == (frozenset({partition}), 5)
    outcome = bench.tell(EndCommit(commit_id))
    assert outcome.notices == (PartitionsFreed(GROUP, frozenset({partition}), frozenset({B})),)
    assert bench.beat("b").pending == frozenset()
    assert len(bench.assigned("b")) == 6


def test_seat_taken_over_waits_for_the_old_member_s_commit() -> None:
    """A partition with a commit on its way is not free (decision 2), for the seat's next holder neither.

    The rest of the seat comes at once.
    """
    bench = Bench(settings=NO_DELAY)
    old_id = bench.ask(static_join_request("", "seat"), Speaks.CLASSIC).reply.member_id
    assert begin(bench, commit(old_id or "", 2, 0)) == 1
    reply = bench.ask(static_join_request("b", "seat")).reply
    assert reply.assignment == parts(1, 2, 3, 4, 5)
    bench.tell(EndCommit(1))
    assert bench.beat("b").reply.assignment == parts(0, 1, 2, 3, 4, 5)


def test_commit_by_topic_id_names_the_same_partitions() -> None:
    """OffsetCommit v10."""
    bench = two_members()
    own = min(bench.assigned("a")).partition
    by_id = TopicCommit(
        name=type(FOO)(""), topic_id=topic_id("foo"), partitions=(PartitionCommit(partition=own, offset=1),)
    )
    begin(bench, replace(commit("a", 3), topics=(by_id,)))
    assert bench.state.flights[1].partitions == parts(own)


def test_fetch_wants_the_exact_epoch_or_no_identity() -> None:
    """Unlike a commit no older epoch will do (K5.20 with 11.4); where there is no group nothing is refused (K5.19)."""
    bench = Bench(settings=NO_DELAY)
    bench.ask(join_request("b"), Speaks.CLASSIC)
    bench.join("a")
    asked = [(None, -1), (None, 0), (None, 3), (A, 3), (A, 2), (B, 9), (MemberId("x"), 3)]
    codes = [check_fetch(bench.state, GROUP, member_id, epoch) for member_id, epoch in asked]
    assert codes == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.NONE,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert check_fetch(bench.state, GroupId("other"), A, 3) is ErrorCode.NONE


def test_two_commits_of_unknown_topics_end_one_after_the_other() -> None:
    """Neither holds a partition up, and the end of the first takes nothing from the second."""
    bench = Bench()
    topics = (TopicCommit(name=TopicName("unheard"), partitions=(PartitionCommit(partition=0, offset=1),)),)
    commit = OffsetCommit(group_id=GROUP, generation=-1, member_id=MemberId(""), instance_id=None, topics=topics)
    for _ in range(2):
        bench.tell(BeginCommit(bench.ref(), commit))
    bench.tell(EndCommit(1))
    bench.tell(EndCommit(2))
    assert (bench.state.flights, bench.state.in_flight, bench.state.group_flights) == ({}, {}, {})


def test_transaction_without_a_member_is_one_without_a_generation() -> None:
    """Kafka takes -1 for "no member": generation 0 is somebody's, and nobody is called that (K5.14)."""
    bench = two_members()
    assert begin(bench, transaction("", -1)) == 1
    for generation in (-3, -2, 0, 3):
        assert begin(bench, transaction("", generation)) is ErrorCode.UNKNOWN_MEMBER_ID
    seated = replace(transaction("", -1), instance_id=InstanceId("i-a"))
    assert begin(bench, seated) is ErrorCode.UNKNOWN_MEMBER_ID


def test_transaction_of_a_group_without_a_name_is_refused_whoever_commits() -> None:
    """Other commits of such a group are offsets of nobody (K5.15)."""
    for generation, member in ((-1, ""), (0, ""), (2, "a")):
        nameless = replace(transaction(member, generation), group_id=GroupId(""))
        assert begin(Bench(), nameless) is ErrorCode.INVALID_GROUP_ID
    assert begin(Bench(), replace(commit("", -1), group_id=GroupId(""))) == 1


def test_seat_is_looked_at_where_kafka_has_a_classic_group() -> None:
    """An instance must be the member's own (K5.5), and numbers below zero say nothing (K5.6).

    Once a KIP-848 member has come the member id alone counts (K5.9).
    """
    bench = Bench(settings=NO_DELAY)
    member_id = bench.ask(static_join_request("", "seat"), Speaks.CLASSIC).reply.member_id
    assert member_id is not None
    epoch = bench.current(member_id).epoch

    def codes() -> list[ErrorCode | int]:
        named = [("gone", "seat"), (member_id, "nobody's"), ("gone", "nobody's"), ("", "seat")]
        return [
            begin(bench, replace(kind(member, epoch), instance_id=InstanceId(instance)))
            for kind in (commit, transaction)
            for member, instance in named
        ]

    fenced, unknown = ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID
    assert codes() == 2 * [fenced, unknown, unknown, fenced]
    assert [begin(bench, transaction("", number)) for number in (-3, -1, 0)] == [1, 2, unknown]
    assert begin(bench, replace(commit(member_id, epoch), instance_id=InstanceId("seat"))) == 3
    bench.join("a")
    assert codes() == [unknown, 4, unknown, unknown, unknown, 5, unknown, unknown]
    assert begin(bench, transaction("", -3)) is unknown
