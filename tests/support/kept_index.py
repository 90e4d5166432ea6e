"""A group that is nothing but members, topics, a target and the index that is kept beside it.

It tells the index what the engine's records would, and must not know how the index works.
"""

from dataclasses import dataclass, field, replace

from bridge.engine.assignors.interface import AssignmentSpec, MemberSubscription
from bridge.engine.assignors.subscriber_sets import seat
from bridge.engine.assignors.uniform import UniformIndex
from tests.support.assignments import source_of
from translators.dialects.ids import MemberId, TopicId, TopicIdPartition

EMPTY = AssignmentSpec(members={}, previous={}, partition_counts={})
Partitions = frozenset[TopicIdPartition]


@dataclass(slots=True)
class KeptIndex:
    """`spec` is the question that stands: its members, topics, and the target so far."""

    spec: AssignmentSpec = EMPTY
    index: UniformIndex = field(default_factory=lambda: UniformIndex(source_of(EMPTY)))
    rebuilt: int = 0

    def join(self, member_id: MemberId, topics: frozenset[TopicId]) -> None:
        """A member comes, or wants other topics from now on."""
        member = MemberSubscription(member_id=member_id, instance_id=None, rack_id=None, topics=topics)
        self.spec = replace(self.spec, members={**self.spec.members, member_id: member})
        counts = {topic: self.spec.partition_counts[topic] for topic in topics if self.spec.partition_counts.get(topic)}
        learned = self.index.knows(topics) or self.index.learn(topics, counts)
        self._keep(learned and self.index.seat(seat(member), topics, self.spec.previous.get(member_id)))

    def leave(self, member_id: MemberId) -> None:
        """A member goes."""
        members = {name: member for name, member in self.spec.members.items() if name != member_id}
        previous = {name: share for name, share in self.spec.previous.items() if name != member_id}
        left = self.spec.previous.get(member_id, frozenset())
        self.spec = replace(self.spec, members=members, previous=previous)
        self._keep(self.index.unseat(member_id, left))

    def grow(self, topic: TopicId, by: int) -> None:
        """A topic has more partitions; one without any appears."""
        count = self.spec.partition_counts.get(topic, 0) + by
        self.spec = replace(self.spec, partition_counts={**self.spec.partition_counts, topic: count})
        if any(topic in member.topics for member in self.spec.members.values()):
            self._keep(self.index.grow(topic, count, self._owners()))

    def revise(self) -> dict[MemberId, Partitions]:
        """The new target, which the index is told member by member."""
        revised = self.index.revise(self.spec.previous)
        assert revised is not None
        owners = self._owners()
        for name, share in revised.items():
            old = self.spec.previous.get(name, frozenset())
            for partition in share - old:
                if (before := owners.get(partition)) is not None:
                    self.index.lose(before, partition)
                owners[partition] = name
            lost = frozenset(partition for partition in old - share if owners.get(partition) == name)
            for partition in lost:
                del owners[partition]
            self.index.retarget(name, share, share - old, lost)
        self.index.rest()
        return {**self.spec.previous, **revised}

    def _owners(self) -> dict[TopicIdPartition, MemberId]:
        return {partition: name for name, share in self.spec.previous.items() for partition in share}

    def _keep(self, is_in_step: bool) -> None:
        if not is_in_step:
            self.index = UniformIndex(source_of(self.spec))
            self.rebuilt += 1
