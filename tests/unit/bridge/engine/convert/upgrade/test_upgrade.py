"""A classic group becomes a consumer group from every phase, and nobody moves who need not."""

from dataclasses import replace

import pytest

from bridge.engine.commands import GroupType, Speaks
from bridge.engine.convert.upgrade import Plan, plan_upgrade, to_ids
from bridge.engine.model import Phase
from bridge.engine.outcome import ConversionCause, MemberRemoved, PartitionsFreed, RemovalCause, TargetChanged
from bridge.engine.queries import group_type
from tests.support.classic_bench import SESSION_MS, commit_of
from tests.support.converted_group import (
    BEGINS_CLASSIC,
    COOPERATIVE,
    EAGER,
    ConversionBench,
    consumer_join,
    named,
    says,
)
from tests.support.engine_bench import BAR, FOO, GROUP, parts, static_join_request, topic_id
from tests.support.snapshots import durable
from translators.dialects.consumer_protocol import encode_assignment
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import TopicIdPartition, TopicName, TopicPartition
from translators.dialects.offsets import PartitionCommit, TopicCommit


def commit_topics(partition: int) -> tuple[TopicCommit, ...]:
    """A commit of one partition of foo."""
    return (TopicCommit(name=FOO, partitions=(PartitionCommit(partition=partition, offset=10),)),)


def planned(bench: ConversionBench) -> Plan:
    """What an upgrade of a group that has nothing against it would bring."""
    plan = plan_upgrade(bench.bench.state, GROUP)
    assert isinstance(plan, Plan)
    return plan


@pytest.mark.parametrize("name", [EAGER, COOPERATIVE])
def test_stable_group_upgraded_by_order_moves_nothing(name: str) -> None:
    """Ids, generation and assignments stay, the epoch is the generation, and nobody is told anything (decision 7)."""
    bench = ConversionBench()
    first, second = bench.settle(None, "seat", name=name)
    answer = bench.converted()
    group = bench.consumers
    assert (answer.member_count, answer.rebalances) == (2, False)
    assert (group.epoch, group.assignment_epoch) == (1, 1)
    assert group.target == {first: parts(0, 2, 4), second: parts(1, 3, 5)}
    assert [member.current.assigned.keys() for member in group.members.values()] == list(group.target.values())
    assert {member.subscription.speaks for member in group.members.values()} == {Speaks.CLASSIC}
    assert group.instances == {"seat": second}
    seats = [(seat.generation, seat.epoch, seat.handed, seat.is_completing) for seat in bench.upgraded().seats]
    assert seats == [(1, 1, named(0, 2, 4), False), (1, 1, named(1, 3, 5), False)]
    assert not [notice for notice in bench.notices if isinstance(notice, TargetChanged)]


def test_kip_848_joiner_upgrades_the_group_and_takes_only_what_balance_asks() -> None:
    """The group is converted, then somebody joins it (K3.4)."""
    bench = ConversionBench()
    first, second = bench.settle(None, None)
    assert bench.native_join("new") is ErrorCode.NONE
    group = bench.consumers
    assert bench.upgraded().cause is ConversionCause.MEMBER_JOINED
    assert (group.epoch, group.assignment_epoch) == (2, 2)
    assert {len(share) for share in group.target.values()} == {2}
    assert group.target[first] < parts(0, 2, 4)
    assert group.target[second] < parts(1, 3, 5)


def test_static_joiner_takes_the_seat_of_a_classic_member() -> None:
    """KIP-345 across protocols: the seat's partitions stay with it, and the former holder is replaced."""
    bench = ConversionBench()
    first, second = bench.settle("one", "two")
    assert bench.native_join("new", static_join_request("new", "two")) is ErrorCode.NONE
    group = bench.consumers
    assert group.target == {first: parts(0, 2, 4), "new": parts(1, 3, 5)}
    removed = next(notice for notice in bench.notices if isinstance(notice, MemberRemoved))
    assert (removed.member_id, removed.cause) == (second, RemovalCause.REPLACED)


def test_full_group_takes_its_own_members_as_kip_848_members_and_nobody_else() -> None:
    """Who changes its protocol under its own id takes no further seat (K2.5)."""
    bench = ConversionBench(settings=replace(BEGINS_CLASSIC, group_max_size=2, group_consumer_max_size=2))
    first, _ = bench.settle(None, None)
    assert bench.native_join("new") is not ErrorCode.NONE
    assert bench.native_join(first) is ErrorCode.NONE


def test_parked_eager_member_keeps_its_seat_and_its_request_goes_on() -> None:
    """PreparingRebalance: whoever has not joined works on, whoever has is asked again by its own JoinGroup."""
    bench = ConversionBench()
    first, second = bench.settle(None, None)
    late = bench.join(consumer_join())
    rejoined = bench.join(consumer_join(second))
    assert bench.phase is Phase.PREPARING_REBALANCE
    bench.converted()
    assert bench.joined(late) is None
    assert bench.joined(rejoined) is None
    assert bench.seat(second).joining == rejoined
    assert bench.seat(second).using == named(1, 3, 5)
    assert bench.seat(first).joining is None
    assert [seat.joining for seat in bench.upgraded().newcomers] == [late]
    assert bench.consumers.members.keys() == {first, second}


def test_completing_group_gives_eager_members_nothing_and_cooperative_ones_what_they_kept() -> None:
    """The last synced assignment, as far as the members still own it (decision 7)."""
    bench = ConversionBench()
    first, second = bench.settle(None, None, name=COOPERATIVE)
    for member in (first, second):
        kept = named(0, 2) if member == first else None
        bench.join(replace(consumer_join(member, name=COOPERATIVE), protocols=says(COOPERATIVE, kept)))
    assert bench.phase is Phase.COMPLETING_REBALANCE
    bench.converted()
    assert bench.seat(first).using == named(0, 2)
    assert bench.seat(second).using == named(1, 3, 5), "an absent list acknowledges nothing (decision 6)"
    assert [(seat.generation, seat.is_completing) for seat in bench.upgraded().seats] == [(2, True), (2, True)]
    assert bench.consumers.epoch == 3


def test_completing_eager_members_hold_nothing() -> None:
    """They gave everything up when they joined, and get back what they had: the target is what they last synced."""
    bench = ConversionBench()
    members = bench.settle(None, None)
    for member in members:
        bench.join(replace(consumer_join(member), protocols=says(EAGER, frozenset())))
    bench.converted()
    assert [seat.using for seat in bench.upgraded().seats] == [frozenset(), frozenset()]
    assert bench.consumers.owners == {}
    assert bench.consumers.target == dict(zip(members, (parts(0, 2, 4), parts(1, 3, 5)), strict=True))


def test_member_that_has_not_synced_yet_is_completing_with_its_assignment() -> None:
    """The leader has brought the assignments: its SyncGroup gets them from the machine."""
    bench = ConversionBench()
    first, second = bench.join_all(None, None)
    bench.hand_out({first: named(0, 1, 2), second: named(3, 4, 5)}, second)
    bench.converted()
    assert bench.seat(second).is_completing
    assert bench.seat(second).handed == named(3, 4, 5)
    assert not bench.seat(first).is_completing


def test_assignment_held_up_by_a_commit_is_not_handed_out_by_the_conversion() -> None:
    """What the former owner still commits waits for the commit's end, in a consumer group too (decision 2)."""
    bench = ConversionBench()
    first, second = bench.settle(None, None)
    assert bench.commit(commit_of(first, 1)) is ErrorCode.NONE
    for member in (first, second):
        bench.join(consumer_join(member))
    syncing = bench.sync(second)
    bench.hand_out({first: named(1, 2, 3), second: named(0, 4, 5)}, second)
    assert bench.synced(syncing) is None
    bench.converted()
    assert bench.seat(second).syncing == syncing
    assert bench.seat(second).is_completing
    assert bench.seat(second).using == named(4, 5)
    assert bench.consumers.target == {first: parts(1, 2, 3), second: parts(0, 4, 5)}
    bench.end_commits()
    assert [notice for notice in bench.notices if isinstance(notice, PartitionsFreed)] == [
        PartitionsFreed(GROUP, parts(0), frozenset({second}))
    ]


@pytest.mark.parametrize("name", [EAGER, COOPERATIVE, "sticky", "roundrobin", "RoundRobinAssigner"])
def test_user_data_in_assignments_does_not_stand_in_the_way(name: str) -> None:
    """Baseline point 4: librdkafka's leader echoes it, and Kafka then refuses (KAFKA-18134)."""
    bench = ConversionBench()
    first, second = bench.join_all(None, None, name=name)
    echoed = len(b"claims").to_bytes(4) + b"claims"
    shares = {first: named(0, 1, 2), second: named(3, 4, 5)}
    bench.sync(first, assigns={one: encode_assignment(share)[:-4] + echoed for one, share in shares.items()})
    bench.sync(second)
    assert not bench.converted().rebalances
    assert {seat.member.member_id: seat.handed for seat in bench.upgraded().seats} == shares


def test_session_goes_on_from_the_last_sign_of_life() -> None:
    """Who died just before the conversion is not given more time by it."""
    bench = ConversionBench()
    first, second = bench.settle(None, None)
    settled_ms = bench.bench.now_ms
    bench.pass_time(4_000)
    assert bench.beat(second) is ErrorCode.NONE
    bench.converted()
    assert bench.seat(first).session_deadline_ms == settled_ms + SESSION_MS
    assert bench.seat(second).session_deadline_ms == settled_ms + 4_000 + SESSION_MS


def test_parked_sync_goes_on_with_its_member() -> None:
    """CompletingRebalance: a follower's SyncGroup waits for the leader's, and is answered by its machine now."""
    bench = ConversionBench()
    _, follower = bench.join_all(None, None)
    ref = bench.sync(follower)
    bench.converted()
    assert bench.synced(ref) is None
    assert bench.seat(follower).syncing == ref


def test_partition_without_owner_moves_the_epoch_at_once() -> None:
    """A classic leader may have left something out; a consumer group does not."""
    bench = ConversionBench()
    first, second = bench.join_all(None, None)
    bench.hand_out({first: named(0, 1, 2), second: named(3, 4)})
    bench.converted()
    assert bench.consumers.epoch == 2
    assert bench.consumers.target == {first: parts(0, 1, 2), second: parts(3, 4, 5)}


def test_partition_assigned_twice_gets_one_owner() -> None:
    """Whatever a leader did: never two owners."""
    bench = ConversionBench()
    first, second = bench.join_all(None, None)
    bench.hand_out({first: named(0, 1, 2, 3), second: named(3, 4, 5)})
    bench.converted()
    assert bench.seat(first).using == named(0, 1, 2, 3)
    assert bench.seat(second).using == named(4, 5)
    assert bench.seat(second).handed == named(3, 4, 5)


def test_empty_group_upgrades_by_order() -> None:
    """Nobody to convert is no obstacle."""
    bench = ConversionBench()
    (member,) = bench.settle(None)
    assert bench.leave((member, None)) == [ErrorCode.NONE]
    assert bench.converted().member_count == 0
    assert group_type(bench.bench.state, GROUP) is GroupType.CONSUMER


def test_dry_run_changes_nothing() -> None:
    """It says what would be."""
    bench = ConversionBench()
    bench.settle(None, None)
    before = durable(bench.bench.state)
    assert bench.converted(is_dry_run=True).member_count == 2
    assert durable(bench.bench.state) == before


def test_replay_of_a_conversion_equals_the_live_state() -> None:
    """What a conversion does is in its records."""
    bench = ConversionBench()
    bench.settle(None, "seat")
    bench.converted()
    assert durable(bench.bench.replayed(durable_only=True)) == durable(bench.bench.state)


def test_stable_group_that_holds_what_it_wants_does_not_rebalance() -> None:
    """The answer to an order says so before and after."""
    bench = ConversionBench()
    bench.settle(None, None)
    assert not planned(bench).rebalances
    assert not bench.converted(is_dry_run=True).rebalances


def test_member_that_holds_what_it_does_not_want_rebalances_the_group() -> None:
    """An assignment from an older subscription is no coverage."""
    bench = ConversionBench()
    (member,) = bench.join_all(None)
    bench.hand_out({member: named(*range(6)) | {TopicPartition(BAR, 0)}})
    assert planned(bench).rebalances
    assert bench.converted().rebalances
    assert bench.consumers.target == {member: parts(*range(6))}


def test_to_ids_leaves_out_what_does_not_exist() -> None:
    """Neither an unknown topic nor a partition beyond the last."""
    bench = ConversionBench()
    wanted = named(0, 6) | {TopicPartition(TopicName("gone"), 0)}
    assert to_ids(bench.bench.state, wanted) == {TopicIdPartition(topic_id("foo"), 0)}


def test_seat_taken_over_while_its_commit_flies_is_not_handed_out_by_an_upgrade_before_its_sync() -> None:
    """The seat stays with its new holder, who gets the partition when the former holder's commit ended (decision 2)."""
    bench = ConversionBench()
    first, second = bench.settle("seat", None)
    assert bench.commit(commit_of(first, 1, "seat")) is ErrorCode.NONE
    assert bench.commit(replace(commit_of(second, 1), topics=commit_topics(1))) is ErrorCode.NONE
    again = bench.admitted(bench.join(consumer_join("", "seat"))).member_id
    assert (bench.phase, again == first) == (Phase.STABLE, False)
    bench.converted()
    assert bench.seat(again).using == named(2, 4)
    assert bench.seat(again).is_completing
    assert bench.seat(second).using == named(1, 3, 5), "whoever works goes on, also while its own commit flies"
    assert bench.consumers.target == {again: parts(0, 2, 4), second: parts(1, 3, 5)}
    bench.end_commits()
    assert [notice for notice in bench.notices if isinstance(notice, PartitionsFreed)] == [
        PartitionsFreed(GROUP, parts(0), frozenset({again}))
    ]


def test_seat_taken_over_with_nothing_in_flight_is_handed_out_at_once() -> None:
    """Its next SyncGroup is answered by its machine with what the seat has."""
    bench = ConversionBench()
    first, second = bench.settle("seat", None)
    again = bench.admitted(bench.join(consumer_join("", "seat"))).member_id
    assert not bench.converted().rebalances
    assert bench.seat(again).using == named(0, 2, 4)
    assert bench.consumers.members.keys() == {again, second}
    assert first not in bench.consumers.members
