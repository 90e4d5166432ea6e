"""How a built-in assignor answers at the cost of what changed: an inner contract that plug-ins need not know."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from bridge.engine.assignors.interface import Assignment, AssignmentSpec
from bridge.engine.assignors.seats import Seat
from translators.dialects.ids import MemberId, TopicId, TopicIdPartition

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
