"""The `range` assignor: each topic cut into contiguous ranges by seat order."""

from bridge.engine.assignors.claims import NOTHING
from bridge.engine.assignors.cohorts import Cohort, form_cohorts, seated
from bridge.engine.assignors.incremental import Census, IncrementalAssignor, TargetIndex
from bridge.engine.assignors.interface import Assignment, AssignmentSpec
from bridge.engine.assignors.seat_index import SeatIndex, cut_range
from translators.dialects.ids import MemberId, TopicId, TopicIdPartition


class Range(IncrementalAssignor):
    """Kafka's `range`: static members first, the first seats get one more, equal counts are co-partitioned (K9.2)."""

    name: str = "range"

    def assign(self, spec: AssignmentSpec) -> Assignment:
        """Cut every subscribed topic; members beyond the number of partitions get nothing of it."""
        cohorts = form_cohorts(spec)
        orders: dict[tuple[int, ...], tuple[MemberId, ...]] = {}
        shares: dict[MemberId, list[TopicIdPartition]] = {member_id: [] for member_id in spec.members}
        for topic, subscribed in _subscribed(cohorts).items():
            if subscribed not in orders:
                orders[subscribed] = _merge_seats(spec, [cohorts[number] for number in subscribed])
            _cut(topic, spec.partition_counts[topic], orders[subscribed], shares)
        return {member_id: _kept_object(spec, member_id, share) for member_id, share in shares.items()}

    def index(self, census: Census) -> TargetIndex:
        """Who sits where."""
        return SeatIndex(census)


def _subscribed(cohorts: tuple[Cohort, ...]) -> dict[TopicId, tuple[int, ...]]:
    numbers: dict[TopicId, list[int]] = {}
    for number, cohort in enumerate(cohorts):
        for topic in cohort.topics:
            numbers.setdefault(topic, []).append(number)
    return {topic: tuple(subscribed) for topic, subscribed in numbers.items()}


def _merge_seats(spec: AssignmentSpec, cohorts: list[Cohort]) -> tuple[MemberId, ...]:
    if len(cohorts) == 1:
        return cohorts[0].members
    return seated({member_id: spec.members[member_id] for cohort in cohorts for member_id in cohort.members})


def _cut(
    topic: TopicId, count: int, order: tuple[MemberId, ...], shares: dict[MemberId, list[TopicIdPartition]]
) -> None:
    for place, member_id in enumerate(order[:count]):
        shares[member_id].extend(TopicIdPartition(topic, number) for number in cut_range(count, len(order), place))


def _kept_object(
    spec: AssignmentSpec, member_id: MemberId, share: list[TopicIdPartition]
) -> frozenset[TopicIdPartition]:
    fresh = frozenset(share)
    previous = spec.previous.get(member_id, NOTHING)
    return previous if previous == fresh else fresh
