"""Members grouped by what they subscribe to, the groups that compete for the same topics, and which claims of the
previous target still stand among them.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from bridge.engine.assignors.interface import Assignment, AssignmentSpec, MemberSubscription, Seat, seat_of
from translators.dialects.ids import MemberId, TopicId, TopicIdPartition


@dataclass(frozen=True, slots=True)
class SubscriberSet:
    """Members that subscribe to the same topics. Topics are sorted and have partitions; members are in seat order."""

    topics: tuple[TopicId, ...]
    members: tuple[MemberId, ...]


Component = tuple[SubscriberSet, ...]
"""Sets of subscribers linked by common topics: what happens in one component concerns no other."""


def seat(member: MemberSubscription) -> Seat:
    """Sort key of a member: static ones first by instance id, which keeps a restart's seat, then dynamic (K9.2)."""
    return seat_of(member.member_id, member.instance_id)


def seated(members: Mapping[MemberId, MemberSubscription]) -> tuple[MemberId, ...]:
    """All members in seat order."""
    return tuple(member.member_id for member in sorted(members.values(), key=seat))


def form_subscriber_sets(spec: AssignmentSpec) -> tuple[SubscriberSet, ...]:
    """Group the members of `spec` by the topics they want that have partitions, in order of first seat."""
    wanted: dict[frozenset[TopicId], list[MemberId]] = {}
    for member_id in seated(spec.members):
        wanted.setdefault(spec.members[member_id].topics, []).append(member_id)
    merged: dict[tuple[TopicId, ...], list[list[MemberId]]] = {}
    for topics, members in wanted.items():
        existing = tuple(sorted(topic for topic in topics if spec.partition_counts.get(topic, 0) > 0))
        merged.setdefault(existing, []).append(members)
    return tuple(SubscriberSet(topics, _in_seat_order(spec, groups)) for topics, groups in merged.items())


def _in_seat_order(spec: AssignmentSpec, groups: Sequence[list[MemberId]]) -> tuple[MemberId, ...]:
    if len(groups) == 1:
        return tuple(groups[0])
    return seated({member_id: spec.members[member_id] for group in groups for member_id in group})


def link_components(subscriber_sets: Sequence[SubscriberSet]) -> tuple[Component, ...]:
    """Split sets into components that share no topic; a set without topics is a component of its own."""
    parent = list(range(len(subscriber_sets)))
    first: dict[TopicId, int] = {}
    for number, subscribers in enumerate(subscriber_sets):
        for topic in subscribers.topics:
            parent[_root(parent, first.setdefault(topic, number))] = _root(parent, number)
    components: dict[int, list[SubscriberSet]] = {}
    for number, subscribers in enumerate(subscriber_sets):
        components.setdefault(_root(parent, number), []).append(subscribers)
    return tuple(tuple(component) for component in components.values())


def _root(parent: list[int], number: int) -> int:
    while parent[number] != number:
        parent[number] = parent[parent[number]]
        number = parent[number]
    return number


NOTHING: frozenset[TopicIdPartition] = frozenset()


@dataclass(frozen=True, slots=True)
class Claims:
    """A component's view of the previous target.

    `held` names each member of the component with what it may keep, disjoint, the previous frozenset itself where all
    of it stands; `unclaimed` lists the other partitions of the component's topics by topic and partition.
    """

    held: Assignment
    unclaimed: tuple[TopicIdPartition, ...]


def settle_claims(spec: AssignmentSpec, component: Component) -> Claims:
    """Drop claims to partitions that are gone or no longer subscribed; of two claims to one the earlier seat's wins."""
    held: dict[MemberId, frozenset[TopicIdPartition]] = {}
    taken: set[TopicIdPartition] = set()
    for subscribers in component:
        counts = {topic: spec.partition_counts[topic] for topic in subscribers.topics}
        for member_id in subscribers.members:
            kept = _standing(spec.previous.get(member_id, NOTHING), counts, taken)
            taken |= kept
            held[member_id] = kept
    return Claims(held, _unclaimed(spec, component, taken))


def _standing(
    owned: frozenset[TopicIdPartition], counts: Mapping[TopicId, int], taken: AbstractSet[TopicIdPartition]
) -> frozenset[TopicIdPartition]:
    kept = [claim for claim in owned if 0 <= claim[1] < counts.get(claim[0], 0) and claim not in taken]
    return owned if len(kept) == len(owned) else frozenset(kept)


def _unclaimed(
    spec: AssignmentSpec, component: Component, taken: AbstractSet[TopicIdPartition]
) -> tuple[TopicIdPartition, ...]:
    topics = sorted({topic for subscribers in component for topic in subscribers.topics})
    if sum(spec.partition_counts[topic] for topic in topics) == len(taken):
        return ()
    every = (TopicIdPartition(topic, number) for topic in topics for number in range(spec.partition_counts[topic]))
    return tuple(partition for partition in every if partition not in taken)
