"""A shard's state as comparable values, whole and durable part only."""

from dataclasses import dataclass, field, replace

from bridge.engine.model import Ask, DeadlineKey, InitialDelay, KeptSeat, Member, ResolvedPattern
from bridge.engine.settings import GroupConfigs
from bridge.engine.state import ClassicGroup, Flight, Group, Partitions, Roster, Shard
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
    kept: tuple[KeptSeat, ...] = ()
    lost_natives: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VolatileGroup:
    """What of a group starts empty after a restart."""

    computed_at_ms: int | None
    delay: InitialDelay | None
    parked: tuple[Ask, ...]
    grantable: dict[MemberId, frozenset[TopicIdPartition]]
    told_intervals: dict[MemberId, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DurableClassicGroup:
    """What must survive of a classic group."""

    synced: Roster
    last_generation: int
    has_lost_member: bool
    aliases: dict[MemberId, int]


@dataclass(frozen=True, slots=True)
class DurableSnapshot:
    """What must survive of a shard."""

    groups: dict[GroupId, DurableGroup]
    topics: dict[TopicId, Topic]
    patterns: dict[str, ResolvedPattern]
    classic_groups: dict[GroupId, DurableClassicGroup] = field(default_factory=dict)
    configs: dict[GroupId, GroupConfigs] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All of a shard."""

    durable: DurableSnapshot
    groups: dict[GroupId, VolatileGroup]
    deadlines: dict[DeadlineKey, int]
    flights: dict[int, Flight]
    last_commit_id: int
    classic_groups: dict[GroupId, ClassicGroup] = field(default_factory=dict)


def durable(state: Shard) -> DurableSnapshot:
    """The part that must survive; the law is that replaying durable records into a fresh shard gives an equal one."""
    return DurableSnapshot(
        {group_id: _durable_group(group) for group_id, group in state.groups.items()},
        dict(state.topics),
        dict(state.patterns),
        {group_id: _durable_classic(group) for group_id, group in state.classic_groups.items()},
        dict(state.configs),
    )


def snapshot(state: Shard) -> Snapshot:
    """All there is; the law is that replaying all records into a fresh shard gives an equal one."""
    return Snapshot(
        durable=durable(state),
        groups={group_id: _volatile_group(group) for group_id, group in state.groups.items()},
        deadlines=dict(state.deadlines.due),
        flights=dict(state.flights),
        last_commit_id=state.last_commit_id,
        classic_groups={group_id: _copy(group) for group_id, group in state.classic_groups.items()},
    )


def _durable_group(group: Group) -> DurableGroup:
    return DurableGroup(
        epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor=group.assignor,
        members=dict(group.members),
        target=dict(group.target),
        owners=dict(group.owners),
        kept=tuple(group.kept),
        lost_natives=group.lost_natives and bool(group.members),
    )


def _volatile_group(group: Group) -> VolatileGroup:
    return VolatileGroup(
        computed_at_ms=group.computed_at_ms,
        delay=group.delay,
        parked=tuple(group.parked),
        grantable={member_id: frozenset(wanted) for member_id, wanted in group.grantable.items()},
        told_intervals=dict(group.told_intervals),
    )


def _durable_classic(group: ClassicGroup) -> DurableClassicGroup:
    return DurableClassicGroup(
        synced=_copy_roster(group.synced),
        last_generation=group.last_generation,
        has_lost_member=group.has_lost_member,
        aliases=dict(group.aliases),
    )


def _copy(group: ClassicGroup) -> ClassicGroup:
    return replace(
        group,
        synced=_copy_roster(group.synced),
        roster=_copy_roster(group.roster),
        joining=dict(group.joining),
        syncing=dict(group.syncing),
        unsynced=dict(group.unsynced),
        newcomers=set(group.newcomers),
        pending=dict(group.pending),
        succeeding=set(group.succeeding),
        aliases=dict(group.aliases),
        instances=dict(group.instances),
        offers=dict(group.offers),
    )


def _copy_roster(roster: Roster) -> Roster:
    return replace(roster, members=dict(roster.members))
