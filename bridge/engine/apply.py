"""How each record changes the state and its indexes: the only writer. It decides nothing and refuses nothing."""

from dataclasses import replace
from itertools import repeat
from typing import TypeGuard, assert_never, get_args

from bridge.engine.indexes import (
    confirm_loads,
    count_down,
    count_up,
    forget_loads,
    index_current,
    index_subscription,
    index_topic,
    refresh,
    retarget,
    seat_loads,
    unindex_current,
    unindex_subscription,
    unseat_loads,
)
from bridge.engine.model import (
    ClassicMember,
    Current,
    DeadlineKey,
    DeadlineKind,
    Member,
    Phase,
    ResolvedPattern,
    metadata_of,
    names_of,
)
from bridge.engine.records import (
    AskParked,
    AssignmentsHandedOut,
    ClassicGenerationReserved,
    ClassicGenerationsAliased,
    ClassicGroupCreated,
    ClassicGroupSynced,
    ClassicGroupUnloaded,
    ClassicMemberForgotten,
    ClassicMemberReplaced,
    ClassicMemberSeated,
    ClassicRecord,
    CommitBegun,
    CommitEnded,
    CurrentAssigned,
    DeadlineCleared,
    DeadlineSet,
    DelayChanged,
    GroupConfigured,
    GroupCreated,
    GroupDeleted,
    GroupEpochBumped,
    HandOutHeldUp,
    IntervalTold,
    JoinDelayChanged,
    JoinParked,
    JoinPhaseCompleted,
    MemberForgotten,
    MemberIdPromised,
    MemberIdWithdrawn,
    MemberSubscribed,
    NativesForgotten,
    NativesLost,
    RebalancePrepared,
    Record,
    RegularExpressionForgotten,
    RegularExpressionResolved,
    SeatKept,
    SeatsGivenUp,
    SeatTaken,
    SyncParked,
    SyncReceived,
    TargetAssigned,
    TargetComputed,
    TargetEpochReached,
    TopicGone,
    TopicSeen,
    TopicsHidden,
)
from bridge.engine.settings import read_configs
from bridge.engine.state import (
    NO_PARTITIONS,
    ClassicGroup,
    Flight,
    Group,
    Partitions,
    Roster,
    Shard,
    groups_subscribed_to,
    join_key,
    session_key,
    sync_key,
)
from translators.dialects.ids import GroupId, MemberId


def apply(state: Shard, record: Record) -> None:  # noqa: C901  # one case a kind
    """Change the state as the record says; cost O(what the record changes).

    Each case is tried in turn, so the commonest kinds come first, and those of classic groups are told by their type.
    """
    if _is_classic(record):
        apply_classic(state, record)
        return
    match record:
        case DeadlineSet():
            state.deadlines.put(record.key, record.at_ms)
        case CurrentAssigned():
            _assign_current(state, record)
        case TargetAssigned():
            retarget(state, state.groups[record.group_id], record.member_id, record.partitions)
        case CommitBegun():
            _begin_commit(state, record)
        case CommitEnded():
            _end_commit(state, record)
        case DeadlineCleared():
            state.deadlines.drop(record.key)
        case MemberSubscribed():
            _subscribe(state, record)
        case MemberForgotten():
            _forget_member(state, record)
        case GroupEpochBumped():
            state.groups[record.group_id].epoch = record.epoch
        case TargetEpochReached():
            _reach_target(state, record)
        case TargetComputed():
            state.groups[record.group_id].computed_at_ms = record.at_ms
        case GroupCreated():
            _create_group(state, record)
        case GroupDeleted():
            _delete_group(state, record)
        case GroupConfigured():
            _configure(state, record)
        case IntervalTold():
            state.groups[record.group_id].told_intervals[record.member_id] = record.interval_ms
        case NativesLost() | NativesForgotten():
            state.groups[record.group_id].lost_natives = isinstance(record, NativesLost)
        case AskParked():
            state.groups[record.ask.group_id].parked.append(record.ask)
        case DelayChanged():
            _change_delay(state, record)
        case SeatKept():
            state.groups[record.group_id].kept.append(record.seat)
        case SeatTaken():
            state.groups[record.group_id].kept.remove(record.seat)
        case SeatsGivenUp():
            state.groups[record.group_id].kept = []
        case TopicSeen():
            _see_topic(state, record)
        case TopicGone():
            _lose_topic(state, record)
        case RegularExpressionResolved() | RegularExpressionForgotten() | TopicsHidden():
            _take_pattern(state, record)
        case _:  # A record of classic groups, or else the type check fails, as it must for a kind without a case.
            apply_classic(state, record)


_CLASSIC: frozenset[type[Record]] = frozenset(get_args(ClassicRecord))


def _is_classic(record: Record) -> TypeGuard[ClassicRecord]:
    return type(record) in _CLASSIC


def _assign_current(state: Shard, record: CurrentAssigned) -> None:
    group = state.groups[record.group_id]
    member = group.members[record.member_id]
    group.members[record.member_id] = Member(member.subscription, record.current)
    index_current(state, group, record.member_id, member.current, record.current)


def _begin_commit(state: Shard, record: CommitBegun) -> None:
    state.last_commit_id = record.commit_id
    state.flights[record.commit_id] = Flight(record.group_id, record.partitions)
    state.group_flights.setdefault(record.group_id, set()).add(record.commit_id)
    flying = state.in_flight.setdefault(record.group_id, {})
    for partition in record.partitions:
        count_up(flying, partition)
    _refresh_all(state, record.group_id, record.partitions)


def _end_commit(state: Shard, record: CommitEnded) -> None:
    flight = state.flights.pop(record.commit_id)
    flying = state.in_flight[flight.group_id]
    for partition in flight.partitions:
        count_down(flying, partition)
    ids = state.group_flights[flight.group_id]
    ids.discard(record.commit_id)
    if not ids:
        del state.group_flights[flight.group_id]
        del state.in_flight[flight.group_id]
    _refresh_all(state, flight.group_id, flight.partitions)


def _subscribe(state: Shard, record: MemberSubscribed) -> None:
    group = state.groups[record.group_id]
    member_id = record.subscription.member_id
    known = group.members.get(member_id)
    if known is None:
        current = Current()
        count_up(group.stable_at, current.epoch)
    else:
        unindex_subscription(state, group, known.subscription)
        current = known.current
    group.members[member_id] = Member(record.subscription, current)
    index_subscription(state, group, record.subscription)
    _forget_hidden(group)
    seat_loads(state, group, record.subscription)


def _forget_member(state: Shard, record: MemberForgotten) -> None:
    group = state.groups[record.group_id]
    member = group.members.pop(record.member_id)
    unindex_subscription(state, group, member.subscription)
    _forget_hidden(group)
    unindex_current(state, group, record.member_id, member.current)
    retarget(state, group, record.member_id, NO_PARTITIONS)
    group.target.pop(record.member_id, None)
    unseat_loads(group, record.member_id)
    group.told_intervals.pop(record.member_id, None)
    for kind in (DeadlineKind.SESSION, DeadlineKind.REBALANCE):
        state.deadlines.drop(DeadlineKey(kind, record.group_id, record.member_id))


def _reach_target(state: Shard, record: TargetEpochReached) -> None:
    group = state.groups[record.group_id]
    group.assignment_epoch = record.epoch
    confirm_loads(group, record.assignor)
    group.assignor = record.assignor
    state.deadlines.drop(DeadlineKey(DeadlineKind.TARGET, record.group_id))


def _delete_group(state: Shard, record: GroupDeleted) -> None:
    if record.group_id in state.classic_groups:
        delete_classic(state, record.group_id)
        return
    group = state.groups.pop(record.group_id)
    for member in group.members.values():
        unindex_subscription(state, group, member.subscription)
    for kind in (DeadlineKind.SESSION, DeadlineKind.REBALANCE):
        state.deadlines.drop_all(map(DeadlineKey, repeat(kind), repeat(record.group_id), group.members))
    for kind in (DeadlineKind.INITIAL_DELAY, DeadlineKind.TARGET):
        state.deadlines.drop(DeadlineKey(kind, record.group_id))


def _create_group(state: Shard, record: GroupCreated) -> None:
    group_id, epoch = record.group_id, record.epoch
    state.groups[group_id] = Group(group_id=group_id, epoch=epoch, assignment_epoch=epoch)


def _configure(state: Shard, record: GroupConfigured) -> None:
    if record.values:
        state.configs[record.group_id] = read_configs(record.values)
    else:
        state.configs.pop(record.group_id, None)


def _change_delay(state: Shard, record: DelayChanged) -> None:
    group = state.groups[record.group_id]
    group.delay = record.delay
    if record.delay is None:
        group.parked = []
        state.deadlines.drop(DeadlineKey(DeadlineKind.INITIAL_DELAY, record.group_id))


def _see_topic(state: Shard, record: TopicSeen) -> None:
    topic = record.topic
    known = state.topics.get(topic.topic_id)
    if known is not None and state.topic_ids.get(known.name) == topic.topic_id:
        del state.topic_ids[known.name]
    if known is not None and known.name != topic.name:
        forget_loads(state, groups_subscribed_to(state, {known.name, topic.name}))
    state.topics[topic.topic_id] = topic
    state.topic_ids[topic.name] = topic.topic_id
    state.partition_counts[topic.topic_id] = topic.partition_count
    index_topic(state, topic)


def _lose_topic(state: Shard, record: TopicGone) -> None:
    topic = state.topics.pop(record.topic_id)
    del state.partition_counts[record.topic_id]
    if state.topic_ids.get(topic.name) == record.topic_id:
        del state.topic_ids[topic.name]
    forget_loads(state, groups_subscribed_to(state, {topic.name}))


def _take_pattern(state: Shard, record: RegularExpressionResolved | RegularExpressionForgotten | TopicsHidden) -> None:
    pattern = record.pattern
    if isinstance(record, TopicsHidden):
        _hide_topics(state, record)
        return
    if isinstance(record, RegularExpressionForgotten):
        del state.patterns[pattern]
        state.unused_patterns.remove(pattern)
        return
    state.patterns[pattern] = ResolvedPattern(record.topics, record.error)
    if pattern not in state.pattern_users:
        state.unused_patterns.add(pattern)
    forget_loads(state, state.pattern_users.get(pattern, ()))


def _forget_hidden(group: Group) -> None:
    """Nobody has a pattern any more: whoever comes with it next is asked about anew."""
    if group.hidden:
        group.hidden = {pattern: topics for pattern, topics in group.hidden.items() if pattern in group.patterns}


def _hide_topics(state: Shard, record: TopicsHidden) -> None:
    group = state.groups[record.group_id]
    group.hidden.pop(record.pattern, None)
    if record.topics:
        group.hidden[record.pattern] = record.topics
    forget_loads(state, (record.group_id,))


def _refresh_all(state: Shard, group_id: GroupId, partitions: Partitions) -> None:
    group = state.groups.get(group_id)
    if group is not None:
        for partition in partitions:
            refresh(state, group, partition)


def apply_classic(state: Shard, record: ClassicRecord) -> None:  # noqa: C901  # one case a kind
    """Change a classic group as the record says; cost O(what the record changes)."""
    if isinstance(record, ClassicGroupCreated):
        state.classic_groups[record.group_id] = ClassicGroup(group_id=record.group_id)
        return
    group = state.classic_groups[record.group_id]
    match record:
        case JoinParked():
            group.joining[record.member_id] = record.ref
        case SyncReceived():
            _take_from_unsynced(state, group, record.member_id)
        case SyncParked():
            group.syncing[record.member_id] = record.ref
        case ClassicMemberSeated():
            _seat(group, record)
        case MemberIdPromised():
            group.pending[record.member_id] = None
        case MemberIdWithdrawn():
            del group.pending[record.member_id]
            state.deadlines.drop(session_key(record.group_id, record.member_id))
        case JoinPhaseCompleted():
            _complete_join_phase(state, group, record)
        case AssignmentsHandedOut():
            _hand_out(group)
        case ClassicGroupSynced():
            _sync(state, group, record)
        case ClassicGenerationReserved():
            group.last_generation = record.generation
            group.aliases = {}
        case ClassicMemberForgotten():
            _forget_classic_member(state, group, record)
        case ClassicMemberReplaced():
            _replace_member(state, group, record)
        case RebalancePrepared():
            _prepare_rebalance(state, group, record)
        case JoinDelayChanged():
            group.delay = record.delay
        case HandOutHeldUp():
            _hold_hand_out(group, record)
        case ClassicGenerationsAliased():
            group.aliases = {shown.member_id: shown.generation for shown in record.generations}
        case ClassicGroupUnloaded():
            _unload(state, group, record)
        case _:
            assert_never(record)


def delete_classic(state: Shard, group_id: GroupId) -> None:
    """Forget a classic group with all its deadlines."""
    group = state.classic_groups.pop(group_id)
    for member_id in (*group.members, *group.pending):
        state.deadlines.drop(session_key(group_id, member_id))
    state.deadlines.drop(join_key(group_id))
    state.deadlines.drop(sync_key(group_id))


def _seat(group: ClassicGroup, record: ClassicMemberSeated) -> None:
    member = record.member
    known = group.members.get(member.member_id)
    if known is not None:
        _unindex(group, known)
    _index(group, member)
    group.members[member.member_id] = member
    group.roster.protocol_type = record.protocol_type
    group.roster.leader = record.leader
    if record.is_new:
        group.newcomers.add(member.member_id)


def _complete_join_phase(state: Shard, group: ClassicGroup, record: JoinPhaseCompleted) -> None:
    group.phase = Phase.COMPLETING_REBALANCE
    group.roster.generation = record.generation
    group.roster.protocol_name = record.protocol_name
    group.roster.leader = record.leader
    group.delay = None
    group.joining = {}
    group.newcomers = set()
    group.unsynced = dict.fromkeys(group.members)
    group.subscriptions = _subscriptions(group)
    state.deadlines.drop(join_key(record.group_id))


def _hand_out(group: ClassicGroup) -> None:
    group.syncing = {}
    group.draining = frozenset()
    group.succeeding = set()


def _sync(state: Shard, group: ClassicGroup, record: ClassicGroupSynced) -> None:
    group.synced, group.roster = _roster(record), _roster(record)
    group.last_generation = max(group.last_generation, record.generation)
    group.has_lost_member = False
    group.aliases = {}
    group.subscriptions = _subscriptions(group)
    group.phase = Phase.STABLE if record.members else Phase.EMPTY
    group.instances = {
        member.instance_id: member.member_id for member in record.members if member.instance_id is not None
    }
    group.offers = {}
    for member in record.members:
        count_up(group.offers, names_of(member.protocols))
    if not record.members:
        group.delay = None
        state.deadlines.drop(join_key(record.group_id))


def _forget_classic_member(state: Shard, group: ClassicGroup, record: ClassicMemberForgotten) -> None:
    member_id = record.member_id
    group.has_lost_member |= member_id in group.synced.members
    member = group.members.get(member_id)
    if member is not None:
        _unindex(group, member)
    _strike(group.roster, member_id)
    _strike(group.synced, member_id)
    group.joining.pop(member_id, None)
    group.syncing.pop(member_id, None)
    group.newcomers.discard(member_id)
    group.succeeding.discard(member_id)
    group.aliases.pop(member_id, None)
    state.deadlines.drop(session_key(record.group_id, member_id))
    _take_from_unsynced(state, group, member_id)


def _replace_member(state: Shard, group: ClassicGroup, record: ClassicMemberReplaced) -> None:
    member, former_id = record.member, record.former_id
    former = group.members.get(former_id)
    if former is not None:
        _unindex(group, former)
        _index(group, member)
    _replace(group.roster, former_id, member)
    _replace(group.synced, former_id, member)
    group.joining.pop(former_id, None)
    group.syncing.pop(former_id, None)
    group.aliases.pop(former_id, None)
    group.succeeding.discard(former_id)
    if former_id in group.newcomers:
        group.newcomers.discard(former_id)
        group.newcomers.add(member.member_id)
    if former_id in group.unsynced:
        del group.unsynced[former_id]
        group.unsynced[member.member_id] = None
    state.deadlines.drop(session_key(record.group_id, former_id))


def _prepare_rebalance(state: Shard, group: ClassicGroup, record: RebalancePrepared) -> None:
    group.phase = Phase.PREPARING_REBALANCE
    group.syncing = {}
    group.unsynced = {}
    group.draining = frozenset()
    group.succeeding = set()
    state.deadlines.drop(sync_key(record.group_id))
    if record.voids_assignments:
        for member_id, member in group.members.items():
            group.members[member_id] = replace(member, assignment=b"")


def _hold_hand_out(group: ClassicGroup, record: HandOutHeldUp) -> None:
    group.draining = record.commit_ids
    if record.member_id is not None:
        group.succeeding.add(record.member_id)


def _unload(state: Shard, group: ClassicGroup, record: ClassicGroupUnloaded) -> None:
    group.phase = Phase.DEAD
    group.joining = {}
    group.syncing = {}
    for member_id in (*group.members, *group.pending):
        state.deadlines.drop(session_key(record.group_id, member_id))
    state.deadlines.drop(join_key(record.group_id))
    state.deadlines.drop(sync_key(record.group_id))


def _roster(record: ClassicGroupSynced) -> Roster:
    return Roster(
        generation=record.generation,
        protocol_type=record.protocol_type,
        protocol_name=record.protocol_name,
        leader=record.leader,
        members={member.member_id: member for member in record.members},
    )


def _subscriptions(group: ClassicGroup) -> tuple[bytes, ...]:
    """What members say under the chosen protocol."""
    name = group.roster.protocol_name
    return tuple([metadata_of(member.protocols, name) for member in group.members.values()])


def _replace(roster: Roster, former_id: MemberId, member: ClassicMember) -> None:
    """Put a member on another's seat, with its assignment and, if it led, its leadership."""
    former = roster.members.get(former_id)
    if former is None:
        return
    seated = replace(member, assignment=former.assignment)
    if roster.leader == former_id:
        roster.leader = member.member_id
    del roster.members[former_id]
    roster.members[member.member_id] = seated


def _strike(roster: Roster, member_id: MemberId) -> None:
    roster.members.pop(member_id, None)
    if roster.leader == member_id:
        roster.leader = next(iter(roster.members), None)


def _take_from_unsynced(state: Shard, group: ClassicGroup, member_id: MemberId) -> None:
    if member_id in group.unsynced:
        del group.unsynced[member_id]
        if not group.unsynced:
            state.deadlines.drop(sync_key(group.group_id))


def _index(group: ClassicGroup, member: ClassicMember) -> None:
    count_up(group.offers, names_of(member.protocols))
    if member.instance_id is not None:
        group.instances[member.instance_id] = member.member_id


def _unindex(group: ClassicGroup, member: ClassicMember) -> None:
    count_down(group.offers, names_of(member.protocols))
    if member.instance_id is not None and group.instances.get(member.instance_id) == member.member_id:
        del group.instances[member.instance_id]
