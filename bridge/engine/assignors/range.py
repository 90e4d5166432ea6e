"""The `range` assignor: each topic cut into contiguous ranges by seat order, and who sat where the last time."""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge

from bridge.engine.assignors.interface import (
    NOTHING,
    Assignment,
    AssignmentSpec,
    IncrementalAssignor,
    IndexSource,
    Partitions,
    Seat,
    TargetIndex,
)
from bridge.engine.assignors.subscriber_sets import (
    KnownInterests,
    SubscriberSet,
    count_topics,
    form_subscriber_sets,
    seated,
)
from translators.dialects.ids import MemberId, TopicId, TopicIdPartition


class Range(IncrementalAssignor):
    """Kafka's `range`: static members first, the first seats get one more, equal counts are co-partitioned (K9.2)."""

    name: str = "range"

    def assign(self, spec: AssignmentSpec) -> Assignment:
        """Cut every subscribed topic; members beyond the number of partitions get nothing of it."""
        subscriber_sets = form_subscriber_sets(spec)
        orders: dict[tuple[int, ...], tuple[MemberId, ...]] = {}
        shares: dict[MemberId, list[TopicIdPartition]] = {member_id: [] for member_id in spec.members}
        for topic, subscribed in _subscribed(subscriber_sets).items():
            if subscribed not in orders:
                orders[subscribed] = _merge_seats(spec, [subscriber_sets[number] for number in subscribed])
            _cut(topic, spec.partition_counts[topic], orders[subscribed], shares)
        return {member_id: _kept_object(spec, member_id, share) for member_id, share in shares.items()}

    def index(self, source: IndexSource) -> TargetIndex:
        """Who sits where."""
        return SeatIndex(source)


def _subscribed(subscriber_sets: tuple[SubscriberSet, ...]) -> dict[TopicId, tuple[int, ...]]:
    numbers: dict[TopicId, list[int]] = {}
    for number, subscribers in enumerate(subscriber_sets):
        for topic in subscribers.topics:
            numbers.setdefault(topic, []).append(number)
    return {topic: tuple(subscribed) for topic, subscribed in numbers.items()}


def _merge_seats(spec: AssignmentSpec, subscriber_sets: list[SubscriberSet]) -> tuple[MemberId, ...]:
    if len(subscriber_sets) == 1:
        return subscriber_sets[0].members
    return seated(
        {member_id: spec.members[member_id] for subscribers in subscriber_sets for member_id in subscribers.members}
    )


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


SETS_MAX = 1_024
"""Of so many sets some may be nobody's any more: then the index is built anew instead of adding another."""


@dataclass(slots=True, eq=False)
class SeatedSubscribers:
    """Members that want the same topics, in seat order; if all of them go, the set stays for others."""

    topics: frozenset[TopicId]
    seats: list[Seat] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class TopicSet:
    """Topics that the same subscribers want; `was` is how they were cut when the last target was made."""

    subscriber_sets: tuple[SeatedSubscribers, ...]
    topics: list[TopicId] = field(default_factory=list)
    was: "Cut" = field(default_factory=lambda: Cut((), {}))


@dataclass(frozen=True, slots=True)
class Cut:
    """Who sat where among how many, and into how many partitions each topic was cut."""

    order: Sequence[Seat]
    counts: Mapping[TopicId, int]


def cut_range(count: int, seats: int, place: int) -> range:
    """The partitions of a topic with `count` of them that the seat at `place` of `seats` gets (K9.2)."""
    floor, surplus = divmod(count, seats)
    start = place * floor + min(place, surplus)
    return range(start, start + floor + (place < surplus))


class SeatIndex(KnownInterests[SeatedSubscribers], TargetIndex):
    """Subscribers and topics of a group; the last target is remembered as the seats it was cut by."""

    __slots__ = ("_changed", "_is_known", "_newcomers", "_seats", "_topic_sets")

    def __init__(self, source: IndexSource) -> None:
        """Seat everybody; O(members log members + topics of all interests)."""
        counts = count_topics(source)
        super().__init__(counts, _form_seated_sets(source, counts))
        self._seats: dict[MemberId, tuple[Seat, SeatedSubscribers]] = {}
        for member_id, seat in source.seats.items():
            subscribers = self._interests[source.interests[member_id]]
            subscribers.seats.append(seat)
            self._seats[member_id] = (seat, subscribers)
        for subscribers in self._subscriber_sets:
            subscribers.seats.sort()
        self._is_known = False
        self._topic_sets = _form_topic_sets(self._subscriber_sets)
        self._changed = dict.fromkeys(self._topic_sets)
        self._newcomers = {member_id for member_id in source.seats if member_id not in source.target}

    def _add(self, wanted: frozenset[TopicId], topics: Mapping[TopicId, int]) -> SeatedSubscribers | None:
        topic_sets = [topic_set for topic_set in self._topic_sets if not wanted.isdisjoint(topic_set.topics)]
        divides = not all(wanted.issuperset(topic_set.topics) for topic_set in topic_sets)
        if divides or len(self._subscriber_sets) > SETS_MAX:
            return None
        subscribers = SeatedSubscribers(wanted)
        for topic_set in topic_sets:
            topic_set.subscriber_sets += (subscribers,)
        unknown = {topic: count for topic, count in topics.items() if topic not in self._counts}
        if unknown:
            self._counts.update(unknown)
            self._topic_sets += (TopicSet((subscribers,), sorted(unknown), Cut((), unknown)),)
        return subscribers

    def seat(self, seat: Seat, interest: Hashable, target: Partitions | None) -> bool:
        """See `TargetIndex`."""
        subscribers = self._interests[interest]
        before = self._seats.get(seat[2])
        if before == (seat, subscribers):
            return True
        if before is not None and not self.unseat(seat[2], target or frozenset()):
            return False
        insort(subscribers.seats, seat)
        self._seats[seat[2]] = (seat, subscribers)
        # Whoever wants other topics now may have partitions of topics that no cut names for it.
        self._newcomers.add(seat[2])
        self._disturb(subscribers)
        return True

    def unseat(self, member_id: MemberId, target: Partitions) -> bool:
        """See `TargetIndex`."""
        seat, subscribers = self._seats.pop(member_id)
        del subscribers.seats[bisect_left(subscribers.seats, seat)]
        self._newcomers.discard(member_id)
        self._disturb(subscribers)
        if not subscribers.seats:
            self._forget(subscribers)
        return bool(self._seats)

    def retarget(self, member_id: MemberId, target: Partitions, gained: Partitions, lost: Partitions) -> None:
        """A target is remembered by seats alone; one that doesn't follow from them must be made anew."""
        self._newcomers.add(member_id)

    def lose(self, member_id: MemberId, partition: TopicIdPartition) -> None:
        """See `TargetIndex`."""
        self._newcomers.add(member_id)

    def grow(self, topic: TopicId, count: int, target_owners: Mapping[TopicIdPartition, MemberId]) -> bool:
        """See `TargetIndex`."""
        known = self._counts.get(topic)
        if known is None or count < known:
            return False
        self._counts[topic] = count
        self._changed.update((topic_set, None) for topic_set in self._topic_sets if topic in topic_set.topics)
        return True

    def rest(self) -> None:
        """See `TargetIndex`."""
        for topic_set in self._changed:
            topic_set.was = self._cut(topic_set)
        self._is_known = True
        self._changed.clear()
        self._newcomers.clear()

    def snapshot(self) -> object:
        """See `TargetIndex`."""
        return (
            {member_id: (seat, subscribers.topics) for member_id, (seat, subscribers) in self._seats.items()},
            {subscribers.topics: subscribers.seats for subscribers in self._subscriber_sets if subscribers.seats},
            {
                topic: self._counts[topic]
                for subscribers in self._subscriber_sets
                if subscribers.seats
                for topic in subscribers.topics
            },
        )

    def revise(self, target: Assignment) -> Assignment | None:
        """Cut anew for those whose place or number of partitions gives them something else than before.

        Nothing is known of how the target came about that stood when the index was built.
        """
        if not self._is_known:
            return None
        cuts: dict[TopicSet, Cut] = {}
        changed = set(self._newcomers)
        for topic_set in self._changed:
            cuts[topic_set] = self._cut(topic_set)
            changed.update(_find_changed(topic_set.was, cuts[topic_set]))
        changed &= self._seats.keys()
        return {member_id: self._share(member_id, cuts, target.get(member_id)) for member_id in sorted(changed)}

    def _share(self, member_id: MemberId, cuts: dict[TopicSet, Cut], before: Partitions | None) -> Partitions:
        seat, subscribers = self._seats[member_id]
        share: list[TopicIdPartition] = []
        for topic_set in self._topic_sets:
            if subscribers in topic_set.subscriber_sets:
                if topic_set not in cuts:
                    cuts[topic_set] = self._cut(topic_set)
                order = cuts[topic_set].order
                place = bisect_left(order, seat)
                for topic in topic_set.topics:
                    share.extend(
                        TopicIdPartition(topic, number) for number in cut_range(self._counts[topic], len(order), place)
                    )
        fresh = frozenset(share)
        return before if before == fresh else fresh

    def _cut(self, topic_set: TopicSet) -> Cut:
        order = (
            tuple(topic_set.subscriber_sets[0].seats)
            if len(topic_set.subscriber_sets) == 1
            else tuple(merge(*(subscribers.seats for subscribers in topic_set.subscriber_sets)))
        )
        return Cut(order, {topic: self._counts[topic] for topic in topic_set.topics})

    def _disturb(self, subscribers: SeatedSubscribers) -> None:
        self._changed.update(
            (topic_set, None) for topic_set in self._topic_sets if subscribers in topic_set.subscriber_sets
        )


def _form_seated_sets(source: IndexSource, counts: Mapping[TopicId, int]) -> dict[Hashable, SeatedSubscribers]:
    subscriber_sets: dict[frozenset[TopicId], SeatedSubscribers] = {}
    by_interest: dict[Hashable, SeatedSubscribers] = {}
    for interest in dict.fromkeys(source.interests.values()):
        topics = frozenset(topic for topic in source.topics[interest] if topic in counts)
        by_interest[interest] = subscriber_sets.setdefault(topics, SeatedSubscribers(topics))
    return by_interest


def _form_topic_sets(subscriber_sets: Iterable[SeatedSubscribers]) -> tuple[TopicSet, ...]:
    wanting: dict[TopicId, list[SeatedSubscribers]] = {}
    for subscribers in subscriber_sets:
        for topic in subscribers.topics:
            wanting.setdefault(topic, []).append(subscribers)
    topic_sets: dict[tuple[int, ...], TopicSet] = {}
    for topic, wanted in wanting.items():
        topic_set = topic_sets.setdefault(tuple(id(subscribers) for subscribers in wanted), TopicSet(tuple(wanted)))
        topic_set.topics.append(topic)
    return tuple(topic_sets.values())


def _find_changed(was: Cut, now: Cut) -> Iterator[MemberId]:
    """Those whom another place, another number of seats or of partitions gives something else.

    Topics with the same count before and now are cut alike, and who sits beyond all counts has nothing, so this looks
    at no more seats than the largest topic has partitions.
    """
    if not was.order:
        yield from (seat[2] for seat in now.order)
        return
    pairs = {(was.counts[topic], count) for topic, count in now.counts.items()}
    most = max(count for pair in pairs for count in pair)
    places = {seat[2]: place for place, seat in enumerate(was.order[:most])}
    for place, seat in enumerate(now.order[:most]):
        before = places.pop(seat[2], most)
        if any(
            cut_range(now_count, len(now.order), place) != cut_range(was_count, len(was.order), before)
            for was_count, now_count in pairs
        ):
            yield seat[2]
    yield from places
