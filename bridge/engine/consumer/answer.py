"""One member's step towards its target and the answer it gets."""

from bridge.engine.commands import Speaks
from bridge.engine.consumer.reconciliation import Surroundings, reconcile
from bridge.engine.model import Ask, Current, DeadlineKey, DeadlineKind, Member, MemberState
from bridge.engine.outcome import MemberAnswer
from bridge.engine.records import CurrentAssigned, DeadlineCleared, DeadlineSet, Record
from bridge.engine.settings import settings_of
from bridge.engine.state import (
    NO_PARTITIONS,
    Group,
    Partitions,
    Shard,
    is_free_for,
    topic_ids_of,
    topic_names_of,
)
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import MemberId, TopicId


def next_current(state: Shard, group: Group, ask: Ask) -> Current:
    """What the member holds after this ask; O(1) if it is where it shall be, or waits and nothing of it is free."""
    member = group.members[ask.member_id]
    current = member.current
    if is_settled(group, ask.member_id, current) and not ask.has_new_topics:
        return current
    around = Surroundings(
        target_epoch=group.assignment_epoch,
        target=group.target.get(ask.member_id, NO_PARTITIONS),
        owned=ask.owned,
        reported_epoch=ask.reported_epoch,
        is_free=lambda partition: is_free_for(state, group, ask.member_id, partition),
        topics=_topic_ids(state, member) if ask.has_new_topics and current.assigned else None,
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
    session = DeadlineSet(_key(DeadlineKind.SESSION, ask), now_ms + session_timeout_ms(state, group))
    rebalance = _rebalance_deadline(state, ask, member, new, now_ms) if changes else ()
    return (*held, session, *rebalance)


def session_timeout_ms(state: Shard, group: Group) -> int:
    """The session timeout of the group's native members (K2.62)."""
    return settings_of(state.settings, group.group_id).group_consumer_session_timeout_ms


def answer(state: Shard, group: Group, ask: Ask, before: Current) -> MemberAnswer:
    """The answer after the step; the assignment only if asked for or changed since `before` (K2.42, K2.43)."""
    current = group.members[ask.member_id].current
    changed = current.assigned is not before.assigned and current.assigned.keys() != before.assigned.keys()
    reply = ConsumerGroupHeartbeatReply(
        error=ErrorCode.NONE,
        member_id=ask.member_id,
        member_epoch=current.epoch,
        heartbeat_interval_ms=settings_of(state.settings, group.group_id).group_consumer_heartbeat_interval_ms,
        assignment=frozenset(current.assigned) if ask.is_full or changed else None,
    )
    return MemberAnswer(reply, pending_of(state, group, ask.member_id))


def pending_of(state: Shard, group: Group, member_id: MemberId) -> Partitions:
    """Partitions of a member's target that it has not and can't be given now (decision 17)."""
    current = group.members[member_id].current
    if current.state is MemberState.STABLE and current.epoch == group.assignment_epoch:
        return NO_PARTITIONS
    missing = group.target.get(member_id, NO_PARTITIONS) - current.assigned.keys()
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


def _topic_ids(state: Shard, member: Member) -> frozenset[TopicId]:
    return topic_ids_of(state, topic_names_of(state, member.subscription))
