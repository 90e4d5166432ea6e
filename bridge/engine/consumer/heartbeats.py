"""A heartbeat's first phase: refused, left, or admitted to wait for its answer."""

from dataclasses import replace

from bridge.engine.commands import GroupType, MemberHeartbeat, Speaks
from bridge.engine.consumer.answer import left, refused, session_timeout_ms
from bridge.engine.consumer.delay import park
from bridge.engine.consumer.grace import kept_seat, take_kept_seat
from bridge.engine.consumer.membership import Admission, admit, find_leaver, unknown_group
from bridge.engine.consumer.validation import find_fault
from bridge.engine.convert.readiness import find_policy_fault
from bridge.engine.convert.upgrade import plan_upgrade, upgrade
from bridge.engine.model import DeadlineKey, DeadlineKind, Member
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
    CurrentAssigned,
    DeadlineCleared,
    DeadlineSet,
    GroupDeleted,
    MemberForgotten,
    Record,
    SeatKept,
)
from bridge.engine.state import ClassicGroup, Group
from bridge.engine.turn import Turn
from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH

_CODES = {Unready.TOO_LARGE: ErrorCode.GROUP_MAX_SIZE_REACHED}
"""What a joiner hears where a group can't be converted for it (K3.16); else that there is no such consumer group."""


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
        turn.reply(command.ref, refused(unknown_group(request.group_id, request.member_epoch)))
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
    if admission.moves_epoch:
        turn.move_epoch(group, keeps_seats=replaces)
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

    Whatever would refuse the joiner refuses it before anything is converted (K12.1). What a translated member still has
    to say after its group turned classic converts nothing.
    """
    group_id = command.request.group_id
    classic = turn.state.classic_groups.get(group_id)
    if classic is None:
        return None
    refusal = admit(turn.state, command)
    if isinstance(refusal, Refusal):
        return refusal
    if not classic.members:
        turn.write(GroupDeleted(group_id))
        return None
    if command.speaks is Speaks.CLASSIC:
        return unknown_group(group_id, command.request.member_epoch)
    plan = find_policy_fault(turn.state, group_id, GroupType.CONSUMER) or plan_upgrade(
        turn.state, group_id, _seats_taken(classic, command)
    )
    if not isinstance(plan, NotConverted):
        upgrade(turn, plan, ConversionCause.MEMBER_JOINED)
        return None
    turn.notices.append(ConversionFailed(plan))
    code = _CODES.get(plan.reason, ErrorCode.GROUP_ID_NOT_FOUND)
    return Refusal(code, f"Group {quote(group_id)} is a classic group and stays one: {plan.text}.")


def _seats_taken(classic: ClassicGroup, command: MemberHeartbeat) -> int:
    """0 if the joiner takes a static seat or keeps its own, else 1."""
    request = command.request
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
