"""What of a group's target an assignor must know to change only what has to change, kept in step record by record.

It knows wishes, seats, loads and which partitions nobody has, and must not know what ought to move.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from bridge.engine.assignors.incremental import NOTHING, Census, Partitions
from bridge.engine.assignors.interface import Assignment
from bridge.engine.assignors.ladder import Ladder, Seat
from translators.dialects.ids import MemberId, TopicId, TopicIdPartition


@dataclass(slots=True, eq=False)
class Kind:
    """Topics that the same crowds want: their partitions are interchangeable. `free` are those in nobody's target."""

    number: int
    crowds: "tuple[Crowd, ...]" = ()
    free: set[TopicIdPartition] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class Crowd:
    """Members that want the same topics, by load; in a mixed region `holders` are those with partitions of a kind."""

    number: int
    topics: frozenset[TopicId]
    kinds: tuple[Kind, ...] = ()
    ladder: Ladder = field(default_factory=Ladder)
    holders: dict[int, Ladder] = field(default_factory=dict)
    is_mixed: bool = False
    region: "Region" = field(init=False)


@dataclass(slots=True, eq=False)
class Region:
    """Crowds linked by common topics: what happens in one region concerns no other; mixed if there are several."""

    number: int
    crowds: tuple[Crowd, ...]
    kinds: tuple[Kind, ...]
    is_mixed: bool


@dataclass(slots=True, eq=False)
class Standing:
    """One member: its seat and crowd, how many valid partitions its target has, and in a mixed region of which kind."""

    seat: Seat
    crowd: Crowd
    load: int = 0
    units: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """An index as a value: seat, topics, load and units of each member; what is free; who is unsettled; all ladders."""

    members: Mapping[MemberId, tuple[Seat, frozenset[TopicId], int, Mapping[int, int]]]
    free: frozenset[TopicIdPartition]
    unsettled: frozenset[MemberId]
    ladders: tuple[tuple[Ladder, Mapping[int, Ladder]], ...]


class LoadIndex:
    """Loads, holders and free partitions of a group; a function of its members, topics and target.

    For its methods see `incremental.TargetIndex`. Of the target only valid partitions count: those that exist and that
    their member wants. `unsettled` members need a new target whatever their load: newcomers
    without one, and those whose target names what is not valid. `restless` regions changed since the last target.
    """

    __slots__ = ("_counts", "_crowds", "_kinds", "regions", "restless", "standings", "unsettled")

    def __init__(self, census: Census) -> None:
        """Count everything; O(members + partitions + topics of all wishes)."""
        self._counts = {
            topic: count
            for topics in census.topics.values()
            for topic in topics
            if (count := census.partition_counts.get(topic, 0)) > 0
        }
        self._crowds = _form_crowds(census, self._counts)
        crowds = sorted(set(self._crowds.values()), key=lambda crowd: crowd.number)
        self._kinds = _sort_topics(crowds)
        self.regions = _link_regions(crowds)
        self.restless = dict.fromkeys(self.regions)
        self.standings: dict[MemberId, Standing] = {}
        self.unsettled: set[MemberId] = set()
        self._take_census(census)

    def _take_census(self, census: Census) -> None:
        taken: set[TopicIdPartition] = set()
        for member_id, seat in census.seats.items():
            standing = Standing(seat, self._crowds[census.wishes[member_id]])
            target = census.target.get(member_id)
            valid = self._pick_valid(standing, NOTHING if target is None else target)
            if target is None or len(valid) < len(target):
                self.unsettled.add(member_id)
            taken |= valid
            standing.load = len(valid)
            if standing.crowd.is_mixed:
                self._count_units(standing, valid)
            self.standings[member_id] = standing
        for topic, kind in self._kinds.items():
            every = (TopicIdPartition(topic, number) for number in range(self._counts[topic]))
            kind.free.update(partition for partition in every if partition not in taken)
        _fill_ladders(self.standings.values())

    def _count_units(self, standing: Standing, valid: Iterable[TopicIdPartition]) -> None:
        for partition in valid:
            number = self._kinds[partition[0]].number
            standing.units[number] = standing.units.get(number, 0) + 1

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
        """A member came or took another wish; `target` is what it has in the group's target, None for a newcomer."""
        crowd = self._crowds.get(wish)
        if crowd is None:
            return False
        before = self.standings.get(seat[2])
        if before is not None:
            if before.seat == seat and before.crowd is crowd:
                return True
            if not self.unseat(seat[2], target or NOTHING):
                return False
        standing = Standing(seat, crowd)
        self.standings[seat[2]] = standing
        crowd.ladder.add(0, seat)
        valid = NOTHING if target is None else self._pick_valid(standing, target)
        if target is None or len(valid) < len(target):
            self.unsettled.add(seat[2])
        self.move(seat[2], valid, NOTHING)
        self.restless[crowd.region] = None
        return True

    def unseat(self, member_id: MemberId, target: Partitions) -> bool:
        """A member goes, and leaves what it has in the group's target to others."""
        standing = self.standings[member_id]
        self.move(member_id, NOTHING, self._pick_valid(standing, target))
        del self.standings[member_id]
        self.unsettled.discard(member_id)
        standing.crowd.ladder.remove(standing.load, standing.seat)
        self.restless[standing.crowd.region] = None
        return standing.crowd.ladder.size > 0

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
            if crowd.is_mixed:
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
        self.restless[kind.crowds[0].region] = None
        return True

    def picture(self) -> "Picture":
        """All that counts, as a value: two indexes of equal groups have equal pictures, whatever became of them."""
        return Picture(
            members={
                member_id: (one.seat, one.crowd.topics, one.load, dict(one.units))
                for member_id, one in self.standings.items()
            },
            free=frozenset(partition for kind in self._kinds.values() for partition in kind.free),
            unsettled=frozenset(self.unsettled),
            ladders=tuple((crowd.ladder, dict(crowd.holders)) for region in self.regions for crowd in region.crowds),
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


def _form_crowds(census: Census, counts: Mapping[TopicId, int]) -> dict[Hashable, Crowd]:
    """One crowd per set of topics that exist, however it was wished for; numbered by their topics."""
    topics_of = {
        wish: frozenset(topic for topic in census.topics[wish] if topic in counts)
        for wish in dict.fromkeys(census.wishes.values())
    }
    ordered = sorted(set(topics_of.values()), key=sorted)
    crowds = {topics: Crowd(number, topics) for number, topics in enumerate(ordered)}
    return {wish: crowds[topics] for wish, topics in topics_of.items()}


def _sort_topics(crowds: Iterable[Crowd]) -> dict[TopicId, Kind]:
    wanting: dict[TopicId, list[Crowd]] = {}
    for crowd in crowds:
        for topic in crowd.topics:
            wanting.setdefault(topic, []).append(crowd)
    kinds: dict[tuple[int, ...], Kind] = {}
    by_topic: dict[TopicId, Kind] = {}
    for topic in sorted(wanting):
        numbers = tuple(crowd.number for crowd in wanting[topic])
        if numbers not in kinds:
            kinds[numbers] = Kind(len(kinds), tuple(wanting[topic]))
            for crowd in wanting[topic]:
                crowd.kinds += (kinds[numbers],)
                crowd.holders[kinds[numbers].number] = Ladder()
        by_topic[topic] = kinds[numbers]
    return by_topic


def _link_regions(crowds: Iterable[Crowd]) -> tuple[Region, ...]:
    """Regions in order of their first crowd; a crowd without topics is a region of its own."""
    regions: list[Region] = []
    linked: set[Crowd] = set()
    for first in crowds:
        if first in linked:
            continue
        reached = _reach(first)
        linked |= reached
        inside = tuple(sorted(reached, key=lambda crowd: crowd.number))
        kinds = {kind.number: kind for crowd in inside for kind in crowd.kinds}
        ordered = tuple(kinds[number] for number in sorted(kinds))
        region = Region(len(regions), inside, ordered, is_mixed=len(inside) > 1)
        for crowd in inside:
            crowd.region, crowd.is_mixed = region, region.is_mixed
        regions.append(region)
    return tuple(regions)


def _reach(first: Crowd) -> set[Crowd]:
    reached, waiting = {first}, [first]
    while waiting:
        near = {crowd for kind in waiting.pop().kinds for crowd in kind.crowds} - reached
        reached |= near
        waiting.extend(near)
    return reached


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
