"""The containers that hold a shard of groups, and their indexes.

It must not know how to decide, and nobody but `apply` writes to them.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from bridge.engine.assignors.incremental import TargetIndex
from bridge.engine.assignors.interface import Assignor
from bridge.engine.classic.group import ClassicGroup
from bridge.engine.deadlines import Deadlines
from bridge.engine.model import Ask, InitialDelay, KeptSeat, Member, ResolvedPattern, Subscription
from bridge.engine.settings import EngineSettings
from translators.dialects.ids import GroupId, InstanceId, MemberId, Topic, TopicId, TopicIdPartition, TopicName

Partitions = frozenset[TopicIdPartition]
NO_PARTITIONS: Partitions = frozenset()


@dataclass(slots=True, kw_only=True)
class Group:
    """One consumer group: durable facts, volatile ones, and indexes that follow from them.

    `owners` names who has a partition in assigned or pending revocation, `target_owners` whose target names it,
    `grantable` what each member's target names and nobody holds; `wishes` counts members per set of names,
    `names` such sets per name; `stable_at` counts STABLE members per epoch,
    `natives` members that speak the consumer protocol; `lost_natives` if there were some and none is left. `loads`
    is what the assignor remembers to change only what must change: None until it is asked, and again when the topics
    that members want change other than by growing (`index_loads` builds it from the rest).
    """

    group_id: GroupId
    epoch: int
    assignment_epoch: int
    assignor: str = ""
    members: dict[MemberId, Member] = field(default_factory=dict)
    target: dict[MemberId, Partitions] = field(default_factory=dict)

    computed_at_ms: int | None = None
    delay: InitialDelay | None = None
    parked: list[Ask] = field(default_factory=list)
    kept: list[KeptSeat] = field(default_factory=list)

    owners: dict[TopicIdPartition, MemberId] = field(default_factory=dict)
    target_owners: dict[TopicIdPartition, MemberId] = field(default_factory=dict)
    natives: int = 0
    lost_natives: bool = False
    grantable: dict[MemberId, set[TopicIdPartition]] = field(default_factory=dict)
    instances: dict[InstanceId, MemberId] = field(default_factory=dict)
    wishes: dict[frozenset[TopicName], int] = field(default_factory=dict)
    names: dict[TopicName, int] = field(default_factory=dict)
    patterns: dict[str, int] = field(default_factory=dict)
    votes: dict[str, int] = field(default_factory=dict)
    stable_at: dict[int, int] = field(default_factory=dict)
    loads: TargetIndex | None = None


@dataclass(frozen=True, slots=True)
class Flight:
    """A commit on its way to the broker."""

    group_id: GroupId
    partitions: Partitions


@dataclass(slots=True, kw_only=True)
class Shard:
    """All groups of one owner, with the topics and patterns they may subscribe to.

    A group id is either in `groups`, the consumer groups, or in `classic_groups`, never in both (K6.8): who creates one
    of a kind deletes the other of that name first, which is what a conversion is.

    `assignors` are those to choose from by name; the default is the first name in the group's settings. Until
    `no_assignment_before_ms` no target is computed for a group that is not among the `resumed`, whose members are known
    from before (decision 9); both are inputs like the settings, not state.
    """

    settings: EngineSettings
    assignors: Mapping[str, Assignor]
    no_assignment_before_ms: int = 0
    resumed: frozenset[GroupId] = frozenset()

    groups: dict[GroupId, Group] = field(default_factory=dict)
    classic_groups: dict[GroupId, ClassicGroup] = field(default_factory=dict)
    topics: dict[TopicId, Topic] = field(default_factory=dict)
    patterns: dict[str, ResolvedPattern] = field(default_factory=dict)

    deadlines: Deadlines = field(default_factory=Deadlines)
    flights: dict[int, Flight] = field(default_factory=dict)
    last_commit_id: int = 0

    topic_ids: dict[TopicName, TopicId] = field(default_factory=dict)
    partition_counts: dict[TopicId, int] = field(default_factory=dict)
    subscribers: dict[TopicName, set[GroupId]] = field(default_factory=dict)
    pattern_users: dict[str, set[GroupId]] = field(default_factory=dict)
    in_flight: dict[GroupId, dict[TopicIdPartition, int]] = field(default_factory=dict)
    group_flights: dict[GroupId, set[int]] = field(default_factory=dict)


def held_until_ms(state: Shard, group_id: GroupId) -> int:
    """When a group may get its first assignment: survivors of a lost memory come first, of which some know none."""
    return 0 if group_id in state.resumed else state.no_assignment_before_ms


def topic_names_of(state: Shard, subscription: Subscription) -> frozenset[TopicName]:
    """The topics a member wants by name, those of its pattern included as far as it is resolved."""
    if subscription.pattern is None:
        return subscription.names
    resolved = state.patterns.get(subscription.pattern)
    return subscription.names if resolved is None else subscription.names | resolved.topics


def groups_subscribed_to(state: Shard, names: AbstractSet[TopicName]) -> set[GroupId]:
    """The groups in which somebody wants one of these topics, by name or by pattern."""
    groups: set[GroupId] = set()
    for name in names:
        groups |= state.subscribers.get(name, set())
    for pattern, users in state.pattern_users.items():
        resolved = state.patterns.get(pattern)
        if resolved is not None and not names.isdisjoint(resolved.topics):
            groups |= users
    return groups


def topic_ids_of(state: Shard, names: frozenset[TopicName]) -> frozenset[TopicId]:
    """The ids of those topics that exist."""
    return frozenset(state.topic_ids[name] for name in names if name in state.topic_ids)


def is_in_flight(state: Shard, group_id: GroupId, partition: TopicIdPartition) -> bool:
    """Whether a commit of the group for this partition is on its way to the broker (decision 2)."""
    flights = state.in_flight.get(group_id)
    return flights is not None and partition in flights


def is_free_for(state: Shard, group: Group, member_id: MemberId, partition: TopicIdPartition) -> bool:
    """Whether this member may be given the partition now: it has it, or nobody has and no commit is on its way
    (K2.33, K11.4).
    """
    owner = group.owners.get(partition)
    return owner == member_id or (owner is None and not is_in_flight(state, group.group_id, partition))
