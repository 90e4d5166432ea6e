"""The indexes of a group, and what its assignor remembers of it, kept in step with its members and targets."""

from collections.abc import Hashable, Iterable
from collections.abc import Set as AbstractSet
from typing import TypeVar

from bridge.engine.assignors.interface import IncrementalAssignor, IndexSource, Seat, TargetIndex, seat_of
from bridge.engine.commands import Speaks
from bridge.engine.model import Current, MemberState, Subscription
from bridge.engine.state import (
    NO_PARTITIONS,
    Group,
    Partitions,
    Shard,
    groups_subscribed_to,
    is_in_flight,
    topic_ids_of,
    topic_names_of,
)
from translators.dialects.ids import GroupId, MemberId, Topic, TopicId, TopicIdPartition, TopicName

# -------------------------------------------------------------------------------------------- loads
# What a group's assignor remembers: built when it is asked, then kept in step with members, topics and targets.


def index_loads(state: Shard, group: Group, assignor: IncrementalAssignor) -> TargetIndex:
    """What the assignor of the last target remembers of the group; built if it is not at hand.

    This is a memo, no state: the law is that it equals one built anew, so replay can do without it.
    """
    if group.loads is None:
        interests = {member_id: _interest(member.subscription) for member_id, member in group.members.items()}
        first = {interest: member_id for member_id, interest in interests.items()}
        topics: dict[Hashable, frozenset[TopicId]] = {
            interest: topic_ids_of(state, topic_names_of(state, group.hidden, group.members[member_id].subscription))
            for interest, member_id in first.items()
        }
        group.loads = assignor.index(
            IndexSource(
                seats={member_id: _seat(member.subscription) for member_id, member in group.members.items()},
                interests=interests,
                topics=topics,
                partition_counts=state.partition_counts,
                target=group.target,
            )
        )
    return group.loads


def remember_target(state: Shard, group: Group) -> None:
    """Build what the assignor of a target that was just computed remembers, so that the next change need not wait."""
    was_built = group.loads is not None
    loads = prepare_loads(state, group)
    if loads is not None and not was_built:
        loads.rest()


def prepare_loads(state: Shard, group: Group) -> TargetIndex | None:
    """What the assignor of the group's target remembers, None if it remembers nothing.

    Built after a restart it does not know by which order of seats the target was made: an instance id may have come
    since without a new target. So it is not told that the target is what it was asked for.
    """
    assignor = state.assignors.get(group.assignor)
    if group.epoch != group.assignment_epoch or not isinstance(assignor, IncrementalAssignor):
        return None
    return index_loads(state, group, assignor)


def seat_loads(state: Shard, group: Group, subscription: Subscription) -> None:
    """A member came or told something new."""
    if group.loads is not None and not _seat_member(state, group, group.loads, subscription):
        group.loads = None


def _seat_member(state: Shard, group: Group, loads: TargetIndex, subscription: Subscription) -> bool:
    interest = _interest(subscription)
    # Nobody told what became of topics that nobody wanted: what was known of them from before counts no more.
    if _is_alone_with(group, subscription) or not loads.knows(interest):
        topics = topic_ids_of(state, topic_names_of(state, group.hidden, subscription))
        counts = {topic: count for topic in topics if (count := state.partition_counts.get(topic, 0)) > 0}
        if not loads.learn(interest, counts):
            return False
    return loads.seat(_seat(subscription), interest, group.target.get(subscription.member_id))


def _is_alone_with(group: Group, subscription: Subscription) -> bool:
    pattern = subscription.pattern
    return group.name_sets[subscription.names] == 1 or (pattern is not None and group.patterns[pattern] == 1)


def unseat_loads(group: Group, member_id: MemberId) -> None:
    """A member is gone, and its target is empty."""
    if group.loads is not None and not group.loads.unseat(member_id, NO_PARTITIONS):
        group.loads = None


def index_topic(state: Shard, topic: Topic) -> None:
    """A topic was seen, perhaps with more partitions than before."""
    for group_id in groups_subscribed_to(state, {topic.name}):
        group = state.groups[group_id]
        loads = group.loads
        if loads is not None and not loads.grow(topic.topic_id, topic.partition_count, group.target_owners):
            group.loads = None


def forget_loads(state: Shard, group_ids: Iterable[GroupId]) -> None:
    """The topics that members of these groups want are others now."""
    for group_id in group_ids:
        state.groups[group_id].loads = None


def steal_loads(group: Group, member_id: MemberId, partition: TopicIdPartition) -> None:
    """Another member's target names the partition too, before this one's is told anew."""
    if group.loads is not None:
        group.loads.lose(member_id, partition)


def retarget_loads(group: Group, member_id: MemberId, gained: Partitions, lost: Partitions) -> None:
    """A member's target names partitions that it didn't, or no longer some that it did."""
    if group.loads is not None:
        group.loads.retarget(member_id, group.target[member_id], gained, lost)


def confirm_loads(group: Group, assignor: str) -> None:
    """The group's target is new; balanced by another assignor than the last it may be anything."""
    if assignor != group.assignor:
        group.loads = None
    elif group.loads is not None:
        group.loads.rest()


def _seat(subscription: Subscription) -> Seat:
    return seat_of(subscription.member_id, subscription.instance_id)


def _interest(subscription: Subscription) -> tuple[frozenset[TopicName], str | None]:
    return (subscription.names, subscription.pattern)


# ------------------------------------------------------------------------------------------ indexes
# The indexes of a group, kept in step with its members and targets for `apply`.

Key = TypeVar("Key", bound=Hashable)


class OwnedTwice(Exception):
    """A record would give a partition to a member while another holds it: a bug in whoever decided it (K2.40)."""


def count_up(counts: dict[Key, int], key: Key) -> None:
    """Count one more."""
    counts[key] = counts.get(key, 0) + 1


def count_down(counts: dict[Key, int], key: Key) -> None:
    """Count one less; a key that reaches zero goes."""
    left = counts[key] - 1
    if left:
        counts[key] = left
    else:
        del counts[key]


def index_subscription(state: Shard, group: Group, subscription: Subscription) -> None:
    """Enter a member's names, pattern, vote and seat."""
    count_up(group.name_sets, subscription.names)
    if group.name_sets[subscription.names] == 1:
        for name in subscription.names:
            count_up(group.names, name)
            state.subscribers.setdefault(name, set()).add(group.group_id)
    if subscription.pattern is not None:
        count_up(group.patterns, subscription.pattern)
        state.pattern_users.setdefault(subscription.pattern, set()).add(group.group_id)
        state.unused_patterns.discard(subscription.pattern)
    if subscription.assignor is not None:
        count_up(group.votes, subscription.assignor)
    if subscription.instance_id is not None:
        group.instances[subscription.instance_id] = subscription.member_id
    if subscription.speaks is Speaks.CONSUMER:
        group.natives += 1
        group.lost_natives = False


def unindex_subscription(state: Shard, group: Group, subscription: Subscription) -> None:
    """Take a member's names, pattern, vote and seat out again."""
    count_down(group.name_sets, subscription.names)
    if subscription.names not in group.name_sets:
        for name in subscription.names:
            count_down(group.names, name)
            if name not in group.names:
                _forget_user(state.subscribers, name, group.group_id)
    pattern = subscription.pattern
    if pattern is not None:
        count_down(group.patterns, pattern)
        if pattern not in group.patterns:
            _forget_user(state.pattern_users, pattern, group.group_id)
            if pattern in state.patterns and pattern not in state.pattern_users:
                state.unused_patterns.add(pattern)
    if subscription.assignor is not None:
        count_down(group.votes, subscription.assignor)
    if subscription.instance_id is not None and group.instances.get(subscription.instance_id) == subscription.member_id:
        del group.instances[subscription.instance_id]
    if subscription.speaks is Speaks.CONSUMER:
        group.natives -= 1
        group.lost_natives = not group.natives


def _forget_user(users: dict[Key, set[GroupId]], key: Key, group_id: GroupId) -> None:
    users[key].discard(group_id)
    if not users[key]:
        del users[key]


def index_current(state: Shard, group: Group, member_id: MemberId, old: Current, new: Current) -> None:
    """Move a member from what it held to what it holds; raises `OwnedTwice` if another holds part of it."""
    _count_stable(group, old, new)
    had, has = _held(old), _held(new)
    for partition in had - has:
        del group.owners[partition]
        refresh(state, group, partition)
    for partition in has - had if had else has:
        owner = group.owners.get(partition)
        if owner is not None:
            raise OwnedTwice(
                f"EB-ENGINE-002: {partition} of group {group.group_id!r} was to be given to {member_id!r} while"
                f" {owner!r} holds it; the record was decided on another state"
            )
        group.owners[partition] = member_id
        refresh(state, group, partition)


def unindex_current(state: Shard, group: Group, member_id: MemberId, current: Current) -> None:
    """Take a member that is gone out of the indexes."""
    if current.state is MemberState.STABLE:
        count_down(group.stable_at, current.epoch)
    for partition in _held(current):
        del group.owners[partition]
        refresh(state, group, partition)
    group.grantable.pop(member_id, None)


def _count_stable(group: Group, old: Current, new: Current) -> None:
    if old.state is MemberState.STABLE:
        count_down(group.stable_at, old.epoch)
    if new.state is MemberState.STABLE:
        count_up(group.stable_at, new.epoch)


def _held(current: Current) -> AbstractSet[TopicIdPartition]:
    held = current.assigned.keys()
    return held | current.pending_revocation.keys() if current.pending_revocation else held


def retarget(state: Shard, group: Group, member_id: MemberId, partitions: Partitions) -> None:
    """Set a member's target; a partition that another target still names moves over."""
    old = group.target.get(member_id, NO_PARTITIONS)
    gained, lost = partitions - old, old - partitions
    owners = group.target_owners
    stolen = [partition for partition in lost if not _drop_owner(owners, partition, member_id)]
    if stolen:
        lost = lost.difference(stolen)
    _unwant(group, member_id, lost)
    for partition in gained:
        before = owners.get(partition)
        if before is not None:
            _unwant(group, before, (partition,))
            steal_loads(group, before, partition)
        owners[partition] = member_id
    # A difference from a dictionary itself looks up what is on the left, one from its keys walks all of them.
    free = gained.difference(group.owners).difference(state.in_flight.get(group.group_id, {}))
    if free:
        group.grantable.setdefault(member_id, set()).update(free)
    group.target[member_id] = partitions
    retarget_loads(group, member_id, gained, lost)


def _drop_owner(owners: dict[TopicIdPartition, MemberId], partition: TopicIdPartition, member_id: MemberId) -> bool:
    """Take a partition from the member; False if it is another's by now."""
    owner = owners.pop(partition, member_id)
    if owner != member_id:
        owners[partition] = owner
    return owner == member_id


def refresh(state: Shard, group: Group, partition: TopicIdPartition) -> None:
    """Decide anew whether a partition that a target names can be granted."""
    member_id = group.target_owners.get(partition)
    if member_id is None:
        return
    if partition in group.owners or is_in_flight(state, group.group_id, partition):
        _unwant(group, member_id, (partition,))
    else:
        group.grantable.setdefault(member_id, set()).add(partition)


def _unwant(group: Group, member_id: MemberId, partitions: Iterable[TopicIdPartition]) -> None:
    wanted = group.grantable.get(member_id)
    if wanted is not None:
        wanted.difference_update(partitions)
        if not wanted:
            del group.grantable[member_id]
