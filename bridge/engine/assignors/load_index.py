"""What of a group's target an assignor must know to change only what has to change, kept in step record by record."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from bridge.engine.assignors.incremental import NOTHING, Census, Partitions
from bridge.engine.assignors.interface import Assignment
from bridge.engine.assignors.seats import Ladder, Seat
from translators.dialects.ids import MemberId, TopicId, TopicIdPartition


@dataclass(slots=True, eq=False)
class Kind:
    """Topics that the same crowds want: their partitions are interchangeable. `free` are those in nobody's target."""

    number: int
    topics: set[TopicId] = field(default_factory=set)
    crowds: "tuple[Crowd, ...]" = ()
    free: set[TopicIdPartition] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class Crowd:
    """Members that want the same topics, by load; where these are of several kinds, `holders` by kind too.

    A crowd that everybody left stays, in no region, for those who may come back.
    """

    number: int
    topics: frozenset[TopicId]
    kinds: tuple[Kind, ...] = ()
    ladder: Ladder = field(default_factory=Ladder)
    holders: dict[int, Ladder] = field(default_factory=dict)
    region: "Region" = field(init=False)

    @property
    def is_plain(self) -> bool:
        """Whether a load says all: there is but one kind to hold."""
        return len(self.kinds) < 2

    def want(self, kind: Kind) -> None:
        """Add topics that this crowd wants."""
        self.kinds += (kind,)
        self.holders[kind.number] = Ladder()
        kind.crowds += (self,)


@dataclass(slots=True, eq=False)
class Region:
    """Crowds with members linked by common topics: what happens in one region concerns no other; several are mixed."""

    number: int
    crowds: tuple[Crowd, ...]

    @property
    def is_mixed(self) -> bool:
        """Whether its members want different topics."""
        return len(self.crowds) > 1

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What its members want, by number."""
        kinds = {kind.number: kind for crowd in self.crowds for kind in crowd.kinds}
        return tuple(kinds[number] for number in sorted(kinds))


def form_crowds(census: Census, counts: Mapping[TopicId, int]) -> dict[Hashable, Crowd]:
    """One crowd per set of topics that exist, however it was wished for; numbered by their topics."""
    topics_of = {
        wish: frozenset(topic for topic in census.topics[wish] if topic in counts)
        for wish in dict.fromkeys(census.wishes.values())
    }
    ordered = sorted(set(topics_of.values()), key=sorted)
    crowds = {topics: Crowd(number, topics) for number, topics in enumerate(ordered)}
    return {wish: crowds[topics] for wish, topics in topics_of.items()}


def sort_topics(crowds: Iterable[Crowd]) -> dict[TopicId, Kind]:
    """The kind of each topic, numbered by their first topics; tells crowds and kinds of each other."""
    wanting: dict[TopicId, list[Crowd]] = {}
    for crowd in crowds:
        for topic in crowd.topics:
            wanting.setdefault(topic, []).append(crowd)
    kinds: dict[tuple[int, ...], Kind] = {}
    by_topic: dict[TopicId, Kind] = {}
    for topic in sorted(wanting):
        numbers = tuple(crowd.number for crowd in wanting[topic])
        if numbers not in kinds:
            kinds[numbers] = Kind(len(kinds))
            for crowd in wanting[topic]:
                crowd.want(kinds[numbers])
        kinds[numbers].topics.add(topic)
        by_topic[topic] = kinds[numbers]
    return by_topic


def link_regions(crowds: Iterable[Crowd]) -> tuple[Region, ...]:
    """The regions of all crowds with members, in order of their first crowd; one without topics is its own region."""
    regions: list[Region] = []
    linked: set[Crowd] = set()
    for first in crowds:
        if first.ladder.size and first not in linked:
            reached = _reach(first)
            linked |= reached
            region = Region(len(regions), tuple(sorted(reached, key=lambda crowd: crowd.number)))
            for crowd in reached:
                crowd.region = region
            regions.append(region)
    return tuple(regions)


def _reach(first: Crowd) -> set[Crowd]:
    reached, waiting = {first}, [first]
    while waiting:
        linked = {crowd for kind in waiting.pop().kinds for crowd in kind.crowds if crowd.ladder.size}
        waiting.extend(linked - reached)
        reached |= linked
    return reached


MOST_DESERTED = 8
"""So many crowds without members may stay, or as many as have some; then the index is built anew without them."""


@dataclass(slots=True, eq=False)
class Standing:
    """One member: its seat and crowd, how many valid partitions its target has, and of which kind if not plain."""

    seat: Seat
    crowd: Crowd
    load: int = 0
    units: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """An index as a value: seat, topics and load of each member; what is free; who is unsettled; all ladders."""

    members: Mapping[MemberId, tuple[Seat, frozenset[TopicId], int]]
    free: frozenset[TopicIdPartition]
    unsettled: frozenset[MemberId]
    ladders: Mapping[frozenset[TopicId], Ladder]


class LoadIndex:
    """Loads, holders and free partitions of a group; a function of its members, topics and target.

    For its methods see `incremental.TargetIndex`. Of the target only valid partitions count: those that exist and that
    their member wants. `unsettled` members need a new target whatever their load: newcomers without one, and those
    whose target names what is not valid. `restless` regions changed since the last target.
    """

    __slots__ = ("_counts", "_crowds", "_kinds", "_wishes", "regions", "restless", "standings", "unsettled")

    def __init__(self, census: Census) -> None:
        """Count everything; O(members + partitions + topics of all wishes)."""
        self._counts = {
            topic: count
            for topics in census.topics.values()
            for topic in topics
            if (count := census.partition_counts.get(topic, 0)) > 0
        }
        self._wishes = form_crowds(census, self._counts)
        self._crowds = sorted(set(self._wishes.values()), key=lambda crowd: crowd.number)
        self._kinds = sort_topics(self._crowds)
        self.standings: dict[MemberId, Standing] = {}
        self.unsettled: set[MemberId] = set()
        self._take_census(census)
        self._relink()

    def _take_census(self, census: Census) -> None:
        taken: set[TopicIdPartition] = set()
        for member_id, seat in census.seats.items():
            standing = Standing(seat, self._wishes[census.wishes[member_id]])
            target = census.target.get(member_id)
            valid = self._pick_valid(standing, NOTHING if target is None else target)
            if target is None or len(valid) < len(target):
                self.unsettled.add(member_id)
            taken |= valid
            standing.load = len(valid)
            if not standing.crowd.is_plain:
                for partition in valid:
                    _count(standing.units, self._kinds[partition[0]].number, 1)
            self.standings[member_id] = standing
        for topic, kind in self._kinds.items():
            every = (TopicIdPartition(topic, number) for number in range(self._counts[topic]))
            kind.free.update(partition for partition in every if partition not in taken)
        _fill_ladders(self.standings.values())

    def _relink(self) -> None:
        self.regions = link_regions(self._crowds)
        self.restless = dict.fromkeys(self.regions)

    def knows(self, wish: Hashable) -> bool:
        """See `TargetIndex`."""
        return wish in self._wishes

    def learn(self, wish: Hashable, topics: Mapping[TopicId, int]) -> bool:
        """A wish can be learned if it divides no kind, and its topics didn't change while nobody wanted them."""
        if any(self._counts.get(topic, count) != count for topic, count in topics.items()):
            return False
        wanted = frozenset(topics)
        crowd = next((crowd for crowd in self._crowds if crowd.topics == wanted), None)
        if crowd is None:
            kinds = {self._kinds[topic] for topic in wanted if topic in self._kinds}
            if not all(kind.topics <= wanted for kind in kinds):
                return False
            crowd = Crowd(len(self._crowds), wanted)
            self._crowds.append(crowd)
            for kind in sorted(kinds, key=lambda kind: kind.number):
                crowd.want(kind)
            unknown = {topic: count for topic, count in topics.items() if topic not in self._kinds}
            if unknown:
                crowd.want(self._add_kind(unknown))
        self._wishes[wish] = crowd
        return True

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
        topics, counts = standing.crowd.topics, self._counts
        valid = [one for one in partitions if one[0] in topics and one[1] < counts[one[0]]]
        return partitions if len(valid) == len(partitions) else frozenset(valid)

    def seat(self, seat: Seat, wish: Hashable, target: Partitions | None) -> bool:
        """See `TargetIndex`."""
        crowd = self._wishes[wish]
        before = self.standings.get(seat[2])
        if before is not None:
            if before.seat == seat and before.crowd is crowd:
                return True
            if not self.unseat(seat[2], target or NOTHING):
                return False
        standing = Standing(seat, crowd)
        self.standings[seat[2]] = standing
        crowd.ladder.add(0, seat)
        if crowd.ladder.size == 1:
            self._relink()
        valid = NOTHING if target is None else self._pick_valid(standing, target)
        if target is None or len(valid) < len(target):
            self.unsettled.add(seat[2])
        self.move(seat[2], valid, NOTHING)
        self.restless[crowd.region] = None
        return True

    def unseat(self, member_id: MemberId, target: Partitions) -> bool:
        """See `TargetIndex`; a crowd that everybody left is of use if somebody comes back, but its wishes are
        forgotten: nobody tells what becomes of their topics meanwhile.
        """
        standing = self.standings[member_id]
        crowd = standing.crowd
        self.move(member_id, NOTHING, self._pick_valid(standing, target))
        del self.standings[member_id]
        self.unsettled.discard(member_id)
        crowd.ladder.remove(standing.load, standing.seat)
        if crowd.ladder.size:
            self.restless[crowd.region] = None
            return True
        self._wishes = {wish: known for wish, known in self._wishes.items() if known is not crowd}
        self._relink()
        peopled = sum(crowd.ladder.size > 0 for crowd in self._crowds)
        return peopled > 0 and len(self._crowds) - peopled <= max(MOST_DESERTED, peopled)

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
        crowd = standing.crowd
        if gained or lost:
            if len(crowd.kinds) > 1:
                self._shift_units(standing, gained, lost)
            else:
                free = crowd.kinds[0].free
                free.update(lost)
                free.difference_update(gained)
                _shift(standing, standing.load + len(gained) - len(lost))
            self.restless[crowd.region] = None

    def _shift_units(self, standing: Standing, gained: Partitions, lost: Partitions) -> None:
        holders = standing.crowd.holders
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
        self.restless.update((crowd.region, None) for crowd in kind.crowds if crowd.ladder.size)
        return True

    def picture(self) -> Picture:
        """All that counts, as a value: two indexes of equal groups have equal pictures, whatever became of them."""
        peopled = [crowd for crowd in self._crowds if crowd.ladder.size]
        return Picture(
            members={name: (one.seat, one.crowd.topics, one.load) for name, one in self.standings.items()},
            free=frozenset(partition for crowd in peopled for kind in crowd.kinds for partition in kind.free),
            unsettled=frozenset(self.unsettled),
            ladders={crowd.topics: crowd.ladder for crowd in peopled},
        )

    def rest(self) -> None:
        """The group's target is what this index was asked for: no region needs another look until it changes."""
        self.restless.clear()


def _shift(standing: Standing, load: int) -> None:
    if load != standing.load:
        ladder, seat = standing.crowd.ladder, standing.seat
        ladder.remove(standing.load, seat)
        ladder.add(load, seat)
        standing.load = load


def _count(units: dict[int, int], number: int, change: int) -> None:
    left = units.pop(number, 0) + change
    if left:
        units[number] = left


def _fill_ladders(standings: Iterable[Standing]) -> None:
    rungs: dict[Crowd, list[tuple[int, Seat]]] = {}
    holders: dict[tuple[Crowd, int], list[tuple[int, Seat]]] = {}
    for standing in standings:
        rungs.setdefault(standing.crowd, []).append((standing.load, standing.seat))
        for number in standing.units:
            holders.setdefault((standing.crowd, number), []).append((standing.load, standing.seat))
    for crowd, seats in rungs.items():
        crowd.ladder.fill(seats)
    for (crowd, number), seats in holders.items():
        crowd.holders[number].fill(seats)
