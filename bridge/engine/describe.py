"""Groups as admins see them: ConsumerGroupDescribe, the classic view, lists, and snapshots for our own API."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from bridge.engine.commands import GroupType, Speaks
from bridge.engine.consumer.target import choose_assignor
from bridge.engine.model import ClassicMember, Member, MemberState, Phase, metadata_of
from bridge.engine.queries import ASSIGNING, RECONCILING, group_state, looks_classic
from bridge.engine.state import NO_PARTITIONS, ClassicGroup, Group, HiddenTopics, Partitions, Shard, topic_names_of
from translators.dialects.admin import DescribedGroup, DescribedMember, ListedGroup, ListGroups
from translators.dialects.consumer import DescribedConsumerGroup, DescribedConsumerMember, DescribedTopicPartitions
from translators.dialects.errors import ErrorCode, quote
from translators.dialects.ids import (
    BLANKS,
    ClientIdentity,
    GroupId,
    InstanceId,
    MemberId,
    TopicId,
    TopicIdPartition,
    TopicName,
    TopicPartition,
)

PROTOCOL_TYPE = "consumer"
_CLASSIC_STATES = {ASSIGNING: "PreparingRebalance", RECONCILING: "CompletingRebalance"}


ConsumerSketch = tuple[DescribedConsumerGroup, Iterator[DescribedConsumerMember]]
ClassicSketch = tuple[DescribedGroup, Iterator[DescribedMember]]
"""A group without its members, and these as they were at the same moment, each described when it is asked for: all of
10,000 take a third of a second.
"""


class ClassicEncoder(Protocol):
    """Writes the blobs of the classic view; the caller brings it."""

    def subscription(self, topics: tuple[TopicName, ...], owned: tuple[TopicPartition, ...]) -> bytes:
        """A subscription as a classic client would have sent it."""
        ...

    def assignment(self, partitions: tuple[TopicPartition, ...]) -> bytes:
        """An assignment as a classic leader would have made it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSnapshot:
    """One member as our own API shows it."""

    member_id: MemberId
    instance_id: InstanceId | None
    identity: ClientIdentity
    speaks: Speaks
    epoch: int
    previous_epoch: int
    state: MemberState
    topics: tuple[TopicName, ...]
    current: Partitions
    pending_revocation: Partitions
    target: Partitions


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSnapshot:
    """One group as our own API shows it."""

    group_id: GroupId
    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[MemberSnapshot, ...]


def describe_consumer_group(state: Shard, group_id: GroupId) -> ConsumerSketch:
    """One group for ConsumerGroupDescribe; 69 if unknown or if Kafka had it as a classic one, 24 without a name (K6.5).

    A consumer group of classic members alone is none that a tool should find (decision 22).
    """
    if not group_id:
        return DescribedConsumerGroup(error=ErrorCode.INVALID_GROUP_ID, group_id=group_id), iter(())
    group = state.groups.get(group_id)
    if group is None or looks_classic(state, group_id):
        is_there = group is not None or group_id in state.classic_groups
        message = f"Group {quote(group_id)} {'is not a consumer group' if is_there else 'not found'}."
        code = ErrorCode.GROUP_ID_NOT_FOUND
        return DescribedConsumerGroup(error=code, group_id=group_id, error_message=message), iter(())
    shown = DescribedConsumerGroup(
        error=ErrorCode.NONE,
        group_id=group_id,
        group_state=group_state(group),
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=choose_assignor(state, group),
    )
    members, target = tuple(group.members.values()), dict(group.target)
    return shown, (_describe_member(state, member, target) for member in members)


def describe_classic_view(state: Shard, group_id: GroupId, encoder: ClassicEncoder) -> ClassicSketch:
    """One group for DescribeGroups: a classic one as it is (K6.2), in every version; a consumer group as a classic one
    in the nearest classic state (decision 22), v0-v5; unknown ones are Dead (K6.1).
    """
    classic = state.classic_groups.get(group_id)
    if classic is not None:
        return describe_classic_group(classic)
    group = state.groups.get(group_id)
    if group is None:
        return DescribedGroup(error=ErrorCode.NONE, group_id=group_id, group_state="Dead"), iter(())
    stage = group_state(group)
    shown = DescribedGroup(
        error=ErrorCode.NONE,
        group_id=group_id,
        group_state=_CLASSIC_STATES.get(stage, stage),
        protocol_type=PROTOCOL_TYPE,
        protocol_data=choose_assignor(state, group) if group.members else "",
    )
    members, hidden = tuple(group.members.values()), dict(group.hidden)
    return shown, (_view_member(state, member, hidden, encoder) for member in members)


def filter_of(request: ListGroups) -> Callable[[ListedGroup], bool]:
    """Which groups are asked for: filters know no case; blanks around a state count for nothing, around a type they do
    (K6.4). Before version 5 brokers had one type of group and did not name it.
    """
    states = {wanted.strip(BLANKS).lower() for wanted in request.states}
    types = {wanted.lower() for wanted in request.types}

    def passes(listed: ListedGroup) -> bool:
        group_type = listed.group_type.lower() or GroupType.CLASSIC.value
        return (not states or listed.group_state.lower() in states) and (not types or group_type in types)

    return passes


def list_groups(state: Shard) -> Iterator[ListedGroup]:
    """The groups that there are now, each as it is when it is asked for."""
    groups, classic_groups = tuple(state.groups.values()), tuple(state.classic_groups.values())
    return chain(_list_consumers(groups), _list_classics(classic_groups))


def _list_consumers(groups: Iterable[Group]) -> Iterator[ListedGroup]:
    for group in groups:
        yield ListedGroup(
            group_id=group.group_id,
            protocol_type=PROTOCOL_TYPE,
            group_state=group_state(group),
            group_type=GroupType.CONSUMER.value,
        )


def _list_classics(groups: Iterable[ClassicGroup]) -> Iterator[ListedGroup]:
    for classic in groups:
        yield ListedGroup(
            group_id=classic.group_id,
            protocol_type=classic.roster.protocol_type,
            group_state=classic.phase.value,
            group_type=GroupType.CLASSIC.value,
        )


def group_snapshot(state: Shard, group_id: GroupId) -> GroupSnapshot | None:
    """One consumer group for our own API, None if there is none of that name."""
    group = state.groups.get(group_id)
    if group is None:
        return None
    return GroupSnapshot(
        group_id=group_id,
        state=group_state(group),
        epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor=choose_assignor(state, group),
        members=tuple(_snapshot_member(state, group, member) for member in group.members.values()),
    )


def _snapshot_member(state: Shard, group: Group, member: Member) -> MemberSnapshot:
    subscription, current = member.subscription, member.current
    return MemberSnapshot(
        member_id=subscription.member_id,
        instance_id=subscription.instance_id,
        identity=subscription.identity,
        speaks=subscription.speaks,
        epoch=current.epoch,
        previous_epoch=current.previous_epoch,
        state=current.state,
        topics=tuple(sorted(topic_names_of(state, group.hidden, subscription))),
        current=frozenset(current.assigned),
        pending_revocation=frozenset(current.pending_revocation),
        target=group.target.get(subscription.member_id, NO_PARTITIONS),
    )


def _describe_member(state: Shard, member: Member, target: Mapping[MemberId, Partitions]) -> DescribedConsumerMember:
    """A member as ConsumerGroupDescribe shows it: what it has yet to give up is still its own, no pattern is an empty
    one (both as seen on Kafka 4.3.1, K6.5).
    """
    subscription = member.subscription
    holds = {**member.current.assigned, **member.current.pending_revocation}
    return DescribedConsumerMember(
        member_id=subscription.member_id,
        instance_id=subscription.instance_id,
        rack_id=subscription.rack_id,
        member_epoch=member.current.epoch,
        client_id=subscription.identity.client_id,
        client_host=subscription.identity.shown_host,
        subscribed_topic_names=tuple(sorted(subscription.names)),
        subscribed_topic_regex=subscription.pattern or "",
        assignment=_by_topic(state, holds),
        target_assignment=_by_topic(state, target.get(subscription.member_id, NO_PARTITIONS)),
        member_type=int(subscription.speaks),
    )


def _view_member(state: Shard, member: Member, hidden: HiddenTopics, encoder: ClassicEncoder) -> DescribedMember:
    subscription = member.subscription
    current = member.current
    # What it has yet to let go of is nobody else's, and Kafka shows it as the member's, too (4.3.1).
    partitions = _by_name(state, (*current.assigned, *current.pending_revocation))
    return DescribedMember(
        member_id=subscription.member_id,
        instance_id=subscription.instance_id,
        client_id=subscription.identity.client_id,
        client_host=subscription.identity.shown_host,
        metadata=encoder.subscription(tuple(sorted(topic_names_of(state, hidden, subscription))), partitions),
        assignment=encoder.assignment(partitions),
    )


def _by_topic(state: Shard, partitions: Iterable[TopicIdPartition]) -> tuple[DescribedTopicPartitions, ...]:
    """Partitions under their topics, in order; topics that are gone are left out (K6.5)."""
    numbers: dict[TopicId, list[int]] = {}
    for topic_id, partition in partitions:
        if topic_id in state.topics:
            numbers.setdefault(topic_id, []).append(partition)
    topics = sorted((state.topics[topic_id] for topic_id in numbers), key=lambda topic: topic.name)
    return tuple(
        DescribedTopicPartitions(
            topic_id=topic.topic_id, topic_name=topic.name, partitions=tuple(sorted(numbers[topic.topic_id]))
        )
        for topic in topics
    )


def _by_name(state: Shard, partitions: Iterable[TopicIdPartition]) -> tuple[TopicPartition, ...]:
    return tuple(
        sorted(
            TopicPartition(state.topics[topic_id].name, partition)
            for topic_id, partition in partitions
            if topic_id in state.topics
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicGroupSnapshot:
    """One classic group as our own API shows it: everybody, who waits, and who is waited for."""

    group_id: GroupId
    state: str
    generation: int
    protocol_type: str
    protocol_name: str | None
    leader: MemberId | None
    members: tuple[ClassicMember, ...]
    joining: frozenset[MemberId]
    syncing: frozenset[MemberId]
    pending: frozenset[MemberId]
    is_draining: bool


def describe_classic_group(group: ClassicGroup) -> ClassicSketch:
    """One group for DescribeGroups: protocol and metadata only while Stable, the last assignments always (K6.2 with
    11.4).
    """
    protocol_name = group.roster.protocol_name if group.phase is Phase.STABLE else None
    shown = DescribedGroup(
        error=ErrorCode.NONE,
        group_id=group.group_id,
        group_state=group.phase.value,
        protocol_type=group.roster.protocol_type,
        protocol_data=protocol_name or "",
    )
    return shown, (_describe_classic_member(member, protocol_name) for member in tuple(group.members.values()))


def classic_snapshot(group: ClassicGroup) -> ClassicGroupSnapshot:
    """One group for our own API."""
    return ClassicGroupSnapshot(
        group_id=group.group_id,
        state=group.phase.value,
        generation=group.roster.generation,
        protocol_type=group.roster.protocol_type,
        protocol_name=group.roster.protocol_name,
        leader=group.roster.leader,
        members=tuple(group.members.values()),
        joining=frozenset(group.joining),
        syncing=frozenset(group.syncing),
        pending=frozenset(group.pending),
        is_draining=bool(group.draining),
    )


def _describe_classic_member(member: ClassicMember, protocol_name: str | None) -> DescribedMember:
    return DescribedMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.identity.client_id,
        client_host=member.identity.shown_host,
        metadata=metadata_of(member.protocols, protocol_name),
        assignment=member.assignment,
    )
