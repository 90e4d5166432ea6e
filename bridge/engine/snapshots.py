"""A shard's state as comparable values, whole and durable part only. It must not know how the state came about."""

from dataclasses import dataclass

from bridge.engine.model import Ask, DeadlineKey, InitialDelay, Member, ResolvedPattern
from bridge.engine.state import Flight, Group, Partitions, Shard
from translators.dialects.ids import GroupId, MemberId, Topic, TopicId, TopicIdPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class DurableGroup:
    """What must survive of a group, and the index that follows from it."""

    epoch: int
    assignment_epoch: int
    assignor: str
    members: dict[MemberId, Member]
    target: dict[MemberId, Partitions]
    owners: dict[TopicIdPartition, MemberId]


@dataclass(frozen=True, slots=True, kw_only=True)
class VolatileGroup:
    """What of a group starts empty after a restart."""

    computed_at_ms: int | None
    delay: InitialDelay | None
    parked: tuple[Ask, ...]
    grantable: dict[MemberId, frozenset[TopicIdPartition]]


@dataclass(frozen=True, slots=True)
class DurableSnapshot:
    """What must survive of a shard."""

    groups: dict[GroupId, DurableGroup]
    topics: dict[TopicId, Topic]
    patterns: dict[str, ResolvedPattern]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All of a shard."""

    durable: DurableSnapshot
    groups: dict[GroupId, VolatileGroup]
    deadlines: dict[DeadlineKey, int]
    flights: dict[int, Flight]
    last_commit_id: int


def durable(state: Shard) -> DurableSnapshot:
    """The part that must survive; the law is that replaying durable records into a fresh shard gives an equal one."""
    return DurableSnapshot(
        {group_id: _durable_group(group) for group_id, group in state.groups.items()},
        dict(state.topics),
        dict(state.patterns),
    )


def snapshot(state: Shard) -> Snapshot:
    """All there is; the law is that replaying all records into a fresh shard gives an equal one."""
    return Snapshot(
        durable=durable(state),
        groups={group_id: _volatile_group(group) for group_id, group in state.groups.items()},
        deadlines=dict(state.deadlines.due),
        flights=dict(state.flights),
        last_commit_id=state.last_commit_id,
    )


def _durable_group(group: Group) -> DurableGroup:
    return DurableGroup(
        epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor=group.assignor,
        members=dict(group.members),
        target=dict(group.target),
        owners=dict(group.owners),
    )


def _volatile_group(group: Group) -> VolatileGroup:
    return VolatileGroup(
        computed_at_ms=group.computed_at_ms,
        delay=group.delay,
        parked=tuple(group.parked),
        grantable={member_id: frozenset(wanted) for member_id, wanted in group.grantable.items()},
    )
