"""What of a group's target an assignor must know to change only what has to change, kept in step record by record."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from bridge.engine.assignors.interface import NOTHING, Assignment, IndexSource, LoadOrder, Partitions, Seat
from bridge.engine.assignors.subscriber_sets import KnownInterests, count_topics
from translators.dialects.ids import MemberId, TopicId, TopicIdPartition


@dataclass(slots=True, eq=False)
class Kind:
    """Topics that the same subscribers want: their partitions are interchangeable. `free` are in nobody's target."""

    number: int
    topics: set[TopicId] = field(default_factory=set)
    subscriber_sets: "tuple[IndexedSubscribers, ...]" = ()
    free: set[TopicIdPartition] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class IndexedSubscribers:
    """Members that want the same topics, by load; where these are of several kinds, `holders` by kind too.

    A set that everybody left stays, in no region, for those who may come back.
    """

    number: int
    topics: frozenset[TopicId]
    kinds: tuple[Kind, ...] = ()
    load_order: LoadOrder = field(default_factory=LoadOrder)
    holders: dict[int, LoadOrder] = field(default_factory=dict)
    region: "Region" = field(init=False)

    @property
    def is_plain(self) -> bool:
        """Whether a load says all: there is but one kind to hold."""
        return len(self.kinds) < 2

    def want(self, kind: Kind) -> None:
        """Add topics that these subscribers want."""
        self.kinds += (kind,)
        self.holders[kind.number] = LoadOrder()
        kind.subscriber_sets += (self,)


@dataclass(slots=True, eq=False)
class Region:
    """Sets of subscribers linked by common topics: what happens in one region concerns no other; several are mixed."""

    number: int
    subscriber_sets: tuple[IndexedSubscribers, ...]

    @property
    def is_mixed(self) -> bool:
        """Whether its members want different topics."""
        return len(self.subscriber_sets) > 1

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What its members want, by number."""
        kinds = {kind.number: kind for subscribers in self.subscriber_sets for kind in subscribers.kinds}
        return tuple(kinds[number] for number in sorted(kinds))


def form_indexed_sets(source: IndexSource, counts: Mapping[TopicId, int]) -> dict[Hashable, IndexedSubscribers]:
    """The subscribers of each set of topics that exist, whatever else they name; in order of topics."""
    topics_of = {
        interest: frozenset(topic for topic in source.topics[interest] if topic in counts)
        for interest in dict.fromkeys(source.interests.values())
    }
    ordered = sorted(set(topics_of.values()), key=sorted)
    subscriber_sets = {topics: IndexedSubscribers(number, topics) for number, topics in enumerate(ordered)}
    return {interest: subscriber_sets[topics] for interest, topics in topics_of.items()}


def sort_topics(subscriber_sets: Iterable[IndexedSubscribers]) -> dict[TopicId, Kind]:
    """The kind of each topic, numbered by their first topics; tells subscribers and kinds of each other."""
    wanting: dict[TopicId, list[IndexedSubscribers]] = {}
    for subscribers in subscriber_sets:
        for topic in subscribers.topics:
            wanting.setdefault(topic, []).append(subscribers)
    kinds: dict[tuple[int, ...], Kind] = {}
    by_topic: dict[TopicId, Kind] = {}
    for topic in sorted(wanting):
        numbers = tuple(subscribers.number for subscribers in wanting[topic])
        if numbers not in kinds:
            kinds[numbers] = Kind(len(kinds))
            for subscribers in wanting[topic]:
                subscribers.want(kinds[numbers])
        kinds[numbers].topics.add(topic)
        by_topic[topic] = kinds[numbers]
    return by_topic


def link_regions(subscriber_sets: Iterable[IndexedSubscribers]) -> tuple[Region, ...]:
    """The regions of all subscribers, in order of their first set; one without topics is its own region."""
    regions: list[Region] = []
    linked: set[IndexedSubscribers] = set()
    for first in subscriber_sets:
        if first.load_order.size and first not in linked:
            reached = _reach(first)
            linked |= reached
            region = Region(len(regions), tuple(sorted(reached, key=lambda subscribers: subscribers.number)))
            for subscribers in reached:
                subscribers.region = region
            regions.append(region)
    return tuple(regions)


def _reach(first: IndexedSubscribers) -> set[IndexedSubscribers]:
    reached, waiting = {first}, [first]
    while waiting:
        linked = {
            subscribers
            for kind in waiting.pop().kinds
            for subscribers in kind.subscriber_sets
            if subscribers.load_order.size
        }
        waiting.extend(linked - reached)
        reached |= linked
    return reached


EMPTY_SETS_MAX = 8
"""So many sets without members may stay, or as many as have some; then the index is built anew without them."""


@dataclass(slots=True, eq=False)
class Standing:
    """One member: its seat, with whom it subscribes, how many valid partitions its target has, and of which kinds."""

    seat: Seat
    subscribers: IndexedSubscribers
    load: int = 0
    units: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """An index as a value: seat, topics and load of each member; what is free; who is unsettled; all load orders."""

    members: Mapping[MemberId, tuple[Seat, frozenset[TopicId], int]]
    free: frozenset[TopicIdPartition]
    unsettled: frozenset[MemberId]
    load_orders: Mapping[frozenset[TopicId], LoadOrder]


class LoadIndex(KnownInterests[IndexedSubscribers]):
    """Loads, holders and free partitions of a group; a function of its members, topics and target.

    For its methods see `interface.TargetIndex`. Of the target only valid partitions count: those that exist and that
    their member wants. `unsettled` members need a new target whatever their load: newcomers without one, and those
    whose target names what is not valid. `changed` regions changed since the last target.
    """

    __slots__ = ("_kinds", "changed", "regions", "standings", "unsettled")

    def __init__(self, source: IndexSource) -> None:
        """Count everything; O(members + partitions + topics of all interests)."""
        counts = count_topics(source)
        super().__init__(counts, form_indexed_sets(source, counts))
        self._subscriber_sets.sort(key=lambda subscribers: subscribers.number)
        self._kinds = sort_topics(self._subscriber_sets)
        self.standings: dict[MemberId, Standing] = {}
        self.unsettled: set[MemberId] = set()
        self._take_source(source)
        self._relink()

    def _take_source(self, source: IndexSource) -> None:
        taken: set[TopicIdPartition] = set()
        for member_id, seat in source.seats.items():
            standing = Standing(seat, self._interests[source.interests[member_id]])
            target = source.target.get(member_id)
            valid = self._pick_valid(standing, NOTHING if target is None else target)
            if target is None or len(valid) < len(target):
                self.unsettled.add(member_id)
            taken |= valid
            standing.load = len(valid)
            if not standing.subscribers.is_plain:
                for partition in valid:
                    _count(standing.units, self._kinds[partition[0]].number, 1)
            self.standings[member_id] = standing
        for topic, kind in self._kinds.items():
            every = (TopicIdPartition(topic, number) for number in range(self._counts[topic]))
            kind.free.update(partition for partition in every if partition not in taken)
        _fill_load_orders(self.standings.values())

    def _relink(self) -> None:
        self.regions = link_regions(self._subscriber_sets)
        self.changed = dict.fromkeys(self.regions)

    def _add(self, wanted: frozenset[TopicId], topics: Mapping[TopicId, int]) -> IndexedSubscribers | None:
        kinds = {self._kinds[topic] for topic in wanted if topic in self._kinds}
        if not all(kind.topics <= wanted for kind in kinds):
            return None
        subscribers = IndexedSubscribers(len(self._subscriber_sets), wanted)
        for kind in sorted(kinds, key=lambda kind: kind.number):
            subscribers.want(kind)
        unknown = {topic: count for topic, count in topics.items() if topic not in self._kinds}
        if unknown:
            subscribers.want(self._add_kind(unknown))
        return subscribers

    def _add_kind(self, topics: Mapping[TopicId, int]) -> Kind:
        self._counts.update(topics)
        kind = Kind(1 + max((known.number for known in self._kinds.values()), default=-1), set(topics))
        kind.free.update(TopicIdPartition(topic, number) for topic in topics for number in range(topics[topic]))
        self._kinds.update(dict.fromkeys(topics, kind))
        return kind

    def kind_of(self, partition: TopicIdPartition) -> Kind:
        """The kind of a valid partition."""
        return self._kinds[partition[0]]

    def valid(self, member_id: MemberId, target: Assignment) -> Partitions:
        """What of a member's target counts; the same object if all of it does."""
        share = target.get(member_id, NOTHING)
        return self._pick_valid(self.standings[member_id], share) if member_id in self.unsettled else share

    def _pick_valid(self, standing: Standing, partitions: Partitions) -> Partitions:
        topics, counts = standing.subscribers.topics, self._counts
        valid = [one for one in partitions if one[0] in topics and one[1] < counts[one[0]]]
        return partitions if len(valid) == len(partitions) else frozenset(valid)

    def seat(self, seat: Seat, interest: Hashable, target: Partitions | None) -> bool:
        """See `TargetIndex`."""
        subscribers = self._interests[interest]
        before = self.standings.get(seat[2])
        if before is not None:
            if before.seat == seat and before.subscribers is subscribers:
                return True
            if not self.unseat(seat[2], target or NOTHING):
                return False
        standing = Standing(seat, subscribers)
        self.standings[seat[2]] = standing
        subscribers.load_order.add(0, seat)
        if subscribers.load_order.size == 1:
            self._relink()
        valid = NOTHING if target is None else self._pick_valid(standing, target)
        if target is None or len(valid) < len(target):
            self.unsettled.add(seat[2])
        self.move(seat[2], valid, NOTHING)
        self.changed[subscribers.region] = None
        return True

    def unseat(self, member_id: MemberId, target: Partitions) -> bool:
        """See `TargetIndex`."""
        standing = self.standings[member_id]
        subscribers = standing.subscribers
        self.move(member_id, NOTHING, self._pick_valid(standing, target))
        del self.standings[member_id]
        self.unsettled.discard(member_id)
        subscribers.load_order.remove(standing.load, standing.seat)
        if subscribers.load_order.size:
            self.changed[subscribers.region] = None
            return True
        self._forget(subscribers)
        self._relink()
        occupied = sum(subscribers.load_order.size > 0 for subscribers in self._subscriber_sets)
        return occupied > 0 and len(self._subscriber_sets) - occupied <= max(EMPTY_SETS_MAX, occupied)

    def retarget(self, member_id: MemberId, target: Partitions, gained: Partitions, lost: Partitions) -> None:
        """A member has this target now, which differs by these partitions; what is not valid doesn't count."""
        standing = self.standings[member_id]
        if member_id in self.unsettled:
            lost = self._pick_valid(standing, lost)
        valid = self._pick_valid(standing, gained) if gained else gained
        if len(valid) < len(gained):
            self.unsettled.add(member_id)
        elif member_id in self.unsettled and self._pick_valid(standing, target) is target:
            self.unsettled.discard(member_id)
        self.move(member_id, valid, lost)

    def lose(self, member_id: MemberId, partition: TopicIdPartition) -> None:
        """Another member's target names the partition too, before this one's is told anew."""
        self.move(member_id, NOTHING, self._pick_valid(self.standings[member_id], frozenset((partition,))))

    def move(self, member_id: MemberId, gained: Partitions, lost: Partitions) -> None:
        """A member got and lost partitions, all of them valid."""
        standing = self.standings[member_id]
        subscribers = standing.subscribers
        if gained or lost:
            if len(subscribers.kinds) > 1:
                self._shift_units(standing, gained, lost)
            else:
                free = subscribers.kinds[0].free
                free.update(lost)
                free.difference_update(gained)
                _shift(standing, standing.load + len(gained) - len(lost))
            self.changed[subscribers.region] = None

    def _shift_units(self, standing: Standing, gained: Partitions, lost: Partitions) -> None:
        holders = standing.subscribers.holders
        for number in standing.units:
            holders[number].remove(standing.load, standing.seat)
        for partition in lost:
            kind = self._kinds[partition[0]]
            kind.free.add(partition)
            _count(standing.units, kind.number, -1)
        for partition in gained:
            kind = self._kinds[partition[0]]
            kind.free.discard(partition)
            _count(standing.units, kind.number, 1)
        _shift(standing, standing.load + len(gained) - len(lost))
        for number in standing.units:
            holders[number].add(standing.load, standing.seat)

    def grow(self, topic: TopicId, count: int, target_owners: Mapping[TopicIdPartition, MemberId]) -> bool:
        """A topic has this many partitions now."""
        known = self._counts.get(topic)
        if known is None or count < known:
            return False
        added = [TopicIdPartition(topic, number) for number in range(known, count)]
        if any(partition in target_owners for partition in added):
            return False
        self._counts[topic] = count
        kind = self._kinds[topic]
        kind.free.update(added)
        self.changed.update(
            (subscribers.region, None) for subscribers in kind.subscriber_sets if subscribers.load_order.size
        )
        return True

    def snapshot(self) -> Snapshot:
        """All that counts, as a value: two indexes of equal groups have equal snapshots, whatever became of them."""
        occupied = [subscribers for subscribers in self._subscriber_sets if subscribers.load_order.size]
        return Snapshot(
            members={name: (one.seat, one.subscribers.topics, one.load) for name, one in self.standings.items()},
            free=frozenset(
                partition for subscribers in occupied for kind in subscribers.kinds for partition in kind.free
            ),
            unsettled=frozenset(self.unsettled),
            load_orders={subscribers.topics: subscribers.load_order for subscribers in occupied},
        )

    def rest(self) -> None:
        """The group's target is what this index was asked for: no region needs another look until it changes."""
        self.changed.clear()


def _shift(standing: Standing, load: int) -> None:
    if load != standing.load:
        load_order, seat = standing.subscribers.load_order, standing.seat
        load_order.remove(standing.load, seat)
        load_order.add(load, seat)
        standing.load = load


def _count(units: dict[int, int], number: int, change: int) -> None:
    left = units.pop(number, 0) + change
    if left:
        units[number] = left


def _fill_load_orders(standings: Iterable[Standing]) -> None:
    levels: dict[IndexedSubscribers, list[tuple[int, Seat]]] = {}
    holders: dict[tuple[IndexedSubscribers, int], list[tuple[int, Seat]]] = {}
    for standing in standings:
        levels.setdefault(standing.subscribers, []).append((standing.load, standing.seat))
        for number in standing.units:
            holders.setdefault((standing.subscribers, number), []).append((standing.load, standing.seat))
    for subscribers, seats in levels.items():
        subscribers.load_order.fill(seats)
    for (subscribers, number), seats in holders.items():
        subscribers.holders[number].fill(seats)
