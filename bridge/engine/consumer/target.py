"""What each member of a group shall have: which assignor, its question, its answer, and when it may be asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Self

from bridge.engine.assignors.interface import (
    Assignment,
    AssignmentSpec,
    Assignor,
    IncrementalAssignor,
    MemberSubscription,
)
from bridge.engine.commands import Speaks
from bridge.engine.indexes import index_loads
from bridge.engine.model import AssignedEpochs
from bridge.engine.records import Record, TargetAssigned, TargetComputed, TargetEpochReached
from bridge.engine.settings import configured_settings
from bridge.engine.state import (
    NO_PARTITIONS,
    Group,
    Partitions,
    Shard,
    held_until_ms,
    settings_of,
    topic_ids_of,
    topic_names_of,
)
from translators.dialects.ids import MemberId, TopicId, TopicIdPartition, TopicName


def give_up_latest(group: Group, answer: Assignment) -> Assignment:
    """The same answer, but that members keep what they have had for long and give up what came last.

    What came last may not even be in use: a classic client hears of a gain with its next heartbeat, and if the gain is
    gone by then, as after a restart that takes a little longer than others wait, the client hears nothing.
    Partitions change places within their topic, so everybody's load stays. Only machines of classic clients say exactly
    what is in use: what a KIP-848 client was given last it may be about to take (deviations.md on K2.34).
    """
    givers = sorted(member_id for member_id, share in answer.items() if _gives_up(group, member_id, share))
    if not givers:
        return answer
    shares = dict(answer)
    takers = {
        partition: member_id
        for member_id, share in answer.items()
        for partition in share.difference(group.target.get(member_id, NO_PARTITIONS))
    }
    for member_id in givers:
        for old, new in _swaps(group.members[member_id].current.assigned, shares[member_id]):
            taker = takers.pop(old, None)
            if taker is not None:
                takers[new] = taker
                shares[member_id] = _swapped(shares[member_id], new, old)
                shares[taker] = _swapped(shares[taker], old, new)
    return shares


def _gives_up(group: Group, member_id: MemberId, share: Partitions) -> bool:
    """Whether a classic client is to lose something by this answer that it holds, and that came at various times."""
    member = group.members.get(member_id)
    if member is None or member.subscription.speaks is not Speaks.CLASSIC:
        return False
    held = member.current.assigned
    # Most members got all they have at once, and that is seen at the least cost.
    return len(set(held.values())) > 1 and not held.keys() <= share and group.target.get(member_id) != share


def _swaps(held: AssignedEpochs, share: Partitions) -> list[tuple[TopicIdPartition, TopicIdPartition]]:
    """Pairs of one topic: a partition that is to be given up, and a later one that is to be kept; O(n log n)."""
    latest: dict[TopicId, list[TopicIdPartition]] = {}
    # The latest of each topic comes last, and of those that came together the lowest.
    for one in sorted((one for one in held if one in share), reverse=True):
        latest.setdefault(one.topic_id, []).append(one)
    for kept in latest.values():
        kept.sort(key=held.__getitem__)
    pairs: list[tuple[TopicIdPartition, TopicIdPartition]] = []
    for old in sorted(held.keys() - share, key=lambda one: (held[one], one)):
        kept = latest.get(old.topic_id, [])
        if kept and held[kept[-1]] > held[old]:
            pairs.append((old, kept.pop()))
    return pairs


def _swapped(share: Partitions, goes: TopicIdPartition, comes: TopicIdPartition) -> Partitions:
    return share.difference((goes,)).union((comes,))


NO_HINTS: Mapping[MemberId, Partitions] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class NewTarget:
    """Records that bring a new target into force, and the members whose own target they change."""

    records: tuple[Record, ...]
    changed: frozenset[MemberId]


@dataclass(frozen=True, slots=True)
class FailedTarget:
    """The assignor that raised or answered nonsense, and how."""

    assignor: str
    reason: str


def target_allowed_at(state: Shard, group: Group) -> int:
    """The earliest time at which the group may get a new target, in milliseconds (decision 9; K11.4 on 2.26)."""
    allowed_ms = held_until_ms(state, group.group_id)
    if group.computed_at_ms is None:
        return allowed_ms
    interval_ms = settings_of(state, group.group_id).group_consumer_assignment_interval_ms
    return max(allowed_ms, group.computed_at_ms + interval_ms) if interval_ms else allowed_ms


def compute_target(
    state: Shard, group: Group, now_ms: int, hints: Mapping[MemberId, Partitions] = NO_HINTS
) -> NewTarget | FailedTarget:
    """Ask the group's assignor for a target at the group's epoch (K2.27 to K2.29).

    `hints` says what newcomers had before, where nobody else has it (KIP-341).
    """
    if not group.members:
        return NewTarget((TargetEpochReached(group.group_id, group.epoch, ""),), frozenset())
    name = choose_assignor(state, group)
    answer = None if hints else _revise(state, group, name)
    if answer is None:
        answer = _assign(state, group, name, hints)
    if isinstance(answer, str):
        return FailedTarget(name, answer)
    if group.natives < len(group.members) and _is_by_count(state.assignors[name]):
        answer = give_up_latest(group, answer)
    target = group.target
    changed = [
        TargetAssigned(group.group_id, member_id, partitions)
        for member_id, partitions in answer.items()
        if target.get(member_id) != partitions
    ]
    moved = frozenset([record.member_id for record in changed if record.partitions or target.get(record.member_id)])
    ending = (TargetEpochReached(group.group_id, group.epoch, name), TargetComputed(group.group_id, now_ms))
    return NewTarget((*changed, *ending), moved)


def _is_by_count(assignor: Assignor) -> bool:
    return isinstance(assignor, IncrementalAssignor) and assignor.is_by_count


def choose_assignor(state: Shard, group: Group) -> str:
    """The name with most votes, the configured order breaking ties; without votes the first configured (K2.27)."""
    own = settings_of(state, group.group_id).group_consumer_assignors
    voted = [name for name in group.votes if name in state.assignors]
    if not voted and own and own[0] in state.assignors:
        return own[0]
    # An admin may have named one for the group that is installed no more since the bridge was started again.
    names = [name for name in own if name in state.assignors]
    names = names or list(configured_settings(state.settings, group.group_id).group_consumer_assignors)
    if not voted:
        return names[0]
    order = {name: position for position, name in enumerate(names)}
    return min(voted, key=lambda name: (-group.votes[name], order.get(name, len(order)), name))


def _revise(state: Shard, group: Group, name: str) -> Assignment | str | None:
    """What changes, from an assignor that made the last target and can tell at that cost, or why it can't."""
    assignor = state.assignors[name]
    if group.assignor != name or not isinstance(assignor, IncrementalAssignor):
        return None
    answer: Assignment | None = None
    with _Trap() as trap:
        answer = index_loads(state, group, assignor).revise(group.target)
    return answer if trap.fault is None else trap.fault


def _assign(state: Shard, group: Group, name: str, hints: Mapping[MemberId, Partitions]) -> Assignment | str:
    """The shares of all members, or why there are none."""
    answer = ask_assignor(state.assignors[name], make_spec(state, group, hints))
    if isinstance(answer, str):
        return answer
    return {member_id: answer.get(member_id, NO_PARTITIONS) for member_id in group.members}


def make_spec(state: Shard, group: Group, hints: Mapping[MemberId, Partitions] = NO_HINTS) -> AssignmentSpec:
    """The assignor's question; topics that don't exist are left out (K9.1)."""
    topics: dict[tuple[frozenset[TopicName], str | None], frozenset[TopicId]] = {}
    members: dict[MemberId, MemberSubscription] = {}
    for member_id, member in group.members.items():
        subscription = member.subscription
        interest = (subscription.names, subscription.pattern)
        if interest not in topics:
            topics[interest] = topic_ids_of(state, topic_names_of(state, group.hidden, subscription))
        members[member_id] = MemberSubscription(
            member_id=member_id,
            instance_id=subscription.instance_id,
            rack_id=subscription.rack_id,
            topics=topics[interest],
        )
    return AssignmentSpec(
        members=MappingProxyType(members),
        previous=MappingProxyType({**group.target, **hints} if hints else group.target),
        partition_counts=MappingProxyType(state.partition_counts),
    )


def ask_assignor(assignor: Assignor, spec: AssignmentSpec) -> Assignment | str:
    """The assignor's answer, or what is wrong with it."""
    answer: Assignment = {}
    with _Trap() as trap:
        answer = assignor.assign(spec)
        trap.fault = find_fault(spec, answer)
    return answer if trap.fault is None else trap.fault


class _Trap:
    """Turns whatever a plugged-in assignor raises into a reason: its bugs must not end the coordinator."""

    def __init__(self) -> None:
        self.fault: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(raised, Exception):
            self.fault = f"{type(raised).__name__}: {raised}"
            return True
        return False


def find_fault(spec: AssignmentSpec, answer: Mapping[MemberId, Partitions]) -> str | None:
    """Why an answer can't be a target: a stranger, a partition given twice, or one that its member may not have."""
    given: set[TopicIdPartition] = set()
    total = 0
    for member_id, partitions in answer.items():
        subscription = spec.members.get(member_id)
        if subscription is None:
            return f"EB-ENGINE-003: the assignor named {member_id!r}, which is not a member"
        for topic_id, partition in partitions:
            if topic_id not in subscription.topics or not 0 <= partition < spec.partition_counts[topic_id]:
                return (
                    f"EB-ENGINE-004: the assignor gave partition {partition} of topic {topic_id.hex()} to"
                    f" {member_id!r}, which does not subscribe to it, or it does not exist"
                )
        given |= partitions
        total += len(partitions)
    if len(given) < total:
        return "EB-ENGINE-005: the assignor gave a partition to two members"
    return None
