"""What the leader of a played classic group gives to whom, under the assignor that the members agreed on.

Range is Kafka's; sticky ones are played by the bridge's own uniform assignor, which keeps what can be kept as they do.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle

from bridge.engine.assignors.interface import AssignmentSpec, MemberSubscription
from bridge.engine.assignors.registry import registry
from translators.dialects.classic import JoinedMember
from translators.dialects.consumer_protocol import decode_subscription
from translators.dialects.ids import MemberId, TopicId, TopicIdPartition, TopicName, TopicPartition

STICKY, ROUND_ROBIN = "uniform", "roundrobin"
Shares = dict[MemberId, frozenset[TopicPartition]]
Counts = Mapping[TopicName, int]


def assign_as_leader(name: str, members: Sequence[JoinedMember], counts: Counts, before: Shares) -> Shares:
    """Everybody's share; `before` is what the leader gave out last, which sticky assignors keep as far as they can."""
    wanted = {one.member_id: frozenset(decode_subscription(one.metadata).topics) for one in members}
    if name == ROUND_ROBIN:
        return _in_turn(wanted, counts)
    ids = {topic: TopicId(topic.encode()) for topic in counts}
    names = {topic_id: topic for topic, topic_id in ids.items()}
    spec = AssignmentSpec(
        members={
            one.member_id: MemberSubscription(
                member_id=one.member_id,
                instance_id=one.instance_id,
                rack_id=None,
                topics=frozenset(ids[topic] for topic in wanted[one.member_id] if topic in ids),
            )
            for one in members
        },
        previous={
            one.member_id: frozenset(
                TopicIdPartition(ids[part.topic], part.partition)
                for part in before.get(one.member_id, ())
                if part.topic in ids
            )
            for one in members
        },
        partition_counts={ids[topic]: count for topic, count in counts.items()},
    )
    found = registry[name if name in registry else STICKY].assign(spec)
    return {
        member_id: frozenset(TopicPartition(names[part.topic_id], part.partition) for part in share)
        for member_id, share in found.items()
    }


def _in_turn(wanted: Mapping[MemberId, frozenset[TopicName]], counts: Counts) -> Shares:
    """Partition after partition to the next member that wants its topic (RoundRobinAssignor)."""
    shares: dict[MemberId, set[TopicPartition]] = {member_id: set() for member_id in wanted}
    members = cycle(sorted(wanted))
    for topic in sorted(topic for topic in counts if any(topic in topics for topics in wanted.values())):
        for partition in range(counts[topic]):
            taker = next(member_id for member_id in members if topic in wanted[member_id])
            shares[taker].add(TopicPartition(topic, partition))
    return {member_id: frozenset(share) for member_id, share in shares.items()}
