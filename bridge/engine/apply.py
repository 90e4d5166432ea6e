"""How each record changes the state and its indexes: the only writer.

It must not decide anything, refuse anything or know the time.
"""

from collections.abc import Callable
from functools import singledispatch

from bridge.engine.classic.records import ClassicRecord
from bridge.engine.classic.writing import delete_classic, write_classic
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


def apply(state: Shard, record: Record) -> None:
    """Change the state as the record says; cost O(what the record changes)."""
    kind = type(record)
    writer = _WRITERS.get(kind)
    if writer is None:
        writer = _WRITERS[kind] = _write.dispatch(kind)
    writer(record, state)


_WRITERS: dict[type[object], Callable[[Record, Shard], None]] = {}
"""The writers by kind as far as they were asked for: `singledispatch` looks a kind up in ten times the time."""


@singledispatch
def _write(record: object, state: Shard) -> None:
    raise TypeError(f"EB-ENGINE-001: no writer for record {record!r} ({len(state.groups)} groups); add one to apply")


@_write.register
def _(record: GroupCreated, state: Shard) -> None:
    state.groups[record.group_id] = Group(group_id=record.group_id, epoch=record.epoch, assignment_epoch=record.epoch)


@_write.register
def _(record: ClassicRecord, state: Shard) -> None:
    write_classic(state, record)


@_write.register
def _(record: GroupDeleted, state: Shard) -> None:
    if record.group_id in state.classic_groups:
        delete_classic(state, record.group_id)
        return
    group = state.groups.pop(record.group_id)
    for member in group.members.values():
        unindex_subscription(state, group, member.subscription)
    for kind in (DeadlineKind.INITIAL_DELAY, DeadlineKind.TARGET):
        state.deadlines.drop(DeadlineKey(kind, record.group_id))


@_write.register
def _(record: GroupEpochBumped, state: Shard) -> None:
    state.groups[record.group_id].epoch = record.epoch


@_write.register
def _(record: MemberSubscribed, state: Shard) -> None:
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


@_write.register
def _(record: MemberForgotten, state: Shard) -> None:
    group = state.groups[record.group_id]
    member = group.members.pop(record.member_id)
    unindex_subscription(state, group, member.subscription)
    unindex_current(state, group, record.member_id, member.current)
    retarget(state, group, record.member_id, NO_PARTITIONS)
    group.target.pop(record.member_id, None)
    unseat_loads(group, record.member_id)
    for kind in (DeadlineKind.SESSION, DeadlineKind.REBALANCE):
        state.deadlines.drop(DeadlineKey(kind, record.group_id, record.member_id))


@_write.register
def _(record: NativesLost, state: Shard) -> None:
    state.groups[record.group_id].lost_natives = True


@_write.register
def _(record: TargetAssigned, state: Shard) -> None:
    retarget(state, state.groups[record.group_id], record.member_id, record.partitions)


@_write.register
def _(record: TargetEpochReached, state: Shard) -> None:
    group = state.groups[record.group_id]
    group.assignment_epoch = record.epoch
    rest_loads(group, record.assignor)
    group.assignor = record.assignor
    state.deadlines.drop(DeadlineKey(DeadlineKind.TARGET, record.group_id))


@_write.register
def _(record: CurrentAssigned, state: Shard) -> None:
    group = state.groups[record.group_id]
    member = group.members[record.member_id]
    group.members[record.member_id] = Member(member.subscription, record.current)
    index_current(state, group, record.member_id, member.current, record.current)


@_write.register
def _(record: TopicSeen, state: Shard) -> None:
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


@_write.register
def _(record: TopicGone, state: Shard) -> None:
    topic = state.topics.pop(record.topic_id)
    del state.partition_counts[record.topic_id]
    if state.topic_ids.get(topic.name) == record.topic_id:
        del state.topic_ids[topic.name]
    forget_loads(state, groups_subscribed_to(state, {topic.name}))


@_write.register
def _(record: RegularExpressionResolved, state: Shard) -> None:
    state.patterns[record.pattern] = ResolvedPattern(record.topics, record.error)
    forget_loads(state, state.pattern_users.get(record.pattern, ()))


@_write.register
def _(record: DeadlineSet, state: Shard) -> None:
    state.deadlines.put(record.key, record.at_ms)


@_write.register
def _(record: DeadlineCleared, state: Shard) -> None:
    state.deadlines.drop(record.key)


@_write.register
def _(record: AskParked, state: Shard) -> None:
    state.groups[record.ask.group_id].parked.append(record.ask)


@_write.register
def _(record: DelayChanged, state: Shard) -> None:
    group = state.groups[record.group_id]
    group.delay = record.delay
    if record.delay is None:
        group.parked = []
        state.deadlines.drop(DeadlineKey(DeadlineKind.INITIAL_DELAY, record.group_id))


@_write.register
def _(record: TargetComputed, state: Shard) -> None:
    state.groups[record.group_id].computed_at_ms = record.at_ms


@_write.register
def _(record: SeatKept, state: Shard) -> None:
    state.groups[record.group_id].kept.append(record.seat)


@_write.register
def _(record: SeatTaken, state: Shard) -> None:
    state.groups[record.group_id].kept.remove(record.seat)


@_write.register
def _(record: SeatsGivenUp, state: Shard) -> None:
    state.groups[record.group_id].kept = []


@_write.register
def _(record: CommitBegun, state: Shard) -> None:
    state.last_commit_id = record.commit_id
    state.flights[record.commit_id] = Flight(record.group_id, record.partitions)
    state.group_flights.setdefault(record.group_id, set()).add(record.commit_id)
    flying = state.in_flight.setdefault(record.group_id, {})
    for partition in record.partitions:
        count_up(flying, partition)
    _refresh_all(state, record.group_id, record.partitions)


@_write.register
def _(record: CommitEnded, state: Shard) -> None:
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


def _refresh_all(state: Shard, group_id: GroupId, partitions: Partitions) -> None:
    group = state.groups.get(group_id)
    if group is not None:
        for partition in partitions:
            refresh(state, group, partition)
