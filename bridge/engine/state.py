"""The containers that hold a shard of groups of either type, their indexes and deadlines: written by `apply` only."""

import heapq
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, dataclass, field, fields

from bridge.engine.assignors.interface import Assignor, TargetIndex
from bridge.engine.model import (
    Ask,
    ClassicMember,
    DeadlineKey,
    DeadlineKind,
    InitialDelay,
    KeptSeat,
    Member,
    Phase,
    ResolvedPattern,
    Subscription,
)
from bridge.engine.settings import EngineSettings, GroupConfigs, configured_settings
from translators.dialects.ids import GroupId, InstanceId, MemberId, ReplyTo, Topic, TopicId, TopicIdPartition, TopicName


@dataclass(slots=True)
class Deadlines:
    """When each key is due, in milliseconds.

    Moving a deadline later, what every heartbeat does, touches only a dictionary: the heap keeps one entry per key that
    is never later than the truth and is corrected when it comes up. The heap is not part of the value.
    """

    due: dict[DeadlineKey, int] = field(default_factory=dict)
    _queued: dict[DeadlineKey, int] = field(default_factory=dict, compare=False)
    _heap: list[tuple[int, DeadlineKey]] = field(default_factory=list, compare=False)

    def put(self, key: DeadlineKey, at_ms: int) -> None:
        """Set or move a deadline; O(1) if it moves later, O(log n) else."""
        self.due[key] = at_ms
        queued_ms = self._queued.get(key)
        if queued_ms is None or at_ms < queued_ms:
            self._queue(key, at_ms)

    def drop(self, key: DeadlineKey) -> None:
        """Forget a deadline, if there is one."""
        self.due.pop(key, None)

    def drop_all(self, keys: Iterable[DeadlineKey]) -> None:
        """Forget those that there are."""
        for key in keys:
            self.due.pop(key, None)

    def earliest(self) -> int | None:
        """When the next deadline is due, None if there is none; amortised O(log n)."""
        self._settle()
        return self._heap[0][0] if self._heap else None

    def passed(self, now_ms: int) -> tuple[DeadlineKey, ...]:
        """The keys due at `now_ms`, earliest first; they stay until put again or dropped."""
        keys: list[DeadlineKey] = []
        while (at_ms := self.earliest()) is not None and at_ms <= now_ms:
            key = heapq.heappop(self._heap)[1]
            del self._queued[key]
            keys.append(key)
        for key in keys:
            self._queue(key, self.due[key])
        return tuple(keys)

    def _queue(self, key: DeadlineKey, at_ms: int) -> None:
        self._queued[key] = at_ms
        heapq.heappush(self._heap, (at_ms, key))

    def _settle(self) -> None:
        """Make the heap's first entry a true one."""
        while self._heap:
            at_ms, key = self._heap[0]
            if self._queued.get(key) != at_ms:
                heapq.heappop(self._heap)
                continue
            due_ms = self.due.get(key)
            if due_ms == at_ms:
                return
            heapq.heappop(self._heap)
            del self._queued[key]
            if due_ms is not None:
                self._queue(key, due_ms)


@dataclass(slots=True, kw_only=True)
class Roster:
    """Who is in a group, in which generation, under which protocol and leader."""

    generation: int = 0
    protocol_type: str = ""
    protocol_name: str | None = None
    leader: MemberId | None = None
    members: dict[MemberId, ClassicMember] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class ClassicGroup:
    """One classic group.

    `synced` is what survives: the roster of the last generation that got its assignments, less who left since
    (`has_lost_member`), with static seats under the id that holds them now. `roster` is the group as it is this moment;
    it equals `synced` while the group is Stable or Empty. No generation up to `last_generation` is given out again,
    also not after a restart in the middle of a rebalance, when Kafka repeats it.

    `joining` and `syncing` are parked requests, `unsynced` who has yet to send the SyncGroup of this generation,
    `newcomers` who never completed a join, `pending` ids that were promised (KIP-394). `delay` is set in the rebalance
    that began Empty. Assignments are not handed out before the commits in `draining` have ended (decision 2),
    nor to those in `succeeding`, who took over a seat of a Stable group meanwhile.
    `offers` counts members by the protocol names they offer. `aliases` are generations that members were shown before
    the group turned classic, good until its first rebalance (decision 8). `subscriptions` is what members said when
    the generation began, None before the first: by it, not by who joins meanwhile, topics count as subscribed (K1.39).
    """

    group_id: GroupId
    last_generation: int = 0
    synced: Roster = field(default_factory=Roster)
    has_lost_member: bool = False

    roster: Roster = field(default_factory=Roster)
    phase: Phase = Phase.EMPTY
    delay: InitialDelay | None = None
    joining: dict[MemberId, ReplyTo] = field(default_factory=dict)
    syncing: dict[MemberId, ReplyTo] = field(default_factory=dict)
    unsynced: dict[MemberId, None] = field(default_factory=dict)
    newcomers: set[MemberId] = field(default_factory=set)
    pending: dict[MemberId, None] = field(default_factory=dict)
    draining: frozenset[int] = frozenset()
    succeeding: set[MemberId] = field(default_factory=set)
    aliases: dict[MemberId, int] = field(default_factory=dict)
    subscriptions: tuple[bytes, ...] | None = None

    instances: dict[InstanceId, MemberId] = field(default_factory=dict)
    offers: dict[tuple[str, ...], int] = field(default_factory=dict)

    @property
    def members(self) -> dict[MemberId, ClassicMember]:
        """Everybody who has a seat at this moment."""
        return self.roster.members

    def generation_of(self, member_id: MemberId) -> int:
        """The generation that a member's client knows."""
        return self.aliases.get(member_id, self.roster.generation)


def session_key(group_id: GroupId, member_id: MemberId) -> DeadlineKey:
    """The key of a member's session, or of the time a promised id is kept."""
    return DeadlineKey(DeadlineKind.CLASSIC_SESSION, group_id, member_id)


def join_key(group_id: GroupId) -> DeadlineKey:
    """The key of the end of a join phase, initial delay included."""
    return DeadlineKey(DeadlineKind.CLASSIC_JOIN, group_id)


def sync_key(group_id: GroupId) -> DeadlineKey:
    """The key of the time until which every member has to sync."""
    return DeadlineKey(DeadlineKind.CLASSIC_SYNC, group_id)


def rebalance_timeout_ms(group: ClassicGroup) -> int:
    """How long members may take: the longest that any of them asked for, 0 without members (K1.4)."""
    return max((member.rebalance_timeout_ms for member in group.members.values()), default=0)


Partitions = frozenset[TopicIdPartition]
NO_PARTITIONS: Partitions = frozenset()
HiddenTopics = Mapping[str, frozenset[TopicName]]
"""What patterns match in a group that it is not given: whoever had that resolved may not DESCRIBE it (K11.4)."""
NO_TOPICS: frozenset[TopicName] = frozenset()


@dataclass(slots=True, kw_only=True)
class Group:
    """One consumer group: durable facts, volatile ones, and indexes that follow from them.

    `hidden` has no pattern that nobody has, and none of which nothing is hidden;
    `owners` names who has a partition in assigned or pending revocation, `target_owners` whose target names it,
    `grantable` what each member's target names and nobody holds; `name_sets` counts members per set of names,
    `names` such sets per name; `stable_at` counts STABLE members per epoch,
    `told_intervals` are the heartbeat intervals that members were told last,
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
    hidden: dict[str, frozenset[TopicName]] = field(default_factory=dict)

    computed_at_ms: int | None = None
    delay: InitialDelay | None = None
    parked: list[Ask] = field(default_factory=list)
    kept: list[KeptSeat] = field(default_factory=list)
    told_intervals: dict[MemberId, int] = field(default_factory=dict)

    owners: dict[TopicIdPartition, MemberId] = field(default_factory=dict)
    target_owners: dict[TopicIdPartition, MemberId] = field(default_factory=dict)
    natives: int = 0
    lost_natives: bool = False
    grantable: dict[MemberId, set[TopicIdPartition]] = field(default_factory=dict)
    instances: dict[InstanceId, MemberId] = field(default_factory=dict)
    name_sets: dict[frozenset[TopicName], int] = field(default_factory=dict)
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

    `configs` are what admins said of groups, which may not exist yet, or no more. `unused_patterns` are those in
    `patterns` that no member has: its first one is on the way, was refused, or was the last and is gone.
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
    configs: dict[GroupId, GroupConfigs] = field(default_factory=dict)

    deadlines: Deadlines = field(default_factory=Deadlines)
    flights: dict[int, Flight] = field(default_factory=dict)
    last_commit_id: int = 0

    topic_ids: dict[TopicName, TopicId] = field(default_factory=dict)
    partition_counts: dict[TopicId, int] = field(default_factory=dict)
    subscribers: dict[TopicName, set[GroupId]] = field(default_factory=dict)
    pattern_users: dict[str, set[GroupId]] = field(default_factory=dict)
    unused_patterns: set[str] = field(default_factory=set)
    in_flight: dict[GroupId, dict[TopicIdPartition, int]] = field(default_factory=dict)
    group_flights: dict[GroupId, set[int]] = field(default_factory=dict)


def settings_of(state: Shard, group_id: GroupId) -> EngineSettings:
    """The settings that hold for one group: what an admin said of it, over its rule's, over everybody's (K2.62)."""
    configured = configured_settings(state.settings, group_id)
    own = state.configs.get(group_id)
    return configured if own is None else own.over(configured)


def held_until_ms(state: Shard, group_id: GroupId) -> int:
    """When a group may get its first assignment: survivors of a lost memory come first, of which some know none."""
    return 0 if group_id in state.resumed else state.no_assignment_before_ms


def topic_names_of(state: Shard, hidden: HiddenTopics, subscription: Subscription) -> frozenset[TopicName]:
    """The topics a member wants by name, those of its pattern included as far as it is resolved, but for those that are
    `hidden` in its group.
    """
    pattern = subscription.pattern
    resolved = None if pattern is None else state.patterns.get(pattern)
    if pattern is None or resolved is None:
        return subscription.names
    return subscription.names | (resolved.topics - hidden.get(pattern, NO_TOPICS))


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


def empty(state: Shard) -> None:
    """Forget every group, topic, pattern, deadline and commit; the inputs stay, and the count of commits goes on."""
    for item in fields(state):
        if item.default_factory is not MISSING:
            setattr(state, item.name, item.default_factory())
