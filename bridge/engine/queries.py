"""What the shell may ask about the state without changing it. It must not know how anything is shown to clients."""

from bridge.engine.model import MemberState
from bridge.engine.state import Group, Shard
from translators.dialects.ids import GroupId, MemberId, TopicName

EMPTY, ASSIGNING, RECONCILING, STABLE = "Empty", "Assigning", "Reconciling", "Stable"
"""The states of a consumer group (K2.60)."""


def next_deadline(state: Shard) -> int | None:
    """When `PassDeadlines` is due next, in milliseconds, or None."""
    return state.deadlines.earliest()


def has_news(state: Shard, group_id: GroupId, member_id: MemberId) -> bool:
    """Whether a heartbeat of this member could change something; O(1).

    True if its epoch is behind the target's, if it has to give something up, if something it waits for can be
    granted, or if it
    is not known (then a heartbeat tells so).
    """
    group = state.groups.get(group_id)
    member = None if group is None else group.members.get(member_id)
    if group is None or member is None:
        return True
    current = member.current
    if current.epoch != group.assignment_epoch or current.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    return member_id in group.grantable


def group_state(group: Group) -> str:
    """Empty, Assigning, Reconciling or Stable (K2.60); O(1)."""
    if not group.members:
        return EMPTY
    if group.epoch > group.assignment_epoch:
        return ASSIGNING
    settled = group.stable_at.get(group.assignment_epoch, 0)
    return STABLE if settled == len(group.members) else RECONCILING


def subscribed_topics(state: Shard, group_id: GroupId) -> frozenset[TopicName] | None:
    """The topics somebody in the group subscribes to, for OffsetDelete (K5.22); None for an unknown group."""
    group = state.groups.get(group_id)
    if group is None:
        return None
    matched = (state.patterns[pattern].topics for pattern in group.patterns if pattern in state.patterns)
    return frozenset(group.names).union(*matched)
