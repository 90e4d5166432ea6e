"""Members grouped by what they want, topics by who wants them: the structure that a load index hangs on.

It knows wishes and topics, and must not know targets, nor what changes them.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from bridge.engine.assignors.incremental import Census
from bridge.engine.assignors.ladder import Ladder
from translators.dialects.ids import TopicId, TopicIdPartition


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
