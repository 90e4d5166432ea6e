"""How members go: by LeaveGroup, or when a deadline passes."""

from bridge.engine.classic.barriers import (
    follow_departure,
    follow_expiry,
    pass_join_deadline,
    pass_sync_deadline,
    try_complete,
)
from bridge.engine.classic.seats import forget_member as forget_classic_member
from bridge.engine.classic.seats import judge_identity
from bridge.engine.commands import ClassicLeave, RemoveMembers
from bridge.engine.consumer.heartbeats import forget_member, pass_delay
from bridge.engine.consumer.membership import find_leaver
from bridge.engine.model import DeadlineKey, DeadlineKind, Member, Phase
from bridge.engine.outcome import RemovalCause
from bridge.engine.records import DeadlineCleared, MemberIdWithdrawn
from bridge.engine.state import ClassicGroup, Group
from bridge.engine.turn import Turn
from translators.dialects.classic import LeaveGroup, LeaveGroupReply, LeavingMember, LeftMember
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import MemberId, ReplyTo

# ------------------------------------------------------------------------------------------ leaving
# LeaveGroup, for whatever type the named group is of: a classic one loses its members entry by entry, a consumer
# group its own with one move of the epoch.


def take_leave(turn: Turn, command: ClassicLeave) -> None:
    """Refuse a LeaveGroup without group id, else carry it out (K1.57)."""
    if command.request.group_id:
        take_removal(turn, RemoveMembers(command.ref, command.request))
    else:
        turn.reply(command.ref, LeaveGroupReply(error=ErrorCode.INVALID_GROUP_ID))


def take_removal(turn: Turn, command: RemoveMembers) -> None:
    """Remove members from a group of either type; a group that does not exist answers every entry 25 (K1.58)."""
    group = turn.state.classic_groups.get(command.request.group_id)
    if group is not None:
        leave_classic_group(turn, group, command.ref, command.request)
    else:
        leave_consumer_group(turn, command)


def leave_classic_group(turn: Turn, group: ClassicGroup, ref: ReplyTo, request: LeaveGroup) -> None:
    """Remove what can be removed, entry by entry, then rebalance once (K1.57 to K1.59).

    An entry that is there twice fails the second time. Unlike in Kafka the leaving of a mere promised id makes nobody
    rebalance.
    """
    if group.phase is Phase.DEAD:
        turn.reply(ref, LeaveGroupReply(error=ErrorCode.COORDINATOR_NOT_AVAILABLE))
        return
    count = len(group.members)
    left = tuple(
        LeftMember(member_id=entry.member_id, instance_id=entry.instance_id, error=_leave_classic(turn, group, entry))
        for entry in request.members
    )
    turn.reply(ref, LeaveGroupReply(error=ErrorCode.NONE, members=left))
    if len(group.members) < count:
        follow_departure(turn, group)
    else:
        try_complete(turn, group)


def _leave_classic(turn: Turn, group: ClassicGroup, entry: LeavingMember) -> ErrorCode:
    member_id = entry.member_id
    if member_id in group.pending:
        turn.write(MemberIdWithdrawn(group.group_id, member_id))
        return ErrorCode.NONE
    if not member_id and entry.instance_id is not None:
        member_id = group.instances.get(entry.instance_id, MemberId(""))
        if not member_id:
            return ErrorCode.UNKNOWN_MEMBER_ID
    code = judge_identity(group, member_id, entry.instance_id)
    if code is ErrorCode.NONE:
        cause = RemovalCause.LEFT if entry.member_id else RemovalCause.REMOVED
        forget_classic_member(turn, group, member_id, cause)
    return code


def leave_consumer_group(turn: Turn, command: RemoveMembers) -> None:
    """Remove what can be removed of a batch and answer every entry as it was asked (K4.40 to K4.42, K1.58; K11.4:
    native ones too).

    All entries are judged on the state before the batch, so an entry that is there twice succeeds twice (K12.19).
    """
    group = turn.state.groups.get(command.request.group_id)
    verdicts = [(entry, _find_leaver(group, entry)) for entry in command.request.members]
    leaving: dict[MemberId, Member] = {
        verdict.subscription.member_id: verdict for _, verdict in verdicts if isinstance(verdict, Member)
    }
    if group is not None:
        for member in leaving.values():
            forget_member(turn, group, member, RemovalCause.REMOVED)
    members = tuple(_answer_entry(entry, verdict) for entry, verdict in verdicts)
    turn.reply(command.ref, LeaveGroupReply(error=ErrorCode.NONE, members=members))


def _find_leaver(group: Group | None, entry: LeavingMember) -> Member | Refusal:
    if group is None:
        return Refusal(ErrorCode.UNKNOWN_MEMBER_ID)
    member_id = entry.member_id
    if entry.instance_id is not None and not member_id:
        member_id = group.instances.get(entry.instance_id, member_id)
    return find_leaver(group, member_id, entry.instance_id)


def _answer_entry(entry: LeavingMember, verdict: Member | Refusal) -> LeftMember:
    error = verdict.code if isinstance(verdict, Refusal) else ErrorCode.NONE
    return LeftMember(member_id=entry.member_id, instance_id=entry.instance_id, error=error)


# ------------------------------------------------------------------------------------------- expiry
# What happens when deadlines pass: sessions, rebalances, initial delays, delayed targets.

_CAUSES = {
    DeadlineKind.SESSION: RemovalCause.SESSION_EXPIRED,
    DeadlineKind.REBALANCE: RemovalCause.REBALANCE_TIMED_OUT,
}


def pass_deadlines(turn: Turn) -> None:
    """Do everything that is due; expiry is decided like any command and leaves records (K0.3, K2.50).

    What an earlier deadline of the same moment moved or dropped does not pass (K0.3.3).
    """
    due = turn.state.deadlines.due
    for key in turn.state.deadlines.passed(turn.now_ms):
        if key not in due or due[key] > turn.now_ms:
            continue
        if key.kind in CLASSIC_KINDS:
            pass_classic_deadline(turn, key)
        elif key.kind is DeadlineKind.INITIAL_DELAY:
            _pass_delay(turn, key)
        elif key.kind is DeadlineKind.TARGET:
            turn.write(DeadlineCleared(key))
            turn.touch(key.group_id)
            turn.settling[key.group_id] = None
        else:
            group = turn.state.groups[key.group_id]
            forget_member(turn, group, group.members[key.member_id], _CAUSES[key.kind])


def _pass_delay(turn: Turn, key: DeadlineKey) -> None:
    group = turn.state.groups[key.group_id]
    parked = tuple(group.parked)
    turn.write(*pass_delay(turn.state, group, turn.now_ms))
    if group.delay is None:
        turn.asks.extend(parked)
        turn.touch(group.group_id)


CLASSIC_KINDS = frozenset({DeadlineKind.CLASSIC_SESSION, DeadlineKind.CLASSIC_JOIN, DeadlineKind.CLASSIC_SYNC})
"""The deadlines of classic groups."""


def pass_classic_deadline(turn: Turn, key: DeadlineKey) -> None:
    """Do what is due; a deadline goes with its group and its rebalance, so it is never about another (K12.9)."""
    group = turn.state.classic_groups[key.group_id]
    if key.kind is DeadlineKind.CLASSIC_JOIN:
        pass_join_deadline(turn, group)
    elif key.kind is DeadlineKind.CLASSIC_SYNC:
        pass_sync_deadline(turn, group)
    else:
        _expire(turn, group, key)


def _expire(turn: Turn, group: ClassicGroup, key: DeadlineKey) -> None:
    """A session is over (K1.60): who is parked and not new is alive; it gets a new session with its answer."""
    member_id = key.member_id
    if member_id in group.pending:
        turn.write(MemberIdWithdrawn(group.group_id, member_id))
        follow_expiry(turn, group)
    elif member_id not in group.newcomers and (member_id in group.joining or member_id in group.syncing):
        turn.write(DeadlineCleared(key))
    else:
        forget_classic_member(turn, group, member_id, RemovalCause.SESSION_EXPIRED)
        if group.phase is Phase.PREPARING_REBALANCE:
            follow_expiry(turn, group)
        else:
            follow_departure(turn, group)
