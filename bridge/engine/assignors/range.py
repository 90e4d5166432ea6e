"""The `range` assignor: each topic cut into contiguous ranges by seat order, and who sat where the last time."""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge

from bridge.engine.assignors.incremental import Census, IncrementalAssignor, Partitions, TargetIndex
from bridge.engine.assignors.interface import Assignment, AssignmentSpec
from bridge.engine.assignors.seats import Seat
from bridge.engine.assignors.subscriber_sets import NOTHING, Cohort, form_cohorts, seated
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


MOST_ROWS = 1_024
"""Of so many rows some may be nobody's any more: then the index is built anew instead of adding another."""


@dataclass(slots=True, eq=False)
class Row:
    """Members that want the same topics, in seat order; if all of them go, the row stays for others."""

    topics: frozenset[TopicId]
    seats: list[Seat] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Hall:
    """Topics that the same rows want; `was` is how they were cut when the last target was made."""

    rows: tuple[Row, ...]
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


class SeatIndex(TargetIndex):
    """Rows and halls of a group; the last target is remembered as the seats it was cut by."""

    __slots__ = ("_counts", "_halls", "_is_known", "_newcomers", "_restless", "_rows", "_seats", "_wishes")

    def __init__(self, census: Census) -> None:
        """Seat everybody; O(members log members + topics of all wishes)."""
        self._counts = {
            topic: count
            for topics in census.topics.values()
            for topic in topics
            if (count := census.partition_counts.get(topic, 0)) > 0
        }
        self._wishes = _form_rows(census, self._counts)
        self._rows = list(dict.fromkeys(self._wishes.values()))
        self._seats: dict[MemberId, tuple[Seat, Row]] = {}
        for member_id, seat in census.seats.items():
            row = self._wishes[census.wishes[member_id]]
            row.seats.append(seat)
            self._seats[member_id] = (seat, row)
        for row in self._rows:
            row.seats.sort()
        self._is_known = False
        self._halls = _form_halls(self._rows)
        self._restless = dict.fromkeys(self._halls)
        self._newcomers = {member_id for member_id in census.seats if member_id not in census.target}

    def knows(self, wish: Hashable) -> bool:
        """See `TargetIndex`."""
        return wish in self._wishes

    def learn(self, wish: Hashable, topics: Mapping[TopicId, int]) -> bool:
        """A wish can be learned if it divides no hall, and its topics didn't change while nobody wanted them."""
        if any(self._counts.get(topic, count) != count for topic, count in topics.items()):
            return False
        wanted = frozenset(topics)
        row = next((row for row in self._rows if row.topics == wanted), None)
        if row is None:
            halls = [hall for hall in self._halls if not wanted.isdisjoint(hall.topics)]
            if not all(wanted.issuperset(hall.topics) for hall in halls) or len(self._rows) > MOST_ROWS:
                return False
            row = Row(wanted)
            self._rows.append(row)
            for hall in halls:
                hall.rows += (row,)
            unknown = {topic: count for topic, count in topics.items() if topic not in self._counts}
            if unknown:
                self._counts.update(unknown)
                self._halls += (Hall((row,), sorted(unknown), Cut((), unknown)),)
        self._wishes[wish] = row
        return True

    def seat(self, seat: Seat, wish: Hashable, target: Partitions | None) -> bool:
        """See `TargetIndex`."""
        row = self._wishes[wish]
        before = self._seats.get(seat[2])
        if before == (seat, row):
            return True
        if before is not None and not self.unseat(seat[2], target or frozenset()):
            return False
        insort(row.seats, seat)
        self._seats[seat[2]] = (seat, row)
        # Whoever changed rows may have partitions of topics that no cut names for it.
        self._newcomers.add(seat[2])
        self._disturb(row)
        return True

    def unseat(self, member_id: MemberId, target: Partitions) -> bool:
        """See `TargetIndex`."""
        seat, row = self._seats.pop(member_id)
        del row.seats[bisect_left(row.seats, seat)]
        self._newcomers.discard(member_id)
        self._disturb(row)
        if not row.seats:
            # Nobody tells what becomes of its topics as long as nobody wants them.
            self._wishes = {wish: known for wish, known in self._wishes.items() if known is not row}
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
        self._restless.update((hall, None) for hall in self._halls if topic in hall.topics)
        return True

    def rest(self) -> None:
        """See `TargetIndex`."""
        for hall in self._restless:
            hall.was = self._cut(hall)
        self._is_known = True
        self._restless.clear()
        self._newcomers.clear()

    def picture(self) -> object:
        """See `TargetIndex`."""
        return (
            {member_id: (seat, row.topics) for member_id, (seat, row) in self._seats.items()},
            {row.topics: row.seats for row in self._rows if row.seats},
            {topic: self._counts[topic] for row in self._rows if row.seats for topic in row.topics},
        )

    def revise(self, target: Assignment) -> Assignment | None:
        """Cut anew for those whose place or number of partitions gives them something else than before.

        Nothing is known of how the target came about that stood when the index was built.
        """
        if not self._is_known:
            return None
        cuts: dict[Hall, Cut] = {}
        changed = set(self._newcomers)
        for hall in self._restless:
            cuts[hall] = self._cut(hall)
            changed.update(_find_changed(hall.was, cuts[hall]))
        changed &= self._seats.keys()
        return {member_id: self._share(member_id, cuts, target.get(member_id)) for member_id in sorted(changed)}

    def _share(self, member_id: MemberId, cuts: dict[Hall, Cut], before: Partitions | None) -> Partitions:
        seat, row = self._seats[member_id]
        share: list[TopicIdPartition] = []
        for hall in self._halls:
            if row in hall.rows:
                if hall not in cuts:
                    cuts[hall] = self._cut(hall)
                order = cuts[hall].order
                place = bisect_left(order, seat)
                for topic in hall.topics:
                    share.extend(
                        TopicIdPartition(topic, number) for number in cut_range(self._counts[topic], len(order), place)
                    )
        fresh = frozenset(share)
        return before if before == fresh else fresh

    def _cut(self, hall: Hall) -> Cut:
        order = tuple(hall.rows[0].seats) if len(hall.rows) == 1 else tuple(merge(*(row.seats for row in hall.rows)))
        return Cut(order, {topic: self._counts[topic] for topic in hall.topics})

    def _disturb(self, row: Row) -> None:
        self._restless.update((hall, None) for hall in self._halls if row in hall.rows)


def _form_rows(census: Census, counts: Mapping[TopicId, int]) -> dict[Hashable, Row]:
    rows: dict[frozenset[TopicId], Row] = {}
    by_wish: dict[Hashable, Row] = {}
    for wish in dict.fromkeys(census.wishes.values()):
        topics = frozenset(topic for topic in census.topics[wish] if topic in counts)
        by_wish[wish] = rows.setdefault(topics, Row(topics))
    return by_wish


def _form_halls(rows: Iterable[Row]) -> tuple[Hall, ...]:
    wanting: dict[TopicId, list[Row]] = {}
    for row in rows:
        for topic in row.topics:
            wanting.setdefault(topic, []).append(row)
    halls: dict[tuple[int, ...], Hall] = {}
    for topic, wanted in wanting.items():
        hall = halls.setdefault(tuple(id(row) for row in wanted), Hall(tuple(wanted)))
        hall.topics.append(topic)
    return tuple(halls.values())


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
