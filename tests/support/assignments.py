"""Short ways to write assignment specs in tests: topics are letters, partitions read like "a0"."""

from collections.abc import Iterable, Mapping

from bridge.engine.assignors.chains import Flow
from bridge.engine.assignors.interface import Assignment, AssignmentSpec, IndexSource, LoadOrder, MemberSubscription
from bridge.engine.assignors.load_index import LoadIndex, Standing
from bridge.engine.assignors.subscriber_sets import form_subscriber_sets, link_components, seat, settle_claims
from bridge.engine.assignors.uniform import UniformIndex
from translators.dialects.ids import InstanceId, MemberId, TopicId, TopicIdPartition


def topic(letter: str) -> TopicId:
    """The id of the topic named by one letter."""
    return TopicId(letter.encode().rjust(16, b"\0"))


def parts(text: str) -> frozenset[TopicIdPartition]:
    """Partitions from words like "a0 b12"."""
    return frozenset(TopicIdPartition(topic(word[0]), int(word[1:])) for word in text.split())


def spec(
    topics: Mapping[str, int],
    members: Mapping[str, str],
    previous: Mapping[str, str] | None = None,
    instances: Mapping[str, str] | None = None,
) -> AssignmentSpec:
    """A question: letters to partition counts, member ids to subscribed letters, member ids to what they had."""
    return AssignmentSpec(
        members={
            MemberId(name): MemberSubscription(
                member_id=MemberId(name),
                instance_id=InstanceId(instances[name]) if instances and name in instances else None,
                rack_id=None,
                topics=frozenset(map(topic, letters)),
            )
            for name, letters in members.items()
        },
        previous={MemberId(name): parts(text) for name, text in (previous or {}).items()},
        partition_counts={topic(letter): count for letter, count in topics.items()},
    )


def shares(texts: Mapping[str, str]) -> dict[MemberId, frozenset[TopicIdPartition]]:
    """The answer in the same notation."""
    return {MemberId(name): parts(text) for name, text in texts.items()}


def flow(question: AssignmentSpec) -> Flow:
    """The flow of a question whose members are all in one component."""
    (component,) = link_components(form_subscriber_sets(question))
    return Flow(component, settle_claims(question, component))


def source_of(question: AssignmentSpec) -> IndexSource:
    """The source of a group that is as the question says; who has no entry in `previous` is a newcomer."""
    interests = {name: member.topics for name, member in question.members.items()}
    return IndexSource(
        seats={name: seat(member) for name, member in question.members.items()},
        interests=interests,
        topics={interest: interest for interest in interests.values()},
        partition_counts=question.partition_counts,
        target={name: share for name, share in question.previous.items() if name in question.members},
    )


def index_of(question: AssignmentSpec) -> UniformIndex:
    """The index of such a group."""
    return UniformIndex(source_of(question))


def find_misplaced(index: LoadIndex) -> list[str]:
    """Where load orders and holders of an index are not what the standings of its members make of them."""
    wrong = []
    for subscriber_set in (subscriber_set for region in index.regions for subscriber_set in region.subscriber_sets):
        standings = [one for one in index.standings.values() if one.subscribers is subscriber_set]
        if subscriber_set.load_order != _load_order(standings):
            wrong.append(f"load_order of subscriber_set {subscriber_set.number}")
        for kind in () if subscriber_set.is_plain else subscriber_set.kinds:
            if subscriber_set.holders[kind.number] != _load_order(
                [one for one in standings if kind.number in one.units]
            ):
                wrong.append(f"holders of kind {kind.number} in subscriber_set {subscriber_set.number}")
        wrong += [f"units of {one.seat}" for one in standings if one.units and sum(one.units.values()) != one.load]
    return wrong


def _load_order(standings: Iterable[Standing]) -> LoadOrder:
    load_order = LoadOrder()
    load_order.fill([(one.load, one.seat) for one in standings])
    return load_order


def find_uneven(question: AssignmentSpec, target: Assignment) -> list[tuple[MemberId, MemberId]]:
    """Pairs of members between which a chain of single moves would narrow a gap of two or more."""
    uneven: list[tuple[MemberId, MemberId]] = []
    for start, share in target.items():
        reached, waiting = {start}, [start]
        while waiting:
            topics = {partition.topic_id for partition in target[waiting.pop()]}
            near = [n for n, m in question.members.items() if n not in reached and not topics.isdisjoint(m.topics)]
            reached.update(near)
            waiting.extend(near)
        uneven.extend((start, end) for end in sorted(reached) if len(target[end]) < len(share) - 1)
    return uneven
