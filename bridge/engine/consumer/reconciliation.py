"""How one member gets from what it holds to its target: revoke first, then receive."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from bridge.engine.model import AssignedEpochs, Current, MemberState
from translators.dialects.ids import TopicId, TopicIdPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a member's next step depends on besides what it holds.

    `owned` is what the member says it owns, None if it said nothing; `reported_epoch` is the epoch with which a
    KIP-848 client said it, 0 for a translated one; `is_free` tells whether it may be given a partition;
    `topics` are the topics it subscribes to if that changed just now, else None.
    """

    target_epoch: int
    target: frozenset[TopicIdPartition]
    owned: frozenset[TopicIdPartition] | None
    is_free: Callable[[TopicIdPartition], bool]
    topics: frozenset[TopicId] | None = None
    reported_epoch: int = 0


def reconcile(current: Current, around: Surroundings) -> Current:
    """The member's next current assignment; the same object if nothing changes (K2.31 to K2.35, with K11.4 on 2.34)."""
    if current.state is MemberState.UNREVOKED_PARTITIONS and _still_owns(around, current.pending_revocation):
        return _give_up_unsubscribed(current, around)
    if current.state is MemberState.STABLE and current.epoch == around.target_epoch:
        return _give_up_unsubscribed(current, around)
    return _move(current, around)


def _still_owns(around: Surroundings, partitions: AssignedEpochs) -> bool:
    """Whether the member has not yet said that it gave them all up: silence says nothing."""
    return around.owned is None or not around.owned.isdisjoint(partitions)


def _may_take(around: Surroundings, lost: AssignedEpochs, kept: AssignedEpochs) -> bool:
    """Whether the member may be about to take what it loses: it was told of it, and its report lacks even what it was
    told that it keeps, so it is behind. It will report again, because it has those to take (deviations.md on K2.34).

    An acknowledgement may be behind, too: librdkafka that is still taking one assignment when the next one comes
    acknowledges the former under the epoch of the latter.
    """
    owned, told_epoch = around.owned, around.reported_epoch
    if owned is None or not told_epoch:
        return False
    is_behind = any(epoch <= told_epoch and partition not in owned for partition, epoch in kept.items())
    return is_behind and any(epoch <= told_epoch for epoch in lost.values())


def _give_up_unsubscribed(current: Current, around: Surroundings) -> Current:
    """Unsubscribed topics leave the assignment at once, even while nothing else may move (K11.4 on 2.36)."""
    topics = around.topics
    if topics is None:
        return current
    lost = {partition: epoch for partition, epoch in current.assigned.items() if partition.topic_id not in topics}
    if not lost:
        return current
    kept = {partition: epoch for partition, epoch in current.assigned.items() if partition not in lost}
    if current.state is MemberState.STABLE and not _still_owns(around, lost) and not _may_take(around, lost, kept):
        return replace(current, previous_epoch=current.epoch, assigned=kept)
    return replace(
        current,
        previous_epoch=current.epoch,
        state=MemberState.UNREVOKED_PARTITIONS,
        assigned=kept,
        pending_revocation={**current.pending_revocation, **lost},
    )


def _move(current: Current, around: Surroundings) -> Current:
    kept = {partition: epoch for partition, epoch in current.assigned.items() if partition in around.target}
    lost = {partition: epoch for partition, epoch in current.assigned.items() if partition not in around.target}
    if lost and (_still_owns(around, lost) or _may_take(around, lost, kept)):
        return _unless_same(
            current,
            replace(
                current,
                previous_epoch=current.epoch,
                state=MemberState.UNREVOKED_PARTITIONS,
                assigned=kept,
                pending_revocation=lost,
            ),
        )
    missing = around.target - kept.keys()
    gained = {partition: around.target_epoch for partition in missing if around.is_free(partition)}
    waits = len(gained) < len(missing)
    return _unless_same(
        current,
        Current(
            epoch=around.target_epoch,
            previous_epoch=current.epoch,
            state=MemberState.UNRELEASED_PARTITIONS if waits else MemberState.STABLE,
            assigned={**kept, **gained},
        ),
    )


def _unless_same(old: Current, new: Current) -> Current:
    return old if old == new else new
