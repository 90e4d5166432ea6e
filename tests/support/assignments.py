"""Short ways to write assignment specs in tests: topics are letters, partitions read like "a0"."""

from collections.abc import Iterable, Mapping

from bridge.engine.assignors.chains import Flow
from bridge.engine.assignors.incremental import Census
from bridge.engine.assignors.interface import Assignment, AssignmentSpec, MemberSubscription
from bridge.engine.assignors.load_index import LoadIndex, Standing
from bridge.engine.assignors.seats import Ladder
from bridge.engine.assignors.subscriber_sets import form_cohorts, link_components, seat, settle_claims
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
    (component,) = link_components(form_cohorts(question))
    return Flow(component, settle_claims(question, component))


def census_of(question: AssignmentSpec) -> Census:
    """The census of a group that is as the question says; who has no entry in `previous` is a newcomer."""
    wishes = {name: member.topics for name, member in question.members.items()}
    return Census(
        seats={name: seat(member) for name, member in question.members.items()},
        wishes=wishes,
        topics={wish: wish for wish in wishes.values()},
        partition_counts=question.partition_counts,
        target={name: share for name, share in question.previous.items() if name in question.members},
    )


def index_of(question: AssignmentSpec) -> UniformIndex:
    """The index of such a group."""
    return UniformIndex(census_of(question))


def find_misplaced(index: LoadIndex) -> list[str]:
    """Where ladders and holders of an index are not what the standings of its members make of them."""
    wrong = []
    for crowd in (crowd for region in index.regions for crowd in region.crowds):
        standings = [one for one in index.standings.values() if one.crowd is crowd]
        if crowd.ladder != _ladder(standings):
            wrong.append(f"ladder of crowd {crowd.number}")
        for kind in () if crowd.is_plain else crowd.kinds:
            if crowd.holders[kind.number] != _ladder([one for one in standings if kind.number in one.units]):
                wrong.append(f"holders of kind {kind.number} in crowd {crowd.number}")
        wrong += [f"units of {one.seat}" for one in standings if one.units and sum(one.units.values()) != one.load]
    return wrong


def _ladder(standings: Iterable[Standing]) -> Ladder:
    ladder = Ladder()
    ladder.fill([(one.load, one.seat) for one in standings])
    return ladder


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
