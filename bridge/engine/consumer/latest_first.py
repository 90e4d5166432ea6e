"""Which of its partitions a member gives up, where the assignor only counts them: those that it was given last.

It must not know why it has to give something up, nor how many.
"""

from bridge.engine.assignors.interface import Assignment
from bridge.engine.commands import Speaks
from bridge.engine.model import AssignedEpochs
from bridge.engine.state import NO_PARTITIONS, Group, Partitions
from translators.dialects.ids import TopicIdPartition


def give_up_latest(group: Group, answer: Assignment) -> Assignment:
    """The same answer, but that members keep what they have had for long and give up what came last.

    What came last may not even be in use: a classic client hears of a gain with its next heartbeat, and if the gain is
    gone by then, as after a restart that takes a little longer than others wait, the client hears nothing.
    Partitions change places within their topic, so everybody's load stays. Only machines of classic clients say exactly
    what is in use: what a KIP-848 client was given last it may be about to take (deviations.md on K2.34).
    """
    shares = dict(answer)
    takers = {
        partition: member_id
        for member_id, share in answer.items()
        for partition in share.difference(group.target.get(member_id, NO_PARTITIONS))
    }
    for member_id in sorted(answer):
        member = group.members.get(member_id)
        if member is None or member.subscription.speaks is not Speaks.CLASSIC:
            continue
        if not takers or group.target.get(member_id) == answer[member_id]:
            continue
        for old, new in _swaps(member.current.assigned, shares[member_id]):
            taker = takers.pop(old, None)
            if taker is not None:
                takers[new] = taker
                shares[member_id] = _swapped(shares[member_id], new, old)
                shares[taker] = _swapped(shares[taker], old, new)
    return shares


def _swaps(held: AssignedEpochs, share: Partitions) -> list[tuple[TopicIdPartition, TopicIdPartition]]:
    """Pairs of one topic: a partition that is to be given up, and a later one that is to be kept."""
    lost = sorted(held.keys() - share, key=lambda one: (held[one], one))
    kept = sorted((one for one in held if one in share), key=lambda one: (-held[one], one))
    pairs: list[tuple[TopicIdPartition, TopicIdPartition]] = []
    for old in lost:
        later = (one for one in kept if one.topic_id == old.topic_id and held[one] > held[old])
        new = next(later, None)
        if new is not None:
            kept.remove(new)
            pairs.append((old, new))
    return pairs


def _swapped(share: Partitions, goes: TopicIdPartition, comes: TopicIdPartition) -> Partitions:
    return share.difference((goes,)).union((comes,))
