"""What an assignor is given and what it answers, for plug-ins and for the built-in ones that look at changes alone."""

from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from translators.dialects.ids import InstanceId, MemberId, TopicId, TopicIdPartition

# ---------------------------------------------------------------------------------------- interface
# What an assignor is given and what it answers: the contract of built-in and plugged-in assignors alike (K9.1).

Assignment = Mapping[MemberId, frozenset[TopicIdPartition]]
"""Member to its partitions; every member of the spec is a key, also those with nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSubscription:
    """What one member wants, regular expressions resolved to topics; the rack is carried but not used (K9.1)."""

    member_id: MemberId
    instance_id: InstanceId | None
    rack_id: str | None
    topics: frozenset[TopicId]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentSpec:
    """One question to an assignor.

    `previous` is the last target, not what members hold at the moment (K9.1); it may be stale: members that left,
    topics that went away or were unsubscribed. For a newcomer it is what the member says it had, as far as nobody else
    has it (KIP-341). `partition_counts` says how many partitions a topic has; a topic that
    is missing there has none.
    """

    members: Mapping[MemberId, MemberSubscription]
    previous: Assignment
    partition_counts: Mapping[TopicId, int]


class Assignor(Protocol):
    """Spreads partitions over members; pure, and equal specs get equal answers whatever their order."""

    name: str

    def assign(self, spec: AssignmentSpec) -> Assignment:
        """Give each partition of each subscribed topic to exactly one subscriber.

        A member whose share stays should get the identical frozenset of `spec.previous` back, which makes "nothing
        changed" cheap to see.
        """
        ...


# -------------------------------------------------------------------------------------------- seats
# Seats ordered by how many partitions each has, kept in order while loads change one by one.

Seat = tuple[bool, str, MemberId]
"""Where a member stands among others: static ones first by instance id, then dynamic ones by member id (K9.2)."""


def seat_of(member_id: MemberId, instance_id: InstanceId | None) -> Seat:
    """A member's seat; its instance id keeps it through restarts (KIP-345)."""
    return (instance_id is None, instance_id or "", member_id)


@dataclass(slots=True)
class LoadOrder:
    """Levels of seats by load, none of them empty, each in seat order, with the number of seats and the sum of loads.

    A plain sorted list costs a comparison per bit and a move of pointers, which beats cleverer trees up to some 100,000
    seats.
    """

    levels: dict[int, list[Seat]] = field(default_factory=dict)
    size: int = 0
    total: int = 0

    def add(self, load: int, seat: Seat) -> None:
        """Put a seat on the level of its load."""
        level = self.levels.get(load)
        if level is None:
            self.levels[load] = [seat]
        else:
            insort(level, seat)
        self.size += 1
        self.total += load

    def remove(self, load: int, seat: Seat) -> None:
        """Take a seat away from its level; KeyError or ValueError if it is not there, which is a bug."""
        level = self.levels[load]
        place = bisect_left(level, seat)
        if place == len(level) or level[place] != seat:
            raise ValueError(f"EB-ENGINE-009: seat {seat!r} is not among the {len(level)} with load {load}")
        del level[place]
        if not level:
            del self.levels[load]
        self.size -= 1
        self.total -= load

    def fill(self, seats: list[tuple[int, Seat]]) -> None:
        """Put many seats with their loads on an empty load order at once."""
        for load, seat in sorted(seats):
            self.levels.setdefault(load, []).append(seat)
            self.total += load
        self.size = len(seats)


# -------------------------------------------------------------------------------------- incremental
# How a built-in assignor answers at the cost of what changed: an inner contract that plug-ins need not know.

Partitions = frozenset[TopicIdPartition]
NOTHING: Partitions = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSource:
    """What an index is built from: seats of all members and what each is interested in, the
    topics of each interest, and the target.

    `partition_counts` need not name every topic; a topic it doesn't name has no partitions. Targets are disjoint; they
    may name partitions that are gone or not wanted any more.
    """

    seats: Mapping[MemberId, Seat]
    interests: Mapping[MemberId, Hashable]
    topics: Mapping[Hashable, frozenset[TopicId]]
    partition_counts: Mapping[TopicId, int]
    target: Assignment


class TargetIndex(ABC):
    """What an assignor remembers of one group; told of everything that changes in it.

    Methods that answer False have met a change that they can't follow: the index must be built anew then.
    """

    __slots__ = ()

    @abstractmethod
    def knows(self, interest: Hashable) -> bool:
        """Whether a member with this interest may come; else it must be learned first."""

    @abstractmethod
    def learn(self, interest: Hashable, topics: Mapping[TopicId, int]) -> bool:
        """Somebody will come with a new interest for these topics, which have so many partitions."""

    @abstractmethod
    def seat(self, seat: Seat, interest: Hashable, target: Partitions | None) -> bool:
        """A member came or wants something else; `target` is its share of the group's target, None for a newcomer."""

    @abstractmethod
    def unseat(self, member_id: MemberId, target: Partitions) -> bool:
        """A member goes, and leaves what it has in the group's target to others."""

    @abstractmethod
    def retarget(self, member_id: MemberId, target: Partitions, gained: Partitions, lost: Partitions) -> None:
        """A member has this target now, which differs by these partitions."""

    @abstractmethod
    def lose(self, member_id: MemberId, partition: TopicIdPartition) -> None:
        """Another member's target names the partition too, before this one's is told anew."""

    @abstractmethod
    def grow(self, topic: TopicId, count: int, target_owners: Mapping[TopicIdPartition, MemberId]) -> bool:
        """A topic has this many partitions now."""

    @abstractmethod
    def rest(self) -> None:
        """The group's target is what this index was asked for."""

    @abstractmethod
    def snapshot(self) -> object:
        """All that follows from members, topics and target, as a value: equal to that of an index built anew."""

    @abstractmethod
    def revise(self, target: Assignment) -> Assignment | None:
        """The new shares of those whose share changes, or None if that is a job for `assign`.

        `target` is the group's, by this assignor; with the new shares it must be as good an answer as `assign` gives.
        """


class IncrementalAssignor(ABC):
    """An assignor (see `interface.Assignor`) that can also revise a target of its own.

    `is_by_count`: one partition of a topic is as good as another to it, so that two may change places in its answer.
    """

    name: str
    is_by_count: bool = False

    @abstractmethod
    def assign(self, spec: AssignmentSpec) -> Assignment:
        """As `interface.Assignor`."""

    @abstractmethod
    def index(self, source: IndexSource) -> TargetIndex:
        """What this assignor wants to remember of a group."""
