"""Embedded groups: what the engine knows and what clients are told make one story, in the order it happened."""

from bridge.telemetry.schema.facts import (
    GroupRevived,
    MemberJoined,
    MemberLeft,
    MemberRevived,
    RebalanceBegan,
    RebalanceEnded,
    RebalanceExplained,
    TargetComputed,
)
from bridge.telemetry.schema.terms import Cause, Departure, Outcome
from tests.support.heard import Ears, HeardGroup
from tests.support.owned_group import ClassicClient, ConsumerClient


def _settle(group: HeardGroup, *clients: ClassicClient | ConsumerClient) -> None:
    """Let everybody heartbeat and do as told until nothing is left to do."""
    for _ in range(6):
        group.wait(1_000)
        for client in clients:
            if isinstance(client, ConsumerClient):
                client.beat()
            elif client.parked is not None:
                if client.is_joined:
                    client.end_join()
            elif client.beat():
                client.begin_join()
                if client.is_joined:
                    client.end_join()


def test_first_member_is_one_rebalance_from_its_join_to_its_assignment() -> None:
    """Joining, syncing, stable; what it got it has to fetch."""
    group = HeardGroup(partitions=2)
    client = ClassicClient(group)
    client.join()
    assert group.guard.bugs == 0
    assert group.log.lines() == [
        "group-created",
        "rebalance-began",
        "member-joined",
        "begins joining",
        "target-computed",
        "ends joining",
        "begins syncing",
        "ends syncing",
        "told assign by SyncGroup",
        "partitions-assigned t-0 t-1",
        "begins fetching",
        "begins stable",
        "rebalance-ended completed",
        "rebalance-explained",
    ]


def test_every_rebalance_has_an_id_of_its_own_and_ends() -> None:
    """One for each epoch; a member that waits says for whom."""
    group = HeardGroup()
    first, second = ClassicClient(group), ConsumerClient(group, "native")
    first.join()
    second.beat()
    assert group.log.lines("native")[-1] == f"begins awaiting-release {first.member_id}"
    _settle(group, first, second)
    began = [fact.rebalance_id for fact in group.log.of(RebalanceBegan) if isinstance(fact, RebalanceBegan)]
    ended = [fact for fact in group.log.of(RebalanceEnded) if isinstance(fact, RebalanceEnded)]
    assert [fact.rebalance_id for fact in ended] == began
    assert len(set(began)) == 2
    assert {fact.outcome for fact in ended} == {Outcome.COMPLETED}
    assert group.guard.bugs == 0


def test_target_says_how_many_partitions_moved_and_had_to() -> None:
    """Three of six go to the second member, and no balanced target moves fewer."""
    group = HeardGroup()
    first, second = ClassicClient(group), ConsumerClient(group, "native")
    first.join()
    second.beat()
    targets = [fact for fact in group.log.of(TargetComputed) if isinstance(fact, TargetComputed)]
    assert [(one.moved, one.forced_minimum, one.member_count, one.partition_count) for one in targets] == [
        (0, 0, 1, 6),
        (3, 3, 2, 6),
    ]


def test_session_that_runs_out_is_the_cause_and_so_named() -> None:
    """The engine hears a farewell; the machine knows why."""
    group = HeardGroup()
    client = ClassicClient(group)
    client.join()
    group.wait(60_000)
    (left,) = group.log.of(MemberLeft)
    assert isinstance(left, MemberLeft)
    assert left.departure is Departure.SESSION_EXPIRED
    explained = [fact.cause for fact in group.log.of(RebalanceExplained) if isinstance(fact, RebalanceExplained)]
    assert explained == [Cause.FIRST_JOIN, Cause.SESSION_EXPIRED]


def test_static_member_that_returns_is_known_by_its_seat() -> None:
    """Who sat there before is named."""
    group = HeardGroup()
    first = ClassicClient(group, instance_id="seat")
    first.join()
    second = ClassicClient(group, instance_id="seat")
    second.join()
    joined = [fact for fact in group.log.of(MemberJoined) if isinstance(fact, MemberJoined)]
    assert [(one.is_return, one.former_id) for one in joined] == [(False, ""), (True, first.member_id)]
    assert group.guard.bugs == 0


def test_groups_of_a_journal_are_told_with_their_members() -> None:
    """After a restart the log says who was there."""
    group = HeardGroup()
    client = ClassicClient(group)
    client.join()
    after = Ears(group.owner.shard)
    after.follower.revived(5)
    assert after.log.lines() == ["group-revived", "member-revived", "begins stable"]
    (revived,) = after.log.of(MemberRevived)
    assert isinstance(revived, MemberRevived)
    assert (revived.member_id, revived.topics, len(after.log.of(GroupRevived))) == (client.member_id, ("t",), 1)
