"""What is known of the topics that a group wants: how many partitions they had when its history begins, and later.

It must not know members beyond what they want.
"""

from collections.abc import Iterator, Mapping, Sequence

from bridge.telemetry.schema.facts import MemberInputs, PartitionsAssigned, TopicsChanged, TopicsSeen
from bridge.whatif.inputs import TopicsBecame
from bridge.whatif.moments import Moment
from translators.dialects.ids import TopicName

Counts = dict[TopicName, int]


def follow_topics(moments: Sequence[Moment], start: int) -> tuple[Counts, list[TopicsBecame]]:
    """Partition counts at the place `start`, and every change from there on, of topics that somebody wants.

    A topic that is seen for the first time was there before, unless the log says that it changed. One that the log
    never counts has at least the partitions that somebody was given.
    """
    wanted = _wanted(moments)
    known, changes = Counts(), list[TopicsBecame]()
    first_sight = Counts()
    for place, moment in enumerate(moments):
        if not isinstance(moment.fact, TopicsSeen | TopicsChanged):
            continue
        told = {name: count for name, count in _counts(moment.fact).items() if wanted is None or name in wanted}
        new = {name: count for name, count in told.items() if known.get(name) != count}
        if isinstance(moment.fact, TopicsSeen):
            unseen = {name: count for name, count in new.items() if name not in known}
            first_sight |= unseen
            new = {name: count for name, count in new.items() if name not in unseen}
            known |= unseen
        known |= new
        if place < start:
            first_sight |= new
        elif new:
            changes.append(TopicsBecame(at_us=moment.at_us, event_id=moment.event.stamp.event_id, counts=new))
    least = _least(moments)
    guessed = {name: count for name, count in least.items() if name not in known}
    return {name: count for name, count in (guessed | first_sight).items() if count}, changes


def _wanted(moments: Sequence[Moment]) -> frozenset[TopicName] | None:
    """The topics that members name; None if one has a pattern, for which all may count."""
    facts = [moment.fact for moment in moments if isinstance(moment.fact, MemberInputs)]
    if any(fact.pattern for fact in facts):
        return None
    return frozenset(TopicName(name) for fact in facts for name in fact.topics)


def _counts(fact: TopicsSeen | TopicsChanged) -> Mapping[TopicName, int]:
    return {TopicName(name): count for name, count in zip(fact.topics, fact.partition_counts, strict=True)}


def _least(moments: Sequence[Moment]) -> Counts:
    least = Counts()
    for topic, partition in _assigned(moments):
        least[topic] = max(least.get(topic, 0), partition + 1)
    return least


def _assigned(moments: Sequence[Moment]) -> Iterator[tuple[TopicName, int]]:
    for moment in moments:
        if isinstance(moment.fact, PartitionsAssigned):
            for name in moment.fact.partitions:
                topic, _, number = name.rpartition("-")
                yield TopicName(topic), int(number)
