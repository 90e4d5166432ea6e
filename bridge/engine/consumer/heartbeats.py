"""A heartbeat's first phase: refused at sight or by the group, left, or admitted to wait; or calm, without any turn."""

from collections.abc import Callable, Collection
from dataclasses import replace

from bridge.engine.apply import apply
from bridge.engine.commands import GroupType, MemberHeartbeat, Speaks
from bridge.engine.consumer.membership import Admission, admit, find_leaver, full_group, unknown_group
from bridge.engine.consumer.reconciliation import is_settled, left, refused, session_timeout_ms
from bridge.engine.consumer.retargeting import kept_seat, take_kept_seat
from bridge.engine.convert.readiness import find_policy_fault, find_upgrade_fault
from bridge.engine.convert.upgrade import plan_upgrade, upgrade
from bridge.engine.model import Ask, DeadlineKey, DeadlineKind, InitialDelay, Member
from bridge.engine.outcome import (
    ConversionCause,
    ConversionFailed,
    MemberRemoved,
    NotConverted,
    RegularExpressionWanted,
    RemovalCause,
    Unready,
)
from bridge.engine.records import (
    AskParked,
    CurrentAssigned,
    DeadlineCleared,
    DeadlineSet,
    DelayChanged,
    GroupDeleted,
    MemberForgotten,
    Record,
    SeatKept,
)
from bridge.engine.state import ClassicGroup, Group, Shard, held_until_ms, settings_of
from bridge.engine.turn import Turn
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH, ClientIdentity, GroupId, is_blank

# --------------------------------------------------------------------------------------- heartbeats
# A heartbeat's first phase: refused at sight or by the group, left, or admitted to wait for its answer, which in a
# group that begins is the wait for more members.

_REASONS = {
    Unready.POLICY: "online upgrade is disabled",
    Unready.FOREIGN_PROTOCOL_TYPE: "the group does not use the consumer embedded protocol",
    Unready.TOO_LARGE: "the group size exceeds the consumer group maximum size",
    Unready.MALFORMED_SUBSCRIPTION: "the embedded consumer protocol is malformed",
    Unready.MALFORMED_ASSIGNMENT: "the embedded consumer protocol is malformed",
    Unready.CUSTOM_ASSIGNOR: "an unsupported custom assignor is in use",
}
"""What a joiner is told of why, in Kafka's words (K3.5, K3.13): whose fault it is, by id, address and what that one
wrote, is for the log and for operators.
"""
_UNLOADED = "the group is not loaded"


def take_heartbeat(turn: Turn, command: MemberHeartbeat) -> None:
    """Carry out the membership part of a heartbeat; what must be answered after the target waits in `turn.asks`."""
    fault = find_fault(command, turn.state.assignors)
    if fault is not None:
        turn.reply(command.ref, refused(fault))
    elif command.request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
        _take_leave(turn, command)
    else:
        _take_admission(turn, command)


def forget_member(turn: Turn, group: Group, member: Member, cause: RemovalCause, *, is_announced: bool = False) -> None:
    """A member goes for good; the group's epoch moves, and the target follows in this turn (K2.50) unless the member
    said that it goes: then its share may wait.
    """
    subscription = member.subscription
    kept = kept_seat(turn.state, group, member, turn.now_ms) if is_announced else None
    has_share = bool(group.target.get(subscription.member_id))
    turn.write(MemberForgotten(group.group_id, subscription.member_id))
    turn.notices.append(_removed(group, member, cause))
    turn.move_epoch(group, keeps_seats=kept is not None or not has_share)
    if kept is not None:
        turn.write(SeatKept(group.group_id, kept))


def vacate_seat(group: Group, member: Member, now_ms: int, timeout_ms: int) -> tuple[Record, ...]:
    """A static member leaves for a while: epoch -2, nothing pending any more, all else kept (K2.13).

    Its session deadline goes on unchanged; a translated member, which has none, gets one, or its seat would be kept
    for ever.
    """
    member_id = member.subscription.member_id
    current = replace(
        member.current, epoch=STATIC_LEAVE_EPOCH, previous_epoch=member.current.epoch, pending_revocation={}
    )
    session = DeadlineKey(DeadlineKind.SESSION, group.group_id, member_id)
    rebalance = DeadlineKey(DeadlineKind.REBALANCE, group.group_id, member_id)
    records: tuple[Record, ...] = (CurrentAssigned(group.group_id, member_id, current), DeadlineCleared(rebalance))
    if member.subscription.speaks is Speaks.CLASSIC:
        records += (DeadlineSet(session, now_ms + timeout_ms),)
    return records


def _take_leave(turn: Turn, command: MemberHeartbeat) -> None:
    request = command.request
    group = turn.state.groups.get(request.group_id)
    if group is None:
        turn.reply(command.ref, refused(_no_group_to_leave(turn.state, request.group_id)))
        return
    leaver = find_leaver(group, request.member_id, request.instance_id)
    if isinstance(leaver, Refusal):
        turn.reply(command.ref, refused(leaver))
        return
    if request.member_epoch == LEAVE_EPOCH:
        forget_member(turn, group, leaver, RemovalCause.LEFT, is_announced=command.is_announced)
    else:
        turn.write(*vacate_seat(group, leaver, turn.now_ms, session_timeout_ms(turn.state, group)))
    turn.reply(command.ref, left(request.member_id, request.member_epoch))


def _no_group_to_leave(state: Shard, group_id: GroupId) -> Refusal:
    if group_id in state.classic_groups:
        return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {quote(group_id)} is not a consumer group.")
    return unknown_group(group_id, LEAVE_EPOCH)


def _take_admission(turn: Turn, command: MemberHeartbeat) -> None:
    group_id = command.request.group_id
    admission = _convert_classic(turn, command) or admit(turn.state, command)
    if isinstance(admission, Refusal):
        turn.reply(command.ref, refused(admission))
        return
    before = turn.state.groups.get(group_id)
    was_empty = before is None or not before.members
    turn.write(*admission.records)
    group = turn.state.groups[group_id]
    replaces = admission.ask.before is None and take_kept_seat(turn, group, admission.ask.member_id)
    if admission.epoch_steps:
        turn.move_epoch(group, keeps_seats=replaces, steps=admission.epoch_steps)
    _tell(turn, group, admission)
    joins = command.request.member_epoch == JOIN_EPOCH
    parking = park(turn.state, group, admission.ask, was_empty, turn.now_ms) if joins else ()
    if parking:
        turn.write(*parking)
    else:
        turn.asks.append(admission.ask)
    if group.epoch > group.assignment_epoch:
        turn.touch(group_id)


def _convert_classic(turn: Turn, command: MemberHeartbeat) -> Refusal | None:
    """A classic group that somebody joins becomes a consumer group, an Empty one whatever the policy (K3.1 to K3.13).

    Whatever would refuse the joiner refuses it before anything is converted (K12.1), and what keeps the group classic
    before a pattern that can't be read. What a translated member still has to say after its group turned classic
    converts nothing.
    """
    group_id = command.request.group_id
    classic = turn.state.classic_groups.get(group_id)
    if classic is None:
        return None
    admission = admit(turn.state, command)
    refusal = admission if isinstance(admission, Refusal) else None
    is_unread = refusal is not None and refusal.code is ErrorCode.INVALID_REGULAR_EXPRESSION
    if refusal is not None and not (is_unread and classic.members):
        return refusal
    if not classic.members:
        turn.write(GroupDeleted(group_id))
        return None
    if command.speaks is Speaks.CLASSIC:
        return unknown_group(group_id, command.request.member_epoch)
    plan = find_policy_fault(turn.state, group_id, GroupType.CONSUMER) or plan_upgrade(
        turn.state, group_id, _seats_taken(classic, command.request)
    )
    if not isinstance(plan, NotConverted):
        if refusal is None:
            upgrade(turn, plan, ConversionCause.MEMBER_JOINED)
        return refusal
    turn.notices.append(ConversionFailed(plan))
    return _refuse_conversion(turn.state, classic, plan.reason)


def _refuse_conversion(state: Shard, group: ClassicGroup, reason: Unready) -> Refusal:
    """What a joiner hears where a group stays classic: there is no such consumer group, or one that is full, where all
    who are in could be converted (K3.16).
    """
    most = settings_of(state, group.group_id).group_consumer_max_size
    if reason is Unready.TOO_LARGE and len(group.members) <= most:
        return full_group(most)
    why = _REASONS.get(reason, _UNLOADED)
    text = f"Cannot upgrade classic group {quote(group.group_id)} to consumer group because {why}."
    return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, text)


def stays_classic(state: Shard, request: ConsumerGroupHeartbeat) -> bool:
    """Whether a classic group has members and would remain what it is if somebody joined with this; O(members)."""
    classic = state.classic_groups.get(request.group_id)
    if classic is None or not classic.members:
        return False
    fault = find_policy_fault(state, request.group_id, GroupType.CONSUMER) or find_upgrade_fault(
        state, request.group_id, _seats_taken(classic, request)
    )
    return fault is not None


def _seats_taken(classic: ClassicGroup, request: ConsumerGroupHeartbeat) -> int:
    """0 if the joiner takes a static seat or keeps its own, else 1."""
    return int(request.instance_id not in classic.instances and request.member_id not in classic.members)


def _tell(turn: Turn, group: Group, admission: Admission) -> None:
    if admission.replaced is not None:
        turn.notices.append(_removed(group, admission.replaced, RemovalCause.REPLACED))
    pattern = group.members[admission.ask.member_id].subscription.pattern
    if pattern is not None and pattern not in turn.state.patterns:
        turn.notices.append(RegularExpressionWanted(group.group_id, pattern))


def _removed(group: Group, member: Member, cause: RemovalCause) -> MemberRemoved:
    subscription = member.subscription
    return MemberRemoved(
        group_id=group.group_id,
        member_id=subscription.member_id,
        instance_id=subscription.instance_id,
        cause=cause,
        client_id=subscription.identity.client_id,
        member_epoch=member.current.epoch,
    )


def _lacks_member_id(request: ConsumerGroupHeartbeat) -> bool:
    """From version 1 on the client makes its id and must send it always; before, it may be blank when it joins (K11.4
    on 2.1).
    """
    if not is_blank(request.member_id):
        return False
    return request.has_client_id or request.member_epoch > JOIN_EPOCH or request.member_epoch == LEAVE_EPOCH


def _joins(request: ConsumerGroupHeartbeat) -> bool:
    return request.member_epoch == JOIN_EPOCH


_INVALID: tuple[tuple[Callable[[ConsumerGroupHeartbeat], bool], str], ...] = (
    (_lacks_member_id, "MemberId can't be empty."),
    (lambda request: is_blank(request.group_id), "GroupId can't be empty."),
    (lambda request: request.instance_id is not None and is_blank(request.instance_id), "InstanceId can't be empty."),
    (lambda request: request.rack_id is not None and is_blank(request.rack_id), "RackId can't be empty."),
    (
        lambda request: _joins(request) and request.rebalance_timeout_ms == -1,
        "RebalanceTimeoutMs must be provided in first request.",
    ),
    (
        lambda request: _joins(request) and (request.owned is None or bool(request.owned or request.bare_topics)),
        "TopicPartitions must be empty when (re-)joining.",
    ),
    (
        lambda request: (
            _joins(request) and request.subscribed_topic_names is None and request.subscribed_topic_regex is None
        ),
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
    ),
    (
        lambda request: request.member_epoch == STATIC_LEAVE_EPOCH and request.instance_id is None,
        "InstanceId can't be null.",
    ),
    (lambda request: request.member_epoch < STATIC_LEAVE_EPOCH, "MemberEpoch is invalid."),
)
"""In Kafka's order (K2.1 to K2.8, with the order of 11.4); the first that holds is told."""


def find_fault(command: MemberHeartbeat, assignors: Collection[str]) -> Refusal | None:
    """Why the heartbeat is refused whatever the group's state, or None (K2.1 to K2.9).

    A translated member's request was made by its machine, which knows the rules: only the assignor is looked at.
    """
    request = command.request
    if command.speaks is Speaks.CONSUMER:
        for is_wrong, message in _INVALID:
            if is_wrong(request):
                return Refusal(ErrorCode.INVALID_REQUEST, message)
    if request.server_assignor is not None and request.server_assignor not in assignors:
        return Refusal(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {quote(request.server_assignor)} is not supported. Supported assignors:"
            f" {', '.join(assignors)}.",
        )
    return None


def park(state: Shard, group: Group, ask: Ask, was_empty: bool, now_ms: int) -> tuple[Record, ...]:
    """The records that park a joiner's ask, none if it is answered now (decisions 9 and 13).

    Only CLASSIC joiners wait: at the start of an empty group, while such a wait lasts, and while no target may be
    computed yet.
    """
    subscription = group.members[ask.member_id].subscription
    if subscription.speaks is not Speaks.CLASSIC:
        return ()
    if group.delay is not None:
        return (*_note_newcomer(group, ask), AskParked(ask))
    wait_ms = held_until_ms(state, group.group_id) - now_ms
    delay_ms = settings_of(state, group.group_id).group_initial_rebalance_delay_ms if was_empty else 0
    if max(wait_ms, delay_ms) <= 0:
        return ()
    if wait_ms >= delay_ms:
        return _begin(group, ask, InitialDelay(remaining_ms=0, last_delay_ms=wait_ms), now_ms)
    remaining_ms = max(subscription.rebalance_timeout_ms - delay_ms, 0)
    return _begin(group, ask, InitialDelay(remaining_ms=remaining_ms, last_delay_ms=delay_ms), now_ms)


def pass_delay(state: Shard, group: Group, now_ms: int) -> tuple[Record, ...]:
    """What happens when a wait is over: one more step if newcomers came and time is left, else the end (K1.30)."""
    delay = group.delay
    if delay is None or not (delay.has_newcomers and delay.remaining_ms):
        return (DelayChanged(group.group_id, None),)
    step_ms = min(settings_of(state, group.group_id).group_initial_rebalance_delay_ms, delay.remaining_ms)
    longer = InitialDelay(remaining_ms=max(delay.remaining_ms - step_ms, 0), last_delay_ms=step_ms)
    return (DelayChanged(group.group_id, longer), DeadlineSet(delay_key(group.group_id), now_ms + step_ms))


def delay_key(group_id: GroupId) -> DeadlineKey:
    """The key of a group's initial delay."""
    return DeadlineKey(DeadlineKind.INITIAL_DELAY, group_id)


def _begin(group: Group, ask: Ask, delay: InitialDelay, now_ms: int) -> tuple[Record, ...]:
    at_ms = now_ms + delay.last_delay_ms
    return (DelayChanged(group.group_id, delay), DeadlineSet(delay_key(group.group_id), at_ms), AskParked(ask))


def _note_newcomer(group: Group, ask: Ask) -> tuple[Record, ...]:
    """Members that join again don't lengthen the wait, newcomers do."""
    if group.delay is None or group.delay.has_newcomers or ask.before is not None:
        return ()
    return (DelayChanged(group.group_id, replace(group.delay, has_newcomers=True)),)


# --------------------------------------------------------------------------------------------- calm
# A heartbeat that says and hears nothing new: its member's session goes on, without a turn of the engine.


def take_calm_heartbeat(state: Shard, request: ConsumerGroupHeartbeat, client: ClientIdentity, now_ms: int) -> bool:
    """Let a KIP-848 member's heartbeat count that `advance` would answer with no error, the member's own epoch and no
    assignment, and that would move its session deadline and change nothing else; O(1).

    For any other False, and nothing has happened: it is to be carried out by `advance`.
    """
    group = state.groups.get(request.group_id)
    member = None if group is None else group.members.get(request.member_id)
    if group is None or member is None or not _is_calm(state, group, member, request, client):
        return False
    settings = settings_of(state, request.group_id)
    if group.told_intervals.get(request.member_id) != settings.group_consumer_heartbeat_interval_ms:
        # The answer before said another interval, since when an admin or the configuration changed it.
        return False
    key = DeadlineKey(DeadlineKind.SESSION, request.group_id, request.member_id)
    apply(state, DeadlineSet(key, now_ms + settings.group_consumer_session_timeout_ms))
    return True


def _is_calm(
    state: Shard, group: Group, member: Member, request: ConsumerGroupHeartbeat, client: ClientIdentity
) -> bool:
    current, subscription = member.current, member.subscription
    return (
        request.member_epoch == current.epoch > JOIN_EPOCH
        and _is_short(request)
        and subscription.speaks is Speaks.CONSUMER
        # Who takes over a static seat, or comes from elsewhere, is somebody new to those who describe the group.
        and request.instance_id in (None, subscription.instance_id)
        and (subscription.identity is client or subscription.identity == client)
        # A target that is still to be computed may come due with this very heartbeat (`assignment.interval.ms`).
        and group.epoch == group.assignment_epoch
        and is_settled(group, subscription.member_id, current)
        and (subscription.pattern is None or _is_resolved(state, subscription.pattern))
    )


def _is_short(request: ConsumerGroupHeartbeat) -> bool:
    """Whether everything is absent that did not change, as Java and librdkafka send nearly all of their heartbeats."""
    return (
        request.owned is None
        and request.subscribed_topic_names is None
        and request.subscribed_topic_regex is None
        and request.rebalance_timeout_ms == -1
        and request.rack_id is None
        and request.server_assignor is None
    )


def _is_resolved(state: Shard, pattern: str) -> bool:
    """A pattern that is not resolved is asked for again with each heartbeat, and one that can't be read is refused."""
    resolved = state.patterns.get(pattern)
    return resolved is not None and resolved.error is None
