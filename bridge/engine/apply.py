"""How each record changes the state and its indexes: the only writer.

It must not decide anything, refuse anything or know the time.
"""

from bridge.engine.classic.writing import apply_classic, delete_classic
from bridge.engine.indexes import (
    count_down,
    count_up,
    index_current,
    index_subscription,
    refresh,
    retarget,
    unindex_current,
    unindex_subscription,
)
from bridge.engine.loads import forget_loads, index_topic, rest_loads, seat_loads, unseat_loads
from bridge.engine.model import Current, DeadlineKey, DeadlineKind, Member, ResolvedPattern
from bridge.engine.records import (
    AskParked,
    CommitBegun,
    CommitEnded,
    CurrentAssigned,
    DeadlineCleared,
    DeadlineSet,
    DelayChanged,
    GroupCreated,
    GroupDeleted,
    GroupEpochBumped,
    MemberForgotten,
    MemberSubscribed,
    NativesLost,
    Record,
    RegularExpressionResolved,
    SeatKept,
    SeatsGivenUp,
    SeatTaken,
    TargetAssigned,
    TargetComputed,
    TargetEpochReached,
    TopicGone,
    TopicSeen,
)
from bridge.engine.state import NO_PARTITIONS, Flight, Group, Partitions, Shard, groups_subscribed_to
from translators.dialects.ids import GroupId


def apply(state: Shard, record: Record) -> None:  # noqa: C901  # one case a kind
    """Change the state as the record says; cost O(what the record changes).

    The commonest kinds come first, as each case is tried in turn.
    """
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
            state.groups[record.group_id] = Group(
                group_id=record.group_id, epoch=record.epoch, assignment_epoch=record.epoch
            )
        case GroupDeleted():
            _delete_group(state, record)
        case NativesLost():
            state.groups[record.group_id].lost_natives = True
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
        case RegularExpressionResolved():
            _resolve_pattern(state, record)
        case _:  # A record of classic groups, or else the type check fails, as it must for a kind without a case.
            apply_classic(state, record)


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
    seat_loads(state, group, record.subscription)


def _forget_member(state: Shard, record: MemberForgotten) -> None:
    group = state.groups[record.group_id]
    member = group.members.pop(record.member_id)
    unindex_subscription(state, group, member.subscription)
    unindex_current(state, group, record.member_id, member.current)
    retarget(state, group, record.member_id, NO_PARTITIONS)
    group.target.pop(record.member_id, None)
    unseat_loads(group, record.member_id)
    for kind in (DeadlineKind.SESSION, DeadlineKind.REBALANCE):
        state.deadlines.drop(DeadlineKey(kind, record.group_id, record.member_id))


def _reach_target(state: Shard, record: TargetEpochReached) -> None:
    group = state.groups[record.group_id]
    group.assignment_epoch = record.epoch
    rest_loads(group, record.assignor)
    group.assignor = record.assignor
    state.deadlines.drop(DeadlineKey(DeadlineKind.TARGET, record.group_id))


def _delete_group(state: Shard, record: GroupDeleted) -> None:
    if record.group_id in state.classic_groups:
        delete_classic(state, record.group_id)
        return
    group = state.groups.pop(record.group_id)
    for member in group.members.values():
        unindex_subscription(state, group, member.subscription)
    for kind in (DeadlineKind.INITIAL_DELAY, DeadlineKind.TARGET):
        state.deadlines.drop(DeadlineKey(kind, record.group_id))


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


def _resolve_pattern(state: Shard, record: RegularExpressionResolved) -> None:
    state.patterns[record.pattern] = ResolvedPattern(record.topics, record.error)
    forget_loads(state, state.pattern_users.get(record.pattern, ()))


def _refresh_all(state: Shard, group_id: GroupId, partitions: Partitions) -> None:
    group = state.groups.get(group_id)
    if group is not None:
        for partition in partitions:
            refresh(state, group, partition)
