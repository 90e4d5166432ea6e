"""LeaveGroup, for whatever type the named group is of: a classic one loses its members entry by entry, a consumer group
its own with one move of the epoch."""

from bridge.engine.classic.rebalancing import follow_departure, try_complete
from bridge.engine.classic.seats import forget_member as forget_classic_member
from bridge.engine.classic.seats import judge_identity
from bridge.engine.commands import ClassicLeave, RemoveMembers
from bridge.engine.consumer.heartbeats import forget_member
from bridge.engine.consumer.membership import find_leaver
from bridge.engine.model import Member, Phase
from bridge.engine.outcome import RemovalCause
from bridge.engine.records import MemberIdWithdrawn
from bridge.engine.state import ClassicGroup, Group
from bridge.engine.turn import Turn
from translators.dialects.classic import LeaveGroup, LeaveGroupReply, LeavingMember, LeftMember
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import MemberId, ReplyTo


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
