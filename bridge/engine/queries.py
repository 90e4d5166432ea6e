"""What may be asked about the state without changing it, and when a group may be forgotten."""

from collections.abc import Set as AbstractSet

from bridge.engine.commands import DeleteGroup, GroupType
from bridge.engine.model import MemberState, Phase
from bridge.engine.records import GroupDeleted
from bridge.engine.state import NO_TOPICS, ClassicGroup, Group, Shard, settings_of
from bridge.engine.turn import Turn
from translators.dialects.admin import DeletedGroup
from translators.dialects.consumer_protocol import MalformedBlob, decode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, MemberRef, TopicIdPartition, TopicName

# ------------------------------------------------------------------------------------------ queries
# What the shell may ask about the state without changing it.

EMPTY, ASSIGNING, RECONCILING, STABLE = "Empty", "Assigning", "Reconciling", "Stable"
"""The states of a consumer group (K2.60)."""


CONSUMER_PROTOCOL_TYPE = "consumer"
"""The protocol type of those whose metadata says which topics they subscribe to."""


def group_type(state: Shard, group_id: GroupId) -> GroupType | None:
    """What a group is at this moment, None if there is none: the door between the two kinds; O(1).

    JoinGroup, SyncGroup and Heartbeat go to `ClassicJoin`, `ClassicSync` and `ClassicHeartbeat` for CLASSIC and through
    the member's machine for CONSUMER; LeaveGroup may go to `ClassicLeave` for both. A JoinGroup for None begins
    whichever the configuration says (decision 21), and a CLASSIC one if it can't be translated. An empty CONSUMER
    group may become classic by a `ClassicJoin`, an Empty CLASSIC one consumer by a `MemberHeartbeat` at epoch 0.
    """
    if group_id in state.classic_groups:
        return GroupType.CLASSIC
    return GroupType.CONSUMER if group_id in state.groups else None


def looks_classic(state: Shard, group_id: GroupId) -> bool:
    """Whether a group is what Kafka would have as a classic one: of another kind it had no member, or has none any
    more; O(1).

    A consumer group of classic members alone is one for their sake (decision 21), and its tools know nothing of it. One
    whose last KIP-848 member is gone Kafka turns classic where it may (K3.20), and has as a consumer group elsewhere.
    """
    group = state.groups.get(group_id)
    if group is None:
        return group_id in state.classic_groups
    if group.natives or not group.lost_natives:
        return not group.natives
    settings = settings_of(state, group_id)
    return settings.group_consumer_migration_policy.downgrades and 0 < len(group.members) <= settings.group_max_size


def has_members(state: Shard, group_id: GroupId) -> bool:
    """Whether anybody has a seat in a group of either type; one without may change its type by a join; O(1)."""
    group: Group | ClassicGroup | None = state.groups.get(group_id) or state.classic_groups.get(group_id)
    return group is not None and bool(group.members)


def next_deadline(state: Shard) -> int | None:
    """When `PassDeadlines` is due next, in milliseconds, or None."""
    return state.deadlines.earliest()


def has_news(state: Shard, key: MemberRef) -> bool:
    """Whether a heartbeat of this member could change something; O(1).

    True if its epoch is behind the target's, if it has to give something up, if something it waits for can be granted,
    or if it is not known (then a heartbeat tells so).
    """
    group = state.groups.get(key.group_id)
    member = None if group is None else group.members.get(key.member_id)
    if group is None or member is None:
        return True
    current = member.current
    if current.epoch != group.assignment_epoch or current.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    return key.member_id in group.grantable


def group_state(group: Group) -> str:
    """Empty, Assigning, Reconciling or Stable (K2.60); O(1)."""
    if not group.members:
        return EMPTY
    if group.epoch > group.assignment_epoch:
        return ASSIGNING
    settled = group.stable_at.get(group.assignment_epoch, 0)
    return STABLE if settled == len(group.members) else RECONCILING


def subscribed_names(state: Shard, group_id: GroupId, member_id: MemberId) -> frozenset[TopicName]:
    """The topics that a member of a consumer group subscribes to by name; none if there is no such member."""
    group = state.groups.get(group_id)
    member = None if group is None else group.members.get(member_id)
    return frozenset() if member is None else member.subscription.names


def matched_topics(
    state: Shard, group_id: GroupId, member_id: MemberId, assignment: AbstractSet[TopicIdPartition]
) -> frozenset[TopicName]:
    """The topics of an assignment that a member has by its pattern alone; none of whom nobody knows."""
    group = state.groups.get(group_id)
    member = None if group is None else group.members.get(member_id)
    if member is None or not member.subscription.pattern:
        return frozenset()
    found = (state.topics.get(topic_id) for topic_id in {topic_id for topic_id, _ in assignment})
    return frozenset(topic.name for topic in found if topic is not None) - member.subscription.names


def subscribed_topics(state: Shard, group_id: GroupId) -> frozenset[TopicName] | None:
    """The topics somebody in the group subscribes to, for OffsetDelete (K5.22); None for an unknown group.

    A classic group of consumers whose subscriptions can't be read counts as subscribed to all there is.
    """
    classic = state.classic_groups.get(group_id)
    if classic is not None:
        subscribed = subscribed_by(classic)
        return frozenset(state.topic_ids) if subscribed is None else subscribed
    group = state.groups.get(group_id)
    if group is None:
        return None
    matched = (topics_matched(state, pattern) - group.hidden.get(pattern, NO_TOPICS) for pattern in group.patterns)
    return frozenset(group.names).union(*matched)


def topics_matched(state: Shard, pattern: str) -> frozenset[TopicName]:
    """What a pattern matches; nothing where that is not known."""
    resolved = state.patterns.get(pattern)
    return NO_TOPICS if resolved is None else resolved.topics


def subscribed_by(group: ClassicGroup) -> frozenset[TopicName] | None:
    """The topics that members of a consumer-type group wanted when its generation began; empty for other types.

    None if nobody can tell: no generation has begun, or a subscription can't be read (K1.39, K5.22). Where everybody
    has left and a promised id is waited for (K1.20), they count until the rebalance ends and the group is Empty.
    """
    if group.roster.protocol_type != CONSUMER_PROTOCOL_TYPE or group.phase is Phase.EMPTY:
        return frozenset()
    if group.subscriptions is None:
        return None
    topics: set[TopicName] = set()
    for subscription in group.subscriptions:
        try:
            topics.update(decode_subscription(subscription).topics)
        except MalformedBlob:
            return None
    return frozenset(topics)


def judge_offset_deletion(state: Shard, group_id: GroupId) -> ErrorCode:
    """Whether offsets of a group may be deleted at all, before its topics are looked at (K5.22)."""
    if not group_id:
        return ErrorCode.INVALID_GROUP_ID
    classic = state.classic_groups.get(group_id)
    if classic is None:
        return ErrorCode.NONE if group_id in state.groups else ErrorCode.GROUP_ID_NOT_FOUND
    if classic.phase is Phase.DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND
    is_busy = classic.phase is not Phase.EMPTY and classic.roster.protocol_type != CONSUMER_PROTOCOL_TYPE
    return ErrorCode.NON_EMPTY_GROUP if is_busy else ErrorCode.NONE


# ----------------------------------------------------------------------------------------- deletion
# When a group may be forgotten.


def take_deletion(turn: Turn, command: DeleteGroup) -> None:
    """Forget an empty group (K6.7)."""
    code = judge_deletion(turn.state, command.group_id)
    if code is ErrorCode.NONE:
        turn.write(GroupDeleted(command.group_id))
        turn.forget(command.group_id)
    turn.reply(command.ref, DeletedGroup(command.group_id, code))


def judge_deletion(state: Shard, group_id: GroupId) -> ErrorCode:
    """Whether a group may go: unknown 69, members or parked joiners 68; a classic one if it is Empty, whatever ids are
    promised (K6.7).
    """
    classic = state.classic_groups.get(group_id)
    if classic is not None:
        return _PHASES.get(classic.phase, ErrorCode.NON_EMPTY_GROUP)
    group = state.groups.get(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return ErrorCode.NON_EMPTY_GROUP if group.members or group.parked else ErrorCode.NONE


_PHASES = {Phase.EMPTY: ErrorCode.NONE, Phase.DEAD: ErrorCode.GROUP_ID_NOT_FOUND}
