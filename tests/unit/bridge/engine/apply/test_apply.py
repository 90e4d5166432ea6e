"""Tests of the only writer: each record leaves the state and its indexes in step."""

from dataclasses import replace

import pytest

from bridge.engine.apply import apply
from bridge.engine.commands import Speaks
from bridge.engine.indexes import OwnedTwice
from bridge.engine.model import ClassicMember, Current, DeadlineKey, DeadlineKind, MemberState, Subscription
from bridge.engine.records import (
    ClassicGroupCreated,
    ClassicGroupSynced,
    ClassicMemberForgotten,
    CommitBegun,
    CommitEnded,
    CurrentAssigned,
    DeadlineCleared,
    DeadlineSet,
    GroupCreated,
    GroupDeleted,
    MemberForgotten,
    MemberSubscribed,
    TargetAssigned,
    TopicGone,
    TopicSeen,
)
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from tests.support.classic_bench import offer
from tests.support.engine_bench import FOO, GROUP, IDENTITY, parts, topic, topic_id
from tests.support.snapshots import snapshot
from translators.dialects.ids import InstanceId, MemberId

A, B = MemberId("a"), MemberId("b")


def fresh() -> Shard:
    """A shard with one empty group."""
    state = Shard(settings=EngineSettings(), assignors={})
    apply(state, GroupCreated(GROUP, 1))
    return state


def subscribed(member_id: MemberId) -> MemberSubscribed:
    """A member with a seat of its own that wants foo."""
    subscription = Subscription(
        member_id=member_id,
        instance_id=InstanceId(f"seat-{member_id}"),
        identity=IDENTITY,
        speaks=Speaks.CONSUMER,
        names=frozenset({FOO}),
        assignor="range",
    )
    return MemberSubscribed(GROUP, subscription)


def test_member_forgotten_leaves_no_trace() -> None:
    """Joining, holding, wanting and leaving end where they began, in every index."""
    state = fresh()
    empty = snapshot(state)
    apply(state, subscribed(A))
    apply(state, TargetAssigned(GROUP, A, parts(0, 1)))
    apply(state, CurrentAssigned(GROUP, A, Current(epoch=2, assigned=dict.fromkeys(parts(0), 2))))
    apply(state, DeadlineSet(DeadlineKey(DeadlineKind.SESSION, GROUP, A), 5))
    group = state.groups[GROUP]
    assert (group.instances, group.votes, group.stable_at) == ({"seat-a": A}, {"range": 1}, {2: 1})
    assert group.grantable == {A: set(parts(1))}
    apply(state, MemberForgotten(GROUP, A))
    assert snapshot(state) == empty
    assert (group.instances, group.votes, group.stable_at, group.names, group.target_owners) == ({}, {}, {}, {}, {})
    assert state.subscribers == {}


def test_partition_given_twice_raises_owned_twice() -> None:
    """The writer never lets two members hold a partition (K2.40)."""
    state = fresh()
    apply(state, subscribed(A))
    apply(state, subscribed(B))
    apply(state, CurrentAssigned(GROUP, A, Current(epoch=2, pending_revocation=dict.fromkeys(parts(0), 2))))
    with pytest.raises(OwnedTwice, match="EB-ENGINE-002"):
        apply(state, CurrentAssigned(GROUP, B, Current(epoch=2, assigned=dict.fromkeys(parts(0), 2))))


def test_target_moved_in_either_order_ends_with_the_new_owner() -> None:
    """The records of one target may be applied in any order of members."""
    for order in ((A, B), (B, A)):
        state = fresh()
        apply(state, subscribed(A))
        apply(state, subscribed(B))
        apply(state, TargetAssigned(GROUP, A, parts(0, 1)))
        new = {A: parts(0), B: parts(1)}
        for member_id in order:
            apply(state, TargetAssigned(GROUP, member_id, new[member_id]))
        assert state.groups[GROUP].target_owners == {partition: owner for owner, ps in new.items() for partition in ps}
        assert state.groups[GROUP].grantable == {A: set(parts(0)), B: set(parts(1))}


def test_commits_of_a_partition_end_one_by_one() -> None:
    """The partition is free when the last of its commits has ended (decision 2)."""
    state = fresh()
    apply(state, subscribed(A))
    apply(state, TargetAssigned(GROUP, A, parts(0)))
    for commit_id in (1, 2):
        apply(state, CommitBegun(commit_id, GROUP, parts(0)))
    apply(state, CommitEnded(1))
    assert state.groups[GROUP].grantable == {}
    apply(state, CommitEnded(2))
    assert (state.groups[GROUP].grantable, state.in_flight, state.flights) == ({A: set(parts(0))}, {}, {})


def test_topic_made_again_has_its_new_id() -> None:
    """The name leads to the newest id, and the old id's end doesn't take the name away."""
    state = fresh()
    apply(state, TopicSeen(topic("foo", 3)))
    again = type(topic("foo", 1))(topic_id("foo-2"), FOO, 1)
    apply(state, TopicSeen(again))
    apply(state, TopicGone(topic_id("foo")))
    assert (state.topic_ids, state.partition_counts) == ({FOO: topic_id("foo-2")}, {topic_id("foo-2"): 1})


def test_group_deleted_is_forgotten_with_its_deadlines() -> None:
    """Nothing of a group outlives it."""
    state = fresh()
    apply(state, DeadlineSet(DeadlineKey(DeadlineKind.TARGET, GROUP), 9))
    apply(state, GroupDeleted(GROUP))
    assert (state.groups, state.deadlines.due) == ({}, {})


def test_deadline_cleared_is_not_due() -> None:
    """Clearing twice is harmless."""
    state = fresh()
    key = DeadlineKey(DeadlineKind.REBALANCE, GROUP, A)
    apply(state, DeadlineSet(key, 9))
    apply(state, DeadlineCleared(key))
    apply(state, DeadlineCleared(key))
    assert state.deadlines.earliest() is None


def test_unstable_member_is_not_counted_stable() -> None:
    """Whether all are at their target is told by the number of STABLE members of each epoch (K2.60)."""
    state = fresh()
    apply(state, subscribed(A))
    apply(state, CurrentAssigned(GROUP, A, Current(epoch=3, state=MemberState.UNRELEASED_PARTITIONS)))
    assert state.groups[GROUP].stable_at == {}


def test_group_that_syncs_again_has_lost_nobody() -> None:
    """Who was gone before is in no generation that came after: a condensed journal says nothing of it."""
    state = Shard(settings=EngineSettings(), assignors={})
    apply(state, ClassicGroupCreated(GROUP))
    member = ClassicMember(
        member_id=A,
        instance_id=None,
        identity=IDENTITY,
        session_timeout_ms=6_000,
        rebalance_timeout_ms=9_000,
        protocols=offer("range"),
    )
    both = (member, replace(member, member_id=B))
    seen: list[bool] = []
    for generation, members in ((1, both), (2, both[1:])):
        apply(
            state,
            ClassicGroupSynced(
                group_id=GROUP,
                generation=generation,
                protocol_type="consumer",
                protocol_name="range",
                leader=B,
                members=members,
            ),
        )
        seen.append(state.classic_groups[GROUP].has_lost_member)
        if generation == 1:
            apply(state, ClassicMemberForgotten(GROUP, A))
            seen.append(state.classic_groups[GROUP].has_lost_member)
    assert seen == [False, True, False]
