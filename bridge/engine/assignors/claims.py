"""What of the previous target may still stand, and what nobody has a claim to."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from bridge.engine.assignors.cohorts import Component
from bridge.engine.assignors.interface import Assignment, AssignmentSpec
from translators.dialects.ids import MemberId, TopicId, TopicIdPartition

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
    for cohort in component:
        counts = {topic: spec.partition_counts[topic] for topic in cohort.topics}
        for member_id in cohort.members:
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
    topics = sorted({topic for cohort in component for topic in cohort.topics})
    if sum(spec.partition_counts[topic] for topic in topics) == len(taken):
        return ()
    every = (TopicIdPartition(topic, number) for topic in topics for number in range(spec.partition_counts[topic]))
    return tuple(partition for partition in every if partition not in taken)
