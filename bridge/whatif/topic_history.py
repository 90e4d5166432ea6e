"""What is known of the topics that a group wants: how many partitions they had when its history begins, and later."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bridge.telemetry.schema.facts import MemberInputs, PartitionsAssigned, TopicsChanged, TopicsSeen
from bridge.whatif.inputs import TopicsBecame
from bridge.whatif.timed_events import TimedEvent
from translators.dialects.ids import TopicName

Counts = dict[TopicName, int]


def follow_topics(moments: Sequence[TimedEvent], start: int) -> tuple[Counts, list[TopicsBecame]]:
    """Partition counts at the place `start`, and every change from there on, of topics that somebody wants.

    What changed before the place counts as there: a request waits while the bridge looks for its topics. A topic that
    is seen for the first time was there before, unless the log says that it changed; until then it has as many
    partitions as somebody was given.
    """
    walk = _Walk(_wanted(moments))
    changes: list[TopicsBecame] = []
    for place, moment in enumerate(moments):
        match moment.fact:
            case TopicsSeen() | TopicsChanged() as fact:
                new = walk.look(fact, is_early=place < start)
                if new:
                    event_id = moment.event.stamp.event_id
                    changes.append(TopicsBecame(at_us=moment.at_us, event_id=event_id, counts=new))
            case PartitionsAssigned() as fact:
                walk.guess(fact)
            case _:
                pass
    return {name: count for name, count in (walk.guessed | walk.first).items() if count}, changes


@dataclass(slots=True)
class _Walk:
    """Counts at the beginning (`first`, or `guessed` of what nobody counted), and as they are now (`known`)."""

    wanted: frozenset[TopicName] | None
    first: Counts = field(default_factory=dict)
    guessed: Counts = field(default_factory=dict)
    known: Counts = field(default_factory=dict)

    def look(self, fact: TopicsSeen | TopicsChanged, *, is_early: bool) -> Counts:
        """Take what a look at the cluster found; gives what changed after the beginning."""
        told = {name: count for name, count in _counts(fact).items() if self.wanted is None or name in self.wanted}
        new = {name: count for name, count in told.items() if self.known.get(name) != count}
        was_there = {name for name in new if is_early or (isinstance(fact, TopicsSeen) and name not in self.known)}
        self.first |= {name: new[name] for name in was_there}
        self.known |= new
        return {name: count for name, count in new.items() if name not in was_there}

    def guess(self, fact: PartitionsAssigned) -> None:
        """Take what somebody was given, of topics that nobody has counted yet."""
        for topic, partition in _assigned(fact):
            if topic not in self.known:
                self.guessed[topic] = max(self.guessed.get(topic, 0), partition + 1)


def _wanted(moments: Sequence[TimedEvent]) -> frozenset[TopicName] | None:
    """The topics that members name; None if one has a pattern, for which all may count."""
    facts = [moment.fact for moment in moments if isinstance(moment.fact, MemberInputs)]
    if any(fact.pattern for fact in facts):
        return None
    return frozenset(TopicName(name) for fact in facts for name in fact.topics)


def _counts(fact: TopicsSeen | TopicsChanged) -> Mapping[TopicName, int]:
    return {TopicName(name): count for name, count in zip(fact.topics, fact.partition_counts, strict=True)}


def _assigned(fact: PartitionsAssigned) -> Iterator[tuple[TopicName, int]]:
    for name in fact.partitions:
        topic, _, number = name.rpartition("-")
        yield TopicName(topic), int(number)
