"""How many partitions of each topic each member holds while a mixed component is balanced: numbers instead of names."""

from bridge.engine.assignors.claims import Claims
from bridge.engine.assignors.cohorts import Component
from translators.dialects.ids import MemberId, TopicId


class Flow:
    """Partitions of one topic are interchangeable, so a target is a count per topic and member until names are dealt.

    Members, topics and cohorts are numbered, so that searches order equal choices the same way every time.
    """

    __slots__ = (
        "claimed",
        "cohort_members",
        "cohort_of",
        "cohort_topics",
        "holders",
        "loads",
        "members",
        "owed",
        "topic_cohorts",
        "topics",
        "units",
    )

    def __init__(self, component: Component, claims: Claims) -> None:
        """Start with every claim kept and nothing else handed out."""
        self.members: list[MemberId] = [member_id for cohort in component for member_id in cohort.members]
        self.topics: list[TopicId] = sorted({topic for cohort in component for topic in cohort.topics})
        self.cohort_of = [number for number, cohort in enumerate(component) for _ in cohort.members]
        self.cohort_members: list[list[int]] = [[] for _ in component]
        for member, cohort_number in enumerate(self.cohort_of):
            self.cohort_members[cohort_number].append(member)
        number_of = {topic: number for number, topic in enumerate(self.topics)}
        self.cohort_topics = [[number_of[topic] for topic in cohort.topics] for cohort in component]
        self.topic_cohorts: list[list[int]] = [[] for _ in self.topics]
        for cohort_number, topics in enumerate(self.cohort_topics):
            for topic in topics:
                self.topic_cohorts[topic].append(cohort_number)
        self.claimed = [self._count_claims(claims, member_id, number_of) for member_id in self.members]
        self.units = [dict(counts) for counts in self.claimed]
        self.loads = [sum(counts.values()) for counts in self.claimed]
        self.holders: list[dict[int, None]] = [{} for _ in self.topics]
        for member, counts in enumerate(self.units):
            for topic in counts:
                self.holders[topic][member] = None
        self.owed: list[dict[int, None]] = [{} for _ in self.topics]

    @staticmethod
    def _count_claims(claims: Claims, member_id: MemberId, number_of: dict[TopicId, int]) -> dict[int, int]:
        counts: dict[int, int] = {}
        for claim in claims.held[member_id]:
            topic = number_of[claim[0]]
            counts[topic] = counts.get(topic, 0) + 1
        return dict(sorted(counts.items()))

    def take_cost(self, topic: int, member: int) -> int:
        """Moves added by taking one unit: none while the member holds more than it claimed."""
        return int(self.units[member][topic] <= self.claimed[member].get(topic, 0))

    def take(self, topic: int, member: int) -> None:
        """Take one unit of `topic`; the load is the caller's, since members inside a chain keep theirs."""
        left = self.units[member][topic] - 1
        if left:
            self.units[member][topic] = left
        else:
            del self.units[member][topic]
            del self.holders[topic][member]
        if left < self.claimed[member].get(topic, 0):
            self.owed[topic][member] = None

    def give(self, topic: int, member: int) -> None:
        """Give one unit of `topic`; the load is the caller's."""
        count = self.units[member].get(topic, 0) + 1
        self.units[member][topic] = count
        self.holders[topic][member] = None
        if count >= self.claimed[member].get(topic, 0):
            self.owed[topic].pop(member, None)
