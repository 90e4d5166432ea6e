"""What a group's assignor remembers: built when it is asked, then kept in step with members, topics and targets."""

from collections.abc import Hashable, Iterable

from bridge.engine.assignors.incremental import IncrementalAssignor, IndexSource, TargetIndex
from bridge.engine.assignors.seats import Seat, seat_of
from bridge.engine.model import Subscription
from bridge.engine.state import (
    NO_PARTITIONS,
    Group,
    Partitions,
    Shard,
    groups_subscribed_to,
    topic_ids_of,
    topic_names_of,
)
from translators.dialects.ids import GroupId, MemberId, Topic, TopicId, TopicIdPartition, TopicName


def index_loads(state: Shard, group: Group, assignor: IncrementalAssignor) -> TargetIndex:
    """What the assignor of the last target remembers of the group; built if it is not at hand.

    This is a memo, no state: the law is that it equals one built anew, so replay can do without it.
    """
    if group.loads is None:
        interests = {member_id: _interest(member.subscription) for member_id, member in group.members.items()}
        first = {interest: member_id for member_id, interest in interests.items()}
        topics: dict[Hashable, frozenset[TopicId]] = {
            interest: topic_ids_of(state, topic_names_of(state, group.members[member_id].subscription))
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
        topics = topic_ids_of(state, topic_names_of(state, subscription))
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
