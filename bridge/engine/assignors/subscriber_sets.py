"""Members grouped by what they subscribe to: the groups that compete for the same topics, which claims of the previous
target still stand among them, and which interests an index knows.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from bridge.engine.assignors.interface import (
    NOTHING,
    Assignment,
    AssignmentSpec,
    IndexSource,
    MemberSubscription,
    Seat,
    seat_of,
)
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


class Subscribers(Protocol):
    """Members that want the same topics, as an index has them."""

    @property
    def topics(self) -> frozenset[TopicId]:
        """Those that exist of what they want."""
        ...


SubscribersT = TypeVar("SubscribersT", bound=Subscribers)


def count_topics(source: IndexSource) -> dict[TopicId, int]:
    """How many partitions each topic has that exists and is of interest."""
    return {
        topic: count
        for topics in source.topics.values()
        for topic in topics
        if (count := source.partition_counts.get(topic, 0)) > 0
    }


class KnownInterests(ABC, Generic[SubscribersT]):
    """The part of an index (`interface.TargetIndex`) that tells by an interest among whom a member sits.

    A set that everybody left stays for those who may come back, but not what it was interested in: nobody tells what
    becomes of its topics meanwhile.
    """

    __slots__ = ("_counts", "_interests", "_subscriber_sets")

    def __init__(self, counts: dict[TopicId, int], interests: dict[Hashable, SubscribersT]) -> None:
        self._counts = counts
        self._interests = interests
        self._subscriber_sets: list[SubscribersT] = list(dict.fromkeys(interests.values()))

    def knows(self, interest: Hashable) -> bool:
        """See `TargetIndex`."""
        return interest in self._interests

    def learn(self, interest: Hashable, topics: Mapping[TopicId, int]) -> bool:
        """An interest can be learned if its topics didn't change while nobody wanted them, and if `_add` can."""
        if any(self._counts.get(topic, count) != count for topic, count in topics.items()):
            return False
        wanted = frozenset(topics)
        subscribers = next((known for known in self._subscriber_sets if known.topics == wanted), None)
        if subscribers is None:
            subscribers = self._add(wanted, topics)
            if subscribers is None:
                return False
            self._subscriber_sets.append(subscribers)
        self._interests[interest] = subscribers
        return True

    @abstractmethod
    def _add(self, wanted: frozenset[TopicId], topics: Mapping[TopicId, int]) -> SubscribersT | None:
        """A set of subscribers for these topics; None where it would divide topics that are dealt as one."""

    def _forget(self, subscribers: SubscribersT) -> None:
        self._interests = {interest: known for interest, known in self._interests.items() if known is not subscribers}
