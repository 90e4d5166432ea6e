"""How one member gets from what it holds to its target: revoke first, then receive; and the answer it gets."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from bridge.engine.commands import Speaks
from bridge.engine.model import Ask, AssignedEpochs, Current, DeadlineKey, DeadlineKind, Member, MemberState
from bridge.engine.outcome import MemberAnswer
from bridge.engine.records import CurrentAssigned, DeadlineCleared, DeadlineSet, IntervalTold, Record
from bridge.engine.state import (
    NO_PARTITIONS,
    Group,
    Partitions,
    Shard,
    is_free_for,
    settings_of,
    topic_ids_of,
    topic_names_of,
)
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import MemberId, TopicId, TopicIdPartition


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


def next_current(state: Shard, group: Group, ask: Ask) -> Current:
    """What the member holds after this ask; O(1) if it is where it shall be, or waits and nothing of it is free."""
    member = group.members[ask.member_id]
    current = member.current
    if is_settled(group, ask.member_id, current) and not ask.has_new_topics:
        return current
    around = Surroundings(
        target_epoch=group.assignment_epoch,
        target=_wanted(state, group, member),
        owned=ask.owned,
        reported_epoch=ask.reported_epoch,
        is_free=lambda partition: is_free_for(state, group, ask.member_id, partition),
        topics=_topic_ids(state, group, member) if ask.has_new_topics and current.assigned else None,
    )
    return reconcile(current, around)


def is_settled(group: Group, member_id: MemberId, current: Current) -> bool:
    """Whether a heartbeat can change nothing: at its target, or waiting there while all it misses is held by others
    (K2.35).
    """
    if current.epoch != group.assignment_epoch or current.state is MemberState.UNREVOKED_PARTITIONS:
        return False
    if current.state is MemberState.STABLE:
        return True
    return current.previous_epoch == current.epoch and member_id not in group.grantable


def step_records(state: Shard, group: Group, ask: Ask, new: Current, now_ms: int) -> tuple[Record, ...]:
    """The records of a member's step: what it holds if that changed, and its deadlines (K2.37, K2.41)."""
    member = group.members[ask.member_id]
    changes = new is not member.current
    held = (CurrentAssigned(group.group_id, ask.member_id, new),) if changes else ()
    if member.subscription.speaks is Speaks.CLASSIC:
        return (*held, *_cleared_deadlines(state, ask))
    settings = settings_of(state, group.group_id)
    timeout_ms, interval_ms = settings.group_consumer_session_timeout_ms, settings.group_consumer_heartbeat_interval_ms
    session = DeadlineSet(_key(DeadlineKind.SESSION, ask), now_ms + timeout_ms)
    rebalance = _rebalance_deadline(state, ask, member, new, now_ms) if changes else ()
    told = group.told_intervals.get(ask.member_id)
    telling = () if told == interval_ms else (IntervalTold(group.group_id, ask.member_id, interval_ms),)
    return (*held, session, *rebalance, *telling)


def session_timeout_ms(state: Shard, group: Group) -> int:
    """The session timeout of the group's native members (K2.62)."""
    return settings_of(state, group.group_id).group_consumer_session_timeout_ms


def answer(state: Shard, group: Group, ask: Ask, before: Current) -> MemberAnswer:
    """The answer after the step; the assignment only if asked for or changed since `before` (K2.42, K2.43)."""
    current = group.members[ask.member_id].current
    changed = current.assigned is not before.assigned and current.assigned.keys() != before.assigned.keys()
    reply = ConsumerGroupHeartbeatReply(
        error=ErrorCode.NONE,
        member_id=ask.member_id,
        member_epoch=current.epoch,
        heartbeat_interval_ms=settings_of(state, group.group_id).group_consumer_heartbeat_interval_ms,
        assignment=frozenset(current.assigned) if ask.is_full or changed else None,
    )
    return MemberAnswer(reply, pending_of(state, group, ask.member_id))


def pending_of(state: Shard, group: Group, member_id: MemberId) -> Partitions:
    """Partitions of a member's target that it has not and can't be given now (decision 17)."""
    current = group.members[member_id].current
    if current.state is MemberState.STABLE and current.epoch == group.assignment_epoch:
        return NO_PARTITIONS
    missing = _wanted(state, group, group.members[member_id]) - current.assigned.keys()
    return frozenset(partition for partition in missing if not is_free_for(state, group, member_id, partition))


def refused(refusal: Refusal) -> MemberAnswer:
    """The answer to a heartbeat that is refused."""
    return MemberAnswer(ConsumerGroupHeartbeatReply(error=refusal.code, error_message=refusal.reason))


def left(member_id: MemberId, epoch: int) -> MemberAnswer:
    """The answer to a member that leaves: its id and the epoch it sent (K2.14)."""
    return MemberAnswer(ConsumerGroupHeartbeatReply(error=ErrorCode.NONE, member_id=member_id, member_epoch=epoch))


def _rebalance_deadline(state: Shard, ask: Ask, member: Member, new: Current, now_ms: int) -> tuple[Record, ...]:
    key = _key(DeadlineKind.REBALANCE, ask)
    if new.state is MemberState.UNREVOKED_PARTITIONS:
        return (DeadlineSet(key, now_ms + member.subscription.rebalance_timeout_ms),)
    return (DeadlineCleared(key),) if key in state.deadlines.due else ()


def _cleared_deadlines(state: Shard, ask: Ask) -> tuple[Record, ...]:
    """A member that switched to the classic protocol takes its deadlines to its machine (decision 16)."""
    keys = (_key(DeadlineKind.SESSION, ask), _key(DeadlineKind.REBALANCE, ask))
    return tuple(DeadlineCleared(key) for key in keys if key in state.deadlines.due)


def _key(kind: DeadlineKind, ask: Ask) -> DeadlineKey:
    return DeadlineKey(kind, ask.group_id, ask.member_id)


def _wanted(state: Shard, group: Group, member: Member) -> Partitions:
    """The member's target; of one that is still to be computed anew only what it subscribes to now, or what it has just
    given up would come back to it (4.3.1).
    """
    target = group.target.get(member.subscription.member_id, NO_PARTITIONS)
    if group.epoch == group.assignment_epoch:
        return target
    topics = _topic_ids(state, group, member)
    return frozenset(partition for partition in target if partition.topic_id in topics)


def _topic_ids(state: Shard, group: Group, member: Member) -> frozenset[TopicId]:
    return topic_ids_of(state, topic_names_of(state, group.hidden, member.subscription))
