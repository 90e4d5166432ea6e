"""Which of the partitions that newcomers say they had may steer the target (KIP-341, decision 7).

It must not know assignors, nor take a claim for ownership: a hint is worth what the target makes of it.
"""

from collections.abc import Iterable, Mapping

from bridge.engine.assignors.ladder import seat_of
from bridge.engine.model import Ask
from bridge.engine.state import NO_PARTITIONS, Group, Partitions, Shard, topic_ids_of, topic_names_of
from translators.dialects.ids import GroupId, MemberId, TopicIdPartition


def gather_claims(asks: Iterable[Ask]) -> dict[GroupId, list[Ask]]:
    """Those who came with a claim, by group: few, if any."""
    claiming: dict[GroupId, list[Ask]] = {}
    for ask in asks:
        if ask.claimed and ask.before is None:
            claiming.setdefault(ask.group_id, []).append(ask)
    return claiming


def find_hints(state: Shard, group: Group, asks: Iterable[Ask]) -> Mapping[MemberId, Partitions]:
    """What each newcomer among those who claim is taken to have had: never what is in another's target, never twice.

    Of several claims to a partition the one of the highest generation counts, of equal ones that of the first seat.
    Who has a target is no newcomer: its target says what it has.
    """
    newcomers = [ask for ask in asks if ask.member_id in group.members and ask.member_id not in group.target]
    hints: dict[MemberId, Partitions] = {}
    taken: set[TopicIdPartition] = set()
    for ask in sorted(newcomers, key=lambda ask: (-ask.claimed_generation, seat_of(ask.member_id, ask.instance_id))):
        wanted = topic_ids_of(state, topic_names_of(state, group.members[ask.member_id].subscription))
        unowned = ask.claimed.difference(group.target_owners).difference(taken)
        found = frozenset(partition for partition in unowned if partition.topic_id in wanted)
        if found:
            taken |= found
            hints[ask.member_id] = hints.get(ask.member_id, NO_PARTITIONS) | found
    return hints
