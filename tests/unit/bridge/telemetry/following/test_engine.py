"""Embedded groups: what the engine knows and what clients are told make one story, in the order it happened."""

from dataclasses import replace

from bridge.engine.commands import GroupType
from bridge.engine.model import ClassicMember
from bridge.engine.outcome import ConversionCause, ConversionFailed, GroupUpgraded, NotConverted, Outcome, Unready
from bridge.engine.records import ClassicGroupCreated, CurrentAssigned, GroupCreated, GroupDeleted, GroupEpochBumped
from bridge.engine.settings import EngineSettings
from bridge.engine.state import ClassicGroup, Roster, Shard
from bridge.telemetry.schema.facts import (
    GroupRevived,
    MemberFact,
    MemberJoined,
    MemberLeft,
    MemberRevived,
    PartitionsAssigned,
    PartitionsReleased,
    RebalanceBegan,
    RebalanceEnded,
    RebalanceExplained,
    TargetComputed,
)
from bridge.telemetry.schema.terms import Cause, Departure, OperatorAction, Road
from bridge.telemetry.schema.terms import Outcome as Ending
from tests.support.heard import Ears, HeardGroup, short
from tests.support.owned_group import CLIENT, GROUP, ClassicClient, ConsumerClient
from tests.support.passing_words import join, joined, leave, named, sync, synced


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
        "topics-seen",
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
    assert {fact.outcome for fact in ended} == {Ending.COMPLETED}
    assert group.guard.bugs == 0


def test_consumer_member_is_told_with_the_session_that_it_was_given() -> None:
    """Its client does not name one."""
    group = HeardGroup()
    ConsumerClient(group, "native").beat()
    (joined_,) = group.log.of(MemberJoined)
    assert isinstance(joined_, MemberJoined)
    assert joined_.session_timeout_ms == EngineSettings().group_consumer_session_timeout_ms


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
    (released,) = group.log.of(PartitionsReleased)
    assert isinstance(released, PartitionsReleased)
    assert released.idle_us == client.join_request().session_timeout_ms * 1_000, "frozen, its connection is there"
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


def test_static_member_that_returns_moves_nothing() -> None:
    """The next target counts from what is on its seat."""
    group = HeardGroup()
    other, first = ConsumerClient(group, "native"), ConsumerClient(group, "first", instance_id="seat")
    other.beat()
    first.beat()
    _settle(group, other, first)
    first.beat(epoch=-2)
    second = ConsumerClient(group, "second", instance_id="seat")
    second.beat()
    _settle(group, other, second)
    ConsumerClient(group, "third").beat()
    moved = [fact.moved for fact in group.log.of(TargetComputed) if isinstance(fact, TargetComputed)]
    assert moved == [0, 3, 2]
    assert group.guard.bugs == 0


def test_groups_of_a_journal_are_told_with_their_members() -> None:
    """After a restart the log says who was there."""
    group = HeardGroup()
    client = ClassicClient(group)
    client.join()
    after = Ears(group.owner.shard)
    after.follower.revived(5)
    assert after.log.lines() == ["topics-seen", "group-revived", "member-revived", "begins stable"]
    (revived,) = after.log.of(MemberRevived)
    assert isinstance(revived, MemberRevived)
    assert (revived.member_id, revived.topics, len(after.log.of(GroupRevived))) == (client.member_id, ("t",), 1)


def test_revived_member_that_never_heard_of_a_partition_keeps_no_rebalance_open() -> None:
    """The engine takes back at once what it had for a translated member that has not been told of it yet."""
    group = HeardGroup()
    client = ClassicClient(group)
    client.join()
    after = Ears(group.owner.shard)
    after.follower.revived(5)
    seat = group.owner.shard.groups[GROUP].members[client.member_id]
    epoch, fewer = seat.current.epoch + 1, dict(sorted(seat.current.assigned.items())[1:])
    current = replace(seat.current, epoch=epoch, assigned=fewer)
    records = (GroupEpochBumped(GROUP, epoch), CurrentAssigned(GROUP, client.member_id, current))
    after.follower.advanced(Outcome(records=records), 6)
    assert after.log.lines()[-5:] == [
        "rebalance-began",
        "member-advanced",
        "partitions-released t-0",
        "rebalance-ended completed",
        "rebalance-explained",
    ]


def test_classic_groups_of_a_journal_are_told_with_what_their_members_have() -> None:
    """They have generations instead of epochs."""
    request = join("a")
    member = ClassicMember(
        member_id=request.member_id,
        instance_id=None,
        identity=CLIENT,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocols=request.protocols,
        assignment=synced(1).assignment,
    )
    roster = Roster(generation=4, protocol_type="consumer", leader=member.member_id, members={member.member_id: member})
    shard = Shard(settings=EngineSettings(), assignors={})
    shard.classic_groups[GROUP] = ClassicGroup(group_id=GROUP, roster=roster)
    ears = Ears(shard)
    ears.follower.revived(5)
    (revived,) = ears.log.of(MemberRevived)
    assert isinstance(revived, MemberRevived)
    assert (revived.generation, revived.assignors, revived.session_timeout_ms) == (4, ("range",), 10_000)
    assert ears.follower.groups[GROUP].members[member.member_id].assigned == named(1)


def test_group_that_changes_its_kind_is_no_new_group() -> None:
    """What made it is told; its members stay, and so does who cannot be converted."""
    ears = Ears()
    ears.follower.advanced(Outcome(records=(ClassicGroupCreated(GROUP),)), 1)
    ears.pass_by(join("a"), joined("a", 4, leader="a", members=("a",)))
    upgraded = GroupUpgraded(group_id=GROUP, cause=ConversionCause.OPERATOR, seats=())
    ears.follower.advanced(Outcome(records=(GroupDeleted(GROUP), GroupCreated(GROUP, 4)), notices=(upgraded,)), 2)
    refusal = NotConverted(GROUP, GroupType.CLASSIC, Unready.NO_COMMON_PROTOCOL, "they have nothing in common")
    ears.follower.advanced(Outcome(notices=(ConversionFailed(refusal),)), 3)
    told = [short(event.fact) for event in ears.log.events if not isinstance(event.fact, MemberFact)]
    assert told == [
        "group-created",
        "rebalance-began",
        "rebalance-ended superseded",
        "rebalance-explained",
        "group-converted",
        "conversion-refused",
    ]
    assert list(ears.follower.groups[GROUP].members) == ["a"]


def test_group_that_is_deleted_is_forgotten() -> None:
    """One of its name that comes later is another."""
    ears = Ears()
    ears.follower.advanced(Outcome(records=(GroupCreated(GROUP, 1),)), 1)
    ears.follower.advanced(Outcome(records=(GroupDeleted(GROUP),)), 2)
    assert ears.log.lines() == ["group-created", "group-deleted"]
    assert ears.follower.groups == {}


def test_member_that_an_operator_removes_did_not_leave() -> None:
    """The engine sees a leave."""
    group = HeardGroup()
    client = ClassicClient(group)
    client.join()
    group.ears.follower.ordered(GROUP, OperatorAction.REMOVE_MEMBERS, [client.member_id], 1)
    group.send(leave(client.member_id))
    (left,) = group.log.of(MemberLeft)
    assert isinstance(left, MemberLeft)
    assert left.departure is Departure.REMOVED


def test_member_that_leaves_while_the_first_target_is_waited_for_is_told_when_it_is_dropped() -> None:
    """Until then its group waits for it, and what drops it needs a cause."""
    group = HeardGroup(settings=EngineSettings(group_initial_rebalance_delay_ms=3_000, departure_wait_ms=0))
    first, second = ClassicClient(group), ClassicClient(group)
    for client in (first, second):
        client.begin_join()
    (ref,) = group.send(leave(first.member_id))
    assert ref in group.replies
    assert group.log.of(MemberLeft) == []
    group.wait(10_000)
    second.end_join()
    assert [short(fact) for fact in group.log.of(MemberLeft)] == ["left left"]
    explained = [fact.cause for fact in group.log.of(RebalanceExplained) if isinstance(fact, RebalanceExplained)]
    assert explained[-1] is Cause.LEAVE
    assert Cause.UNKNOWN not in explained
    assert group.guard.bugs == 0


def test_group_that_passed_until_the_bridge_took_it_is_on_the_road_of_the_bridge() -> None:
    """It was adopted: what was heard of it before was of its broker."""
    ears = Ears()
    ears.pass_by(join("a"), joined("a", 1, leader="a", members=("a",)))
    ears.follower.advanced(Outcome(records=(ClassicGroupCreated(GROUP),)), 5)
    assert ears.follower.groups[GROUP].road is Road.EMBEDDED


def test_client_that_goes_on_by_its_own_id_is_no_second_member() -> None:
    """Its broker knew it by another: who is no member of the engine's would be waited for in every rebalance. What that
    one had is not free: behind the next move it was told to have stood still since, which its client read all the time.
    """
    ears = Ears()
    ears.pass_by(join("a"), joined("a", 1, leader="a", members=("a",)))
    ears.pass_by(sync("a", 1, {"a": (0, 1)}), synced(0, 1))
    assert ears.log.of(PartitionsAssigned)
    ears.follower.settled(GROUP, Road.EMBEDDED, {}, 6)
    assert ears.follower.groups[GROUP].members == {}
    assert [fact.departure for fact in ears.log.of(MemberLeft) if isinstance(fact, MemberLeft)] == [Departure.REPLACED]
    assert ears.log.of(PartitionsReleased) == []
